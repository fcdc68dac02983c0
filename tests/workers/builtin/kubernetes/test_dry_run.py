"""What people read before they approve a change of a cluster, and what their approval is bound to."""

from typing import Any

import pytest

from tests.support.cluster.control_plane import until
from tests.support.cluster.deploy_site import Site, Watched
from workers.base import Permanent, Preview
from workers.builtin.kubernetes.diffs import changes
from workers.builtin.kubernetes.inventory import connect

pytest_plugins = ("tests.support.cluster.fixtures",)
REAL = [pytest.param("kubernetes", marks=pytest.mark.k8s)]


def test_the_preview_of_a_deploy_shows_the_way_and_what_changes_and_changes_nothing(site: Site) -> None:
    site.deploy("v1.0.0")
    site.cluster.changes.clear()

    rolling = site.preview("deploy_service", version="v1.1.0")
    other = site.preview("deploy_service", version="v1.1.0", strategy="blue_green")
    canary = site.preview("deploy_service", version="v1.1.0", strategy="canary")

    assert rolling.text.splitlines() == [
        f"web v1.0.0 → v1.1.0 on production (namespace {site.namespace}), rolling, "
        "2 pods of registry.example/web:v1.1.0",
        "blue replaces its pods one after the other; none goes before a new one is ready.",
        "Deployment web-blue changes",
        "  spec.template.spec.containers[0].image: registry.example/web:v1.0.0 → registry.example/web:v1.1.0",
        "No smoke check is configured; readiness decides.",
    ]
    assert (
        "green comes up beside blue and takes all traffic in one switch; blue is scaled to 0." in other.text
    )
    assert "Deployment web-green is created" in other.text
    assert "A canary of 1 (33 % of the traffic), then 2 (50 % of the traffic) beside 2 pods" in canary.text
    assert site.cluster.changes == []
    assert site.sizes() == {"blue": 2}


def test_a_version_that_runs_there_already_is_said_so(site: Site) -> None:
    site.deploy("v1.0.0")

    assert site.preview("deploy_service", version="v1.0.0").found == (
        "!v1.0.0 runs there already", "2 pods change",
    )  # fmt: skip
    assert site.preview("deploy_service", version="v1.1.0").found == ("2 pods change",)


def test_the_basis_stays_while_only_status_moves_and_moves_when_the_service_does(site: Site) -> None:
    site.deploy("v1.0.0")

    def basis(key: str = "preview") -> Any:
        return site.preview("deploy_service", key=key, version="v2.0.0", strategy="blue_green").basis

    first = basis()
    site.restart()
    restarted = basis("another key")
    site.scale(3)
    scaled = basis()
    site.deploy("v1.0.1")
    deployed = basis()
    site.deploy("v1.0.2", "blue_green")
    switched = basis()

    assert first == restarted
    assert len({repr(one) for one in (first, scaled, deployed, switched)}) == 4
    assert "resourceVersion" not in repr(switched)
    assert "managedFields" not in repr(switched)
    assert "observedGeneration" not in repr(switched)


def test_scale_and_restart_say_what_they_would_do(site: Site) -> None:
    site.deploy("v1.0.0")
    scale, restart = site.preview("scale", replicas=5), site.preview("restart")
    site.scale(3)

    assert scale.text == "web 2 → 5 pods on production, v1.0.0 on blue"
    assert restart.text.startswith(
        "web v1.0.0 on production: 2 pods of blue are replaced one after the other"
    )
    assert site.preview("scale", replicas=5).basis != scale.basis
    assert site.preview("restart", key="k").basis == restart.basis


def test_a_rollback_is_previewed_as_far_as_it_can_be_known(site: Site) -> None:
    site.deploy("v1.0.0")
    record = site.before("v1.1.0")
    site.deploy("v1.1.0", "blue_green")
    unknown = site.preview("rollback_service")
    known = site.preview("rollback_service", previous=record)
    named = site.preview("rollback_service", to_version="v1.0.0")

    assert unknown == Preview(
        "web on production returns to what served before the step that this undoes; now v1.1.0 serves",
        was="v1.1.0",
    )
    assert known.text.startswith("web v1.1.0 → v1.0.0 on production")
    assert "blue comes up beside green and takes all traffic in one switch" in known.text
    assert named.basis == known.basis


def test_a_first_deployment_is_called_so(site: Site) -> None:
    first = site.preview("deploy_service", version="v1.0.0")

    assert "Nothing serves yet: blue comes up, then the Service is made." in first.text
    assert "Deployment web-blue is created" in first.text


@pytest.mark.parametrize("site", REAL, indirect=True)
def test_a_conflict_with_another_manager_is_told_before_anybody_approves(site: Site) -> None:
    site.deploy("v1.0.0")
    image = "/spec/template/spec/containers/0/image"
    edited = [{"op": "replace", "path": image, "value": "registry.example/web:v7"}]
    path = f"/apis/apps/v1/namespaces/{site.namespace}/deployments/web-blue"
    query = {"fieldManager": "kubectl-edit"}
    site.admin().call("PATCH", path, edited, content="application/json-patch+json", query=query)

    with pytest.raises(Permanent, match=r'Somebody else manages part of .*conflict with "kubectl-edit"'):
        site.preview("deploy_service", version="v1.1.0")


@pytest.mark.parametrize("site", REAL, indirect=True)
def test_what_a_dry_run_may_not_do_is_told_before_anybody_approves(site: Site) -> None:
    site.deploy("v1.0.0")
    base = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{site.namespace}"
    rules = [{"apiGroups": ["", "apps"], "resources": ["*"], "verbs": ["get", "list"]}]
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"}
    subjects = [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "limited"}]
    site.admin().call("POST", f"{base}/roles", {"metadata": {"name": "reader"}, "rules": rules})
    binding = {"metadata": {"name": "reader"}, "roleRef": role, "subjects": subjects}
    site.admin().call("POST", f"{base}/rolebindings", binding)
    site.cluster = Watched(connect("here", {**site.home, "context": "limited"}, site.namespace))

    until(lambda: "get deployments" not in refusal(site), "the role is known to the API server")

    assert f"In namespace {site.namespace} Signoff may not create deployments in apps, " in refusal(site)
    assert "Let a Role allow it (docs/deploy/kubernetes.yml)." in refusal(site)


def refusal(site: Site) -> str:
    try:
        site.preview("deploy_service", version="v1.1.0")
    except Permanent as error:
        return str(error)
    return ""


@pytest.mark.parametrize("site", REAL, indirect=True)
def test_variables_count_for_the_approval_but_are_never_shown(site: Site) -> None:
    site.deploy("v1.0.0")
    before = site.preview("deploy_service", version="v1.1.0")
    variables = [{"name": "PASSWORD", "value": "hunter2"}]
    edited = [{"op": "add", "path": "/spec/template/spec/containers/0/env", "value": variables}]
    site.cluster.real.patch("Deployment", "web-blue", edited)
    after = site.preview("deploy_service", version="v1.1.0", strategy="blue_green")
    rolling = site.preview("deploy_service", version="v1.1.0")

    assert rolling.basis != before.basis
    assert "hunter2" not in f"{after}{rolling}"


def test_changes_are_told_by_path() -> None:
    old = {"a": 1, "b": [{"c": 1}, {"c": 2}], "gone": "x"}
    new = {"a": 1, "b": [{"c": 1}, {"c": 3}], "new": {"d": 1}}

    assert list(changes(old, new)) == ["b[1].c: 2 → 3", "gone: x → nothing", "new: nothing → {'d': 1}"]
