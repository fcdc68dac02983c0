"""Where a service lives, and what the refusals and silences of its cluster mean."""

from pathlib import Path

import pytest
import yaml
from kubernetes.config import incluster_config

from tests.support.samples.without import forget
from workers.base import Permanent, Transient
from workers.builtin.kubernetes.inventory import connect, place
from workers.builtin.kubernetes.manifests import ServiceEntry
from workers.builtin.shared.cluster import KubernetesCluster, refuse

pytest_plugins = ("tests.support.cluster.fixtures",)


def test_a_cluster_that_does_not_answer_is_a_transient_fault(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(
        '{"clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:9"}}], "users": [{"name": "u", '
        '"user": {"token": "t"}}], "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}], '
        '"current-context": "x"}'
    )

    with pytest.raises(Transient, match="does not answer"):
        KubernetesCluster(namespace="default", kubeconfig=str(kubeconfig)).get("Service", "web")


@pytest.mark.parametrize(
    ("status", "error", "text"),
    [
        (429, Transient, "busy or broken"),
        (503, Transient, "busy or broken"),
        (409, Transient, "at the same moment"),
        (401, Permanent, "credentials"),
        (422, Permanent, "refused to patch deployments/web in namespace prod"),
    ],
)
def test_a_refusal_is_transient_or_permanent_by_its_status(
    status: int, error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        refuse("PATCH", "/apis/apps/v1/namespaces/prod/deployments/web", status, "7", "a proxy's page")


def test_without_its_client_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    forget(monkeypatch, "kubernetes")

    with pytest.raises(Permanent, match=r"Install signoff\[kubernetes\]\."):
        KubernetesCluster(namespace="default")


def test_a_kubeconfig_that_is_missing_is_said_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(Permanent, match="The kubeconfig cannot be used"):
        KubernetesCluster(namespace="default", kubeconfig=str(tmp_path / "none"))


def test_a_kubeconfig_variable_that_is_not_set_never_means_the_usual_place() -> None:
    with pytest.raises(
        Permanent, match=r"inventory.clusters.main.* reads its kubeconfig from NO_SUCH_VARIABLE"
    ):
        connect("main", {"kind": "kubernetes", "kubeconfig_env": "NO_SUCH_VARIABLE"}, "default")


@pytest.mark.k8s
def test_inside_a_cluster_the_service_account_of_the_pod_is_enough(
    kubeconfig: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = yaml.safe_load(kubeconfig.read_text())
    server, token = config["clusters"][0]["cluster"], tmp_path / "token"
    token.write_text(config["users"][0]["user"]["token"])
    host, _, port = server["server"].removeprefix("https://").partition(":")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", host)
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", port)
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(token))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", server["certificate-authority"])

    found = connect("main", {"kind": "kubernetes", "in_cluster": True}, "default").get(
        "Service", "kubernetes"
    )

    assert found is not None


def test_outside_a_cluster_its_service_account_is_missed_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)

    with pytest.raises(Permanent, match="The service account of this pod cannot be used"):
        connect("main", {"kind": "kubernetes", "in_cluster": True}, "default")


def test_a_cluster_of_no_known_kind_is_refused() -> None:
    with pytest.raises(Permanent, match=r"inventory.clusters.main.* needs kind"):
        connect("main", {"kind": "nomad"}, "default")


def test_environments_may_each_have_a_namespace() -> None:
    entry = ServiceEntry(cluster="main", image="registry.example/web")
    home = {"namespaces": {"production": "prod", "staging": "stage"}}

    assert place("web", "staging", entry, home) == "stage"
