"""What the deployer may do on a cluster: what the shipped Role gives, asked before anybody approves."""

from typing import Any

import pytest
import yaml

from tests.support.cluster.control_plane import until
from tests.support.cluster.deploy_site import Site, Watched
from tests.support.places import ROOT
from workers.base import Permanent
from workers.builtin.kubernetes.inventory import connect
from workers.builtin.kubernetes.rights import NEEDED, WANTED, Right, lacking

pytest_plugins = ("tests.support.cluster.fixtures",)
REAL = [pytest.param("kubernetes", marks=pytest.mark.k8s)]
OBJECTS = [*yaml.safe_load_all((ROOT / "docs/deploy/kubernetes.yml").read_text("utf-8"))]
ROLE, BINDING = (
    {**found, "metadata": {"name": "signoff-deployer"}}
    for found in OBJECTS
    if found["kind"] in {"Role", "RoleBinding"}
)
RBAC = "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/{}"
USER = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "limited"}


def given(role: dict[str, Any]) -> set[Right]:
    return {
        Right(verb, group, *resource.split("/"))
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def limit(site: Site, role: dict[str, Any], rights: int) -> None:
    """From now on the deployer comes as a user with this role."""
    site.admin().call("POST", RBAC.format(site.namespace, "roles"), role)
    site.admin().call("POST", RBAC.format(site.namespace, "rolebindings"), {**BINDING, "subjects": [USER]})
    site.cluster = Watched(connect("here", {**site.home, "context": "limited"}, site.namespace))
    until(
        lambda: len(lacking(site.cluster, NEEDED + WANTED)) == rights, "the role is known to the API server"
    )


def without(right: Right) -> dict[str, Any]:
    left = given(ROLE) - {right}
    rules = [{"apiGroups": [one.group], "resources": ["/".join(filter(None, one[2:]))], "verbs": [one.verb]}
             for one in left]  # fmt: skip
    return {**ROLE, "rules": rules}


def test_the_shipped_role_gives_what_is_asked_for_and_no_more() -> None:
    assert given(ROLE) == {*NEEDED, *WANTED}


@pytest.mark.parametrize("site", REAL, indirect=True)
def test_with_the_shipped_role_a_service_comes_moves_scales_and_goes_back(site: Site) -> None:
    limit(site, ROLE, 0)

    done = [
        site.deploy("v1.0.0"),
        site.deploy("v1.1.0", "blue_green", key="k2"),
        site.deploy("v1.2.0", "canary", key="k3"),
        site.scale(3),
        site.rollback("v1.1.0"),
    ]

    assert [report.status for report in done] == ["succeeded"] * 5, [report.summary for report in done]


@pytest.mark.parametrize("site", REAL, indirect=True)
@pytest.mark.parametrize("right", NEEDED[3:], ids=str)
def test_what_the_run_or_its_way_back_may_not_do_is_told_before_anybody_approves(
    site: Site, right: Right
) -> None:
    site.deploy("v1.0.0")
    limit(site, without(right), 1)

    with pytest.raises(Permanent, match=rf"Signoff may not {right}: the change, or its way back, would fail"):
        site.preview("deploy_service", version="v1.1.0")


def test_a_practice_cluster_allows_everything(practice: str) -> None:
    assert lacking(connect("here", {"kind": "practice", "url": practice}, "default")) == []


@pytest.mark.parametrize("site", REAL, indirect=True)
def test_the_doctor_asks_the_cluster_itself(site: Site) -> None:
    limit(site, without(NEEDED[3]), 1)
    ((name, look),) = site.worker().needs()

    assert name == f"cluster here, namespace {site.namespace}"
    with pytest.raises(Permanent, match="may not patch deployments/scale in apps"):
        look()
