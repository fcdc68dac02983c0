"""Size, restart, status, the words of pods that fail, and services that others made."""

import time

import pytest

from tests.support.cluster.control_plane import until
from tests.support.cluster.deploy_site import Crash, Site, Watched, sampling
from tests.support.cluster.witness import watching
from workers.base import Permanent
from workers.builtin.shared.cluster import PATHS, Manifest
from workers.builtin.shared.deployments import progress

pytest_plugins = ("tests.support.cluster.fixtures",)
REAL = [pytest.param("kubernetes", marks=pytest.mark.k8s)]
PORTS = [{"port": 8080, "targetPort": 8080, "protocol": "TCP"}]


def test_scale_waits_until_the_new_pods_serve_and_tells_the_counts(site: Site) -> None:
    site.deploy("v1.0.0")

    up, down = site.scale(4, key="up"), site.scale(1, key="down")

    assert up.summary == "web 2 → 4 pods on production, 4/4 ready, v1.0.0 on blue"
    assert (up.data.replicas, up.data.previous_replicas, up.data.ready) == (4, 2, True)
    assert any(text.endswith("/4 ready") for text in site.said)
    assert down.summary.startswith("web 4 → 1 pods on production")
    assert site.sizes() == {"blue": 1}


def test_scale_that_died_is_finished_by_its_next_run_and_still_knows_the_size_before(site: Site) -> None:
    site.deploy("v1.0.0")
    record = site.note_size(3)
    site.cluster = Watched(site.cluster.real, fail_after=1)
    with pytest.raises(Crash):
        site.scale(3)

    report = site.scale(3, previous=record)

    assert report.summary.startswith("web 2 → 3 pods")
    assert site.cluster.changes == ["scale"]


def test_undoing_a_scale_returns_to_the_size_before(site: Site) -> None:
    site.deploy("v1.0.0")
    record = site.note_size(4)
    site.scale(4)

    report = site.rollback(previous=record)

    assert report.summary.startswith("web stays at v1.0.0 on production")
    assert site.sizes() == {"blue": 2}


def test_scale_that_finds_no_healthy_pods_says_why(site: Site) -> None:
    site.deploy("v1.0.0")
    site.deploy("v2-bad")

    report = site.scale(3)

    assert report.summary.startswith("ImagePullBackOff: ")
    assert "On production v1.0.0 serves" in report.summary


def test_restart_replaces_every_pod_once_and_somebody_always_answers(site: Site) -> None:
    site.deploy("v1.0.0")
    before = pods(site)

    with watching(site) as seen:
        report = site.restart()
        after = pods(site)
        again = site.restart()

    assert report.summary == "web v1.0.0 restarted on production, 2/2 ready, all pods new"
    assert not before & after
    assert again.status == "succeeded"
    assert pods(site) == after
    assert 0 not in seen.reached


def test_a_restart_leaves_alone_what_a_deploy_has_noted(site: Site) -> None:
    site.deploy("v1.0.0")
    site.deploy("v1.1.0", "blue_green")
    site.restart()

    assert site.before("v1.1.0")["version"] == "v1.0.0"
    assert site.deploy("v1.1.0", "blue_green").data.previous_version == "v1.0.0"
    assert site.sizes() == {"blue": 0, "green": 2}


@pytest.mark.parametrize("act", ["scale", "restart"])
def test_what_is_not_deployed_can_be_neither_scaled_nor_restarted(site: Site, act: str) -> None:
    with pytest.raises(Permanent, match="web is not deployed; deploy a version of it first"):
        site.scale(3) if act == "scale" else site.restart()


def pods(site: Site) -> set[str]:
    found = site.cluster.find("Pod", {"app": "web"})
    return {one["metadata"]["name"] for one in found if not one["metadata"].get("deletionTimestamp")}


@pytest.mark.parametrize("site", REAL, indirect=True)
def test_a_bad_image_is_reported_within_three_seconds_of_the_pod_saying_so(site: Site) -> None:
    site.deploy("v1.0.0")
    site.haste = 1.0

    with sampling(lambda: (time.monotonic(), sick(site))) as seen:
        report = site.deploy("v2-bad")
        ended = time.monotonic()

    carried = min(moment for moment, found in seen if found)
    assert report.summary.startswith(
        'ImagePullBackOff: Back-off pulling image "registry.example/web:v2-bad" (pod web-blue-'
    )
    assert ended - carried < 3.0


def sick(site: Site) -> bool:
    statuses = [
        status
        for pod in site.cluster.find("Pod", {"app": "web"})
        for status in pod.get("status", {}).get("containerStatuses", [])
    ]
    return any("waiting" in status["state"] for status in statuses)


def test_a_crash_is_reported_with_the_last_words_of_the_pod_and_its_log_as_a_file(site: Site) -> None:
    site.deploy("v1.0.0")

    report = site.deploy("v2-crash", "blue_green")

    (file,) = report.artifacts
    assert ", which last said: " in report.summary
    assert "database" in report.summary.partition("On production")[0]
    assert "starting" in (site.scratch / file).read_text()


@pytest.mark.parametrize("site", REAL, indirect=True)
def test_a_crash_names_the_exit_code_and_hides_secrets_that_the_pod_printed(site: Site) -> None:
    report = site.deploy("v2-crash")

    assert ", exit code 3 (pod web-blue-" in report.summary
    assert "s3cr3tvalue9" not in report.summary + (site.scratch / report.artifacts[0]).read_text()
    assert "cannot reach the database at db:5432 / exiting. On production nothing serves" in report.summary


def settled(site: Site) -> bool:
    return progress(site.cluster.get("Deployment", "web") or {}).state == "done"


