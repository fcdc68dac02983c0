"""The deployer, on a real Kubernetes API server and on the practice cluster: one suite for both."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.cluster.control_plane import until
from tests.support.cluster.deploy_crash import neighbour
from tests.support.cluster.deploy_site import Crash, Site, Watched, sampling
from workers.base import Permanent, Report, Transient, Verdict
from workers.builtin.kubernetes.inventory import connect
from workers.builtin.kubernetes.k8s_deployer import DeployParams, K8sDeployer
from workers.builtin.shared.cluster import Cluster

pytest_plugins = ("tests.support.cluster.fixtures",)
REAL = [pytest.param("kubernetes", marks=pytest.mark.k8s)]
STRATEGIES = ["rolling", "blue_green", "canary"]
EDITED = [
    {"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "registry.example/web:v7"}
]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_first_deployment_into_an_empty_namespace_works(site: Site, strategy: str) -> None:
    report = site.deploy("v1.0.0", strategy)

    assert report.status == "succeeded", report.summary
    assert report.data.ready
    assert (report.data.replicas, report.data.endpoints, report.data.previous_version) == (2, 2, "")
    assert site.reached() == ["v1.0.0", "v1.0.0"]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_new_version_takes_over_and_somebody_always_answers(site: Site, strategy: str) -> None:
    site.deploy("v1.0.0")

    with sampling(site.reached) as seen:
        report = site.deploy("v1.1.0", strategy)

    assert report.status == "succeeded", report.summary
    assert report.data.previous_version == "v1.0.0"
    assert site.reached() == ["v1.1.0", "v1.1.0"]
    assert [] not in seen
    assert ["v1.0.0", "v1.0.0"] in seen


def test_blue_green_switches_once_and_retires_the_old_colour(site: Site) -> None:
    site.deploy("v1.0.0")

    report = site.deploy("v1.1.0", "blue_green")

    assert report.summary == "web v1.0.0 → v1.1.0 on production, blue-green, 2/2 ready, all traffic on green"
    assert site.cluster.changes.count("patch") == 1
    assert site.sizes() == {"blue": 0, "green": 2}


def test_blue_green_goes_back_and_forth(site: Site) -> None:
    site.deploy("v1.0.0")
    site.deploy("v1.1.0", "blue_green")

    report = site.deploy("v1.2.0", "blue_green")

    assert report.status == "succeeded", report.summary
    assert site.sizes() == {"blue": 2, "green": 0}
    assert site.reached() == ["v1.2.0", "v1.2.0"]


@pytest.mark.parametrize(
    ("strategy", "tag", "reason"),
    [("rolling", "v2-bad", "ImagePullBackOff"), ("blue_green", "v2-crash", "CrashLoopBackOff")],
)
def test_pods_that_cannot_start_are_reported_with_their_reason_while_the_old_version_serves(
    site: Site, strategy: str, tag: str, reason: str
) -> None:
    site.deploy("v1.0.0")

    report = site.deploy(tag, strategy)

    assert report.status == "failed"
    assert report.summary.startswith(reason)
    assert "(pod web-" in report.summary
    assert "On production v1.0.0 serves, 2/2 ready" in report.summary
    assert not report.data.ready
    assert site.reached() == ["v1.0.0", "v1.0.0"]
    assert site.sizes()["blue"] == 2
    assert site.sizes().get("green", 0) == 0


def test_a_good_version_after_a_bad_one_is_not_blamed_for_it(site: Site) -> None:
    site.deploy("v1.0.0")
    site.deploy("v2-bad")
    record = site.before("v2.0.1")

    report = site.deploy("v2.0.1")

    assert record["version"] == "v1.0.0"
    assert report.status == "succeeded", report.summary
    assert report.data.previous_version == "v1.0.0"
    assert site.reached() == ["v2.0.1", "v2.0.1"]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("version", ["v1.1.0", "v2-bad"])
def test_rollback_returns_to_the_version_before(site: Site, strategy: str, version: str) -> None:
    site.deploy("v1.0.0")
    record = site.before(version)
    site.deploy(version, strategy)

    report = site.rollback(previous=record)

    assert report.status == "succeeded", report.summary
    assert report.data.version == "v1.0.0"
    assert site.reached() == ["v1.0.0", "v1.0.0"]
    assert sorted(site.sizes().values())[-1] == 2
    assert sum(site.sizes().values()) == 2


def test_rollback_goes_to_a_named_version(site: Site) -> None:
    site.deploy("v1.0.0")
    site.deploy("v1.1.0")

    report = site.rollback("v1.0.0")

    assert report.summary.startswith("web v1.1.0 → v1.0.0 on production")


def test_rollback_of_a_first_deployment_leaves_no_pods(site: Site) -> None:
    record = site.before("v1.0.0")
    site.deploy("v1.0.0")

    report = site.rollback(previous=record)

    assert report.status == "succeeded"
    assert site.sizes() == {"blue": 0}


def test_rollback_without_a_record_asks_for_a_version(site: Site) -> None:
    with pytest.raises(Permanent, match="No previous version of web is on record"):
        site.rollback()


def test_a_first_deployment_that_died_anywhere_is_finished_by_its_next_run(site: Site) -> None:
    def resumed(point: int) -> tuple[str, list[str]]:
        one = neighbour(site, f"web{point}")
        record = one.before("v1.0.0")
        one.cluster = Watched(one.cluster.real, fail_after=point)
        with pytest.raises(Crash):
            one.deploy("v1.0.0", previous=record)
        return one.deploy("v1.0.0", previous=record).data.previous_version, one.reached()

    with ThreadPoolExecutor(4) as pool:
        outcomes = list(pool.map(resumed, [1, 2, 3]))

    assert outcomes == [("", ["v1.0.0", "v1.0.0"])] * 3


def test_a_rollback_that_died_anywhere_is_finished_by_its_next_run(site: Site) -> None:
    def resumed(point: int) -> tuple[str, int, dict[str, int], list[str]]:
        one = neighbour(site, f"web{point}")
        one.deploy("v1.0.0")
        one.deploy("v1.1.0", "blue_green")
        one.cluster = Watched(one.cluster.real, fail_after=point)
        with pytest.raises(Crash):
            one.rollback("v1.0.0")
        report = one.rollback("v1.0.0")
        return report.status, one.cluster.changes.count("patch"), one.sizes(), one.reached()

    with ThreadPoolExecutor(4) as pool:
        outcomes = list(pool.map(resumed, [1, 2, 3, 4]))

    assert outcomes == [("succeeded", 1, {"blue": 2, "green": 0}, ["v1.0.0", "v1.0.0"])] * 4


@pytest.mark.parametrize("when", ["fail_after", "fail_before"])
@pytest.mark.parametrize("point", [1, 2, 3, 4])
@pytest.mark.parametrize("site", ["practice"], indirect=True)
def test_a_cluster_that_is_away_for_a_moment_is_waited_for(site: Site, when: str, point: int) -> None:
    site.deploy("v1.0.0")
    away = lambda: Transient("The cluster does not answer.")  # noqa: E731 # an error to raise
    site.cluster = Watched(site.cluster.real, error=away, **{when: point})

    report = site.deploy("v1.1.0", "blue_green")

    assert report.status == "succeeded", report.summary
    assert site.cluster.changes.count("patch") == 1
    assert site.sizes() == {"blue": 0, "green": 2}


def test_the_probe_reports_a_finished_deploy(site: Site) -> None:
    record = site.before("v1.0.0")
    report = site.deploy("v1.0.0", "blue_green")

    probed = site.probe("v1.0.0", previous=record)

    assert isinstance(probed, Report)
    assert probed.summary == report.summary


def test_the_probe_says_that_an_untouched_deploy_did_not_run(site: Site) -> None:
    site.deploy("v1.0.0")
    record = site.before("v1.1.0")

    assert site.probe("v1.1.0", previous=record) is Verdict.did_not_run


def test_the_probe_cannot_tell_after_somebody_elses_change(site: Site) -> None:
    site.deploy("v1.0.0")
    record = site.before("v1.1.0")
    site.deploy("v1.0.5", key="somebody else")

    assert site.probe("v1.1.0", previous=record) is Verdict.cannot_tell


def test_the_probe_cannot_tell_when_the_cluster_is_away(site: Site) -> None:
    site.cluster = Watched(connect("here", {"kind": "practice", "url": "http://127.0.0.1:9"}, "default"))

    assert site.probe("v1.0.0", previous={"version": None}) is Verdict.cannot_tell


@pytest.mark.parametrize(
    ("color", "text"),
    [("green", "moved the traffic of web to green"), ("red", "moved the traffic of web to red")],
)
def test_traffic_that_somebody_else_moved_meanwhile_is_not_moved_again(
    site: Site, color: str, text: str
) -> None:
    site.deploy("v1.0.0")
    moved = [{"op": "replace", "path": "/spec/selector/color", "value": color}]
    site.pauses.append(lambda: site.cluster.real.patch("Service", "web", moved))

    report = site.deploy("v1.1.0", "blue_green")

    assert report.status == "failed"
    assert text in report.summary
    assert "patch" not in site.cluster.changes


def test_a_cancelled_deploy_stops_and_leaves_traffic_where_it_was(site: Site) -> None:
    site.deploy("v1.0.0")
    over = threading.Event()
    site.pauses.append(over.set)

    report = site.deploy("v1.1.0", "blue_green", cancelled=over.is_set)

    assert report.summary.startswith("Stopped: cancelled or out of time")
    assert "v1.0.0 serves, 2/2 ready" in report.summary
    assert site.reached() == ["v1.0.0", "v1.0.0"]
    assert site.sizes() == {"blue": 2, "green": 2}


def test_a_deploy_never_shrinks_a_service(site: Site) -> None:
    site.deploy("v1.0.0")
    site.cluster.scale("web-blue", 3)

    report = site.deploy("v1.1.0", "blue_green")

    assert report.data.replicas == 3
    assert len(site.reached()) == 3


def test_the_old_colour_is_kept_as_long_as_configured(site: Site) -> None:
    site.deploy("v1.0.0")
    site.entry["keep_old_seconds"] = 3
    sizes: list[dict[str, int]] = []
    site.pauses.append(lambda: sizes.append(site.sizes()))
    site.deploy("v1.1.0", "blue_green")

    assert sizes[-3:] == [{"blue": 2, "green": 2}] * 3
    assert site.sizes() == {"blue": 0, "green": 2}


def test_status_tells_version_and_readiness(site: Site) -> None:
    before = site.status()
    site.deploy("v1.0.0")
    after = site.status()

    assert before.summary == "web is not deployed on production"
    assert after.summary == "web v1.0.0 on production, 2/2 ready, blue serves"
    assert after.data.ready


def test_a_service_that_somebody_else_made_is_left_alone(site: Site) -> None:
    ports = [{"port": 80, "protocol": "TCP"}]
    spec = {"selector": {"app": "web"}, "ports": ports}
    metadata = {"name": "web", "labels": {"app": "web"}}
    site.cluster.real.apply({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec})

    with pytest.raises(Permanent, match="was not made by Signoff"):
        site.deploy("v1.0.0")

    assert site.sizes() == {}


@pytest.mark.parametrize("site", ["practice"], indirect=True)
def test_an_environment_that_is_not_configured_is_refused(site: Site) -> None:
    params = DeployParams(service="web", version="v1", environment="staging")

    with pytest.raises(Permanent, match=r"web has no environment 'staging'.*Known: production"):
        K8sDeployer.deploy_service.run(site.worker(), params, site.context("k"))


@pytest.mark.parametrize("site", REAL, indirect=True)
def test_a_field_that_somebody_else_manages_is_named_and_kept(site: Site) -> None:
    site.deploy("v1.0.0")
    path = f"/apis/apps/v1/namespaces/{site.namespace}/deployments/web-blue"
    content, query = "application/json-patch+json", {"fieldManager": "kubectl-edit"}
    site.cluster.real.call("PATCH", path, EDITED, content=content, query=query)

    report = site.deploy("v1.1.0")

    assert report.status == "failed"
    assert 'conflict with "kubectl-edit"' in report.summary
    assert '.containers[name="web"].image' in report.summary
    until(lambda: site.reached() == ["v7", "v7"], "the other manager's version serves")


@pytest.mark.parametrize("site", REAL, indirect=True)
def test_what_the_cluster_forbids_is_said_in_a_sentence(site: Site) -> None:
    limited = {**site.home, "context": "limited"}
    site.cluster = Watched(connect("here", limited, site.namespace))

    with pytest.raises(Permanent, match="Signoff may not get deployments/web-blue in namespace t"):
        site.deploy("v1.0.0")


@pytest.mark.parametrize("site", REAL, indirect=True)
def test_a_forbidden_change_says_what_serves(site: Site) -> None:
    site.deploy("v1.0.0")
    base = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{site.namespace}"
    rules = [{"apiGroups": ["", "apps"], "resources": ["*"], "verbs": ["get", "list"]}]
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"}
    subjects = [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "limited"}]
    binding = {"metadata": {"name": "reader"}, "roleRef": role, "subjects": subjects}
    site.cluster.real.call("POST", f"{base}/roles", {"metadata": {"name": "reader"}, "rules": rules})
    site.cluster.real.call("POST", f"{base}/rolebindings", binding)
    reader = Watched(connect("here", {**site.home, "context": "limited"}, site.namespace))
    until(lambda: may_read(reader), "the role is known to the API server")
    site.cluster = reader

    report = site.deploy("v1.1.0")

    assert report.summary.startswith("Signoff may not patch deployments/web-blue in namespace")
    assert "On production v1.0.0 serves, 2/2 ready" in report.summary


def may_read(cluster: Cluster) -> bool:
    try:
        cluster.get("Service", "web")
    except Permanent:
        return False
    return True


@pytest.mark.parametrize("version", ["latest", "v1+build", "v1;rm", "", "v" + "1" * 70])
def test_a_version_that_no_tag_can_hold_is_refused(version: str) -> None:
    with pytest.raises(ValueError, match="version"):
        DeployParams(service="web", version=version)
