"""A look at a real cluster: what could be deployed, what others keep, what has no way in."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.cluster.deploy_site import real_site
from tests.support.samples.without import forget
from workers.survey.clusters import contexts, look

pytest_plugins = ("tests.support.cluster.fixtures",)
HELM = {"app.kubernetes.io/managed-by": "Helm"}


def made(site: Any, name: str, *, service: bool = True, **labels: str) -> None:
    admin, top = site.admin(), f"namespaces/{site.namespace}"
    image = f"registry.example:5000/{name}:v1.4.0"
    container = {"name": name, "image": image, "ports": [{"containerPort": 8081}]}
    pods = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": name}}, "template": pods}
    admin.call(
        "POST",
        f"/apis/apps/v1/{top}/deployments",
        {"metadata": {"name": name, "labels": labels}, "spec": spec},
    )
    if service:
        address = {"selector": {"app": name}, "ports": [{"port": 80, "protocol": "TCP"}]}
        admin.call("POST", f"/api/v1/{top}/services", {"metadata": {"name": name}, "spec": address})


@pytest.mark.parametrize(("wanted", "told"), [("", ([], "in use")), ("prod", (["prod"], "prod"))])
def test_without_its_client_a_kubeconfig_is_told_with_the_extra_that_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: str, told: tuple[list[str], str]
) -> None:
    forget(monkeypatch, "kubernetes")
    file = tmp_path / "kubeconfig"
    file.write_text("{}")

    assert contexts(wanted, {"KUBECONFIG": str(file)}) == told
    assert look(told[1], {"KUBECONFIG": str(file)}).trouble.endswith("Install signoff[kubernetes].")


def test_without_its_client_and_without_a_kubeconfig_nothing_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forget(monkeypatch, "kubernetes")

    assert contexts("", {"KUBECONFIG": str(tmp_path / "none")}) == ([], "")


@pytest.mark.k8s
def test_deployments_are_told_with_what_stands_in_their_way(kubeconfig: Path, tmp_path: Path) -> None:
    with real_site(kubeconfig, tmp_path) as site:
        made(site, "shop")
        made(site, "billing", **HELM)
        made(site, "batch", service=False)
        found = look("admin", {"KUBECONFIG": str(kubeconfig)})
        barred = look("limited", {"KUBECONFIG": str(kubeconfig)})

    here = {one.name: one for one in found.deployments if one.namespace == site.namespace}
    assert (here["shop"].image, here["shop"].version, here["shop"].port) == (
        "registry.example:5000/shop",
        "v1.4.0",
        8081,
    )
    assert here["shop"].hindrance == ""
    assert here["billing"].keeper == "Helm"
    assert "no Service" in here["batch"].hindrance
    assert found.kubeconfig_env == "KUBECONFIG"
    assert found.lacking == {}
    assert barred.trouble or barred.lacking or not barred.deployments


@pytest.mark.k8s
def test_a_service_that_signoff_deploys_already_is_told_once_by_its_name(
    kubeconfig: Path, tmp_path: Path
) -> None:
    with real_site(kubeconfig, tmp_path, entry={"adopt": True}) as site:
        made(site, "web")
        site.entry["image"] = "registry.example:5000/web"
        site.deploy("v1.5.0", "blue_green")
        found = look("admin", {"KUBECONFIG": str(kubeconfig)})

    here = [one for one in found.deployments if one.namespace == site.namespace]
    assert [(one.name, one.version, one.hindrance) for one in here] == [("web", "v1.5.0", "")]


def test_a_cluster_that_is_away_is_a_finding(tmp_path: Path) -> None:
    found = look("here", {"KUBECONFIG": str(tmp_path / "none")})

    assert "kubeconfig cannot be used" in found.trouble