def by_hand(site: Site, manifest: Manifest) -> None:
    if site.home["kind"] == "practice":
        site.cluster.real.apply(manifest)
        return
    path = PATHS[manifest["kind"]].format(site.namespace)
    site.admin().call("POST", path, manifest, query={"fieldManager": "kubectl"})


def made_by_hand(site: Site, *, image: str = "registry.example/web:v1.0.0", **metadata: object) -> None:
    """A Service and a Deployment as somebody with kubectl makes them, with a variable of their own."""
    labels = {"app": "web", "tier": "front"}
    variables = [{"name": "MODE", "value": "production"}]
    container = {
        "name": "main",
        "image": image,
        "env": variables,
        "ports": [{"containerPort": 8080, "protocol": "TCP"}],
    }
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec = {"replicas": 3, "selector": {"matchLabels": labels}, "template": template}
    named = {"name": "web", "labels": labels, **metadata}
    by_hand(site, {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": named, "spec": spec})
    spec = {"selector": {"app": "web"}, "ports": PORTS}
    by_hand(site, {"apiVersion": "v1", "kind": "Service", "metadata": named, "spec": spec})
    until(lambda: len(site.reached()) == 3 and settled(site), "what was made by hand serves")


def test_a_service_that_others_made_is_taken_over_without_a_gap_when_the_inventory_says_so(
    site: Site,
) -> None:
    made_by_hand(site)
    site.entry["adopt"] = True
    record = site.before("v1.1.0")
    status, preview = site.status(), site.preview("deploy_service", version="v1.1.0")

    with watching(site) as seen:
        report = site.deploy("v1.1.0", previous=record)
    plain, blue = (site.cluster.get("Deployment", name) or {} for name in ("web", "web-blue"))
    back = site.rollback(previous=record)
    site.deploy("v1.2.0", "blue_green")
    green = site.cluster.get("Deployment", "web-green") or {}

    assert status.summary == "web v1.0.0 on production, 3/3 ready, the Deployment web, made by others, serves"
    assert "Takes over from the Deployment web, which others made" in preview.text
    assert report.summary.startswith("web v1.0.0 → v1.1.0 on production")
    assert report.data.replicas == 3
    assert plain["spec"]["replicas"] == 0
    assert mode(blue) == mode(green) == [{"name": "MODE", "value": "production"}]
    assert (seen.switches, 0 in seen.reached) == (1, False)
    assert back.status == "succeeded", back.summary
    assert back.data.version == "v1.0.0"
    assert site.reached() == ["v1.2.0"] * 3


def mode(found: Manifest) -> object:
    return found["spec"]["template"]["spec"]["containers"][0]["env"]


@pytest.mark.parametrize("point", [1, 3, 4])
def test_a_takeover_that_died_anywhere_is_finished_by_its_next_run(site: Site, point: int) -> None:
    made_by_hand(site)
    site.entry["adopt"] = True
    site.cluster = Watched(site.cluster.real, fail_after=point)
    with watching(site) as seen:
        with pytest.raises(Crash):
            site.deploy("v1.1.0", "blue_green")
        report = site.deploy("v1.1.0", "blue_green")

    assert report.data.previous_version == "v1.0.0"
    assert site.reached() == ["v1.1.0"] * 3
    assert (site.cluster.get("Deployment", "web") or {})["spec"]["replicas"] == 0
    assert (seen.switches, 0 in seen.reached) == (1, False)


def test_going_back_from_a_failed_takeover_leaves_the_service_to_those_who_made_it(site: Site) -> None:
    made_by_hand(site)
    site.entry["adopt"] = True
    record = site.before("v2-bad")
    failed = site.deploy("v2-bad", previous=record)

    report = site.rollback(previous=record)

    assert failed.summary.endswith("On production v1.0.0 serves, 3/3 ready; blue is scaled to 0.")
    assert report.summary == "web stays at v1.0.0 on production: v1.0.0 serves, 3/3 ready"
    assert (site.cluster.get("Service", "web") or {})["spec"]["selector"] == {"app": "web"}


@pytest.mark.parametrize(
    ("made", "adopt", "reason"),
    [
        ({}, False, r"set adopt = true in \[inventory.services.web\] to let Signoff take it over"),
        (
            {"annotations": {"meta.helm.sh/release-name": "web"}},
            True,
            "the Service web is looked after by Helm",
        ),
        (
            {"image": "registry.example/other:v1"},
            True,
            "runs registry.example/other:v1, while signoff.toml says",
        ),
    ],
)
@pytest.mark.parametrize("site", ["practice"], indirect=True)
def test_objects_of_others_are_not_taken_over(
    site: Site, made: dict[str, object], adopt: bool, reason: str
) -> None:
    made_by_hand(site, **made)  # type: ignore[arg-type] # either an image or metadata
    site.entry["adopt"] = adopt

    with pytest.raises(
        Permanent, match=f"The Service web was not made by Signoff, so it is left alone: .*{reason}"
    ):
        site.deploy("v1.1.0")

    assert site.sizes() == {}


@pytest.mark.parametrize("site", ["practice"], indirect=True)
def test_a_deployment_that_merely_has_our_name_is_left_alone(site: Site) -> None:
    template = {"metadata": {"labels": {"job": "x"}}, "spec": {"containers": [{"name": "x", "image": "x:1"}]}}
    spec = {"selector": {"matchLabels": {"job": "x"}}, "template": template}
    metadata = {"name": "web-blue", "labels": {"job": "x"}}
    site.cluster.real.apply(
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}
    )

    with pytest.raises(Permanent, match="The Deployment web-blue was not made by Signoff"):
        site.deploy("v1.0.0")
