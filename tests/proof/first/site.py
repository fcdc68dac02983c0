"""What somebody has who reads the README: a cluster, a database, a service with tests, and an empty HOME."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from tests.support.cluster.control_plane import control_plane
from tests.support.postgres import fresh_database, postgres_server
from workers.builtin.shared.cluster import KubernetesCluster

SERVICE, NAMESPACE, BEFORE = "my-service", "production", "v1.2.2"
KEPT = ("PATH", "LANG", "TMPDIR")  # and how this machine reaches a package index


@dataclass(frozen=True)
class Mine:
    """The set-up, and how to look at it from outside."""

    folder: Path
    env: dict[str, str]
    cluster: KubernetesCluster

    def runs(self, name: str = SERVICE) -> set[str]:
        """The versions of the pods that its Service leads to; of one without a Service, of its own."""
        service = self.cluster.get("Service", name)
        pods = self.cluster.find("Pod", service["spec"]["selector"] if service else {"app": name})
        return {pod["spec"]["containers"][0]["image"].rpartition(":")[2] for pod in pods}


def empty_home(folder: Path) -> dict[str, str]:
    """An environment without anything of this machine's owner."""
    (folder / "home").mkdir(parents=True)
    kept = {name: value for name, value in os.environ.items() if name in KEPT or name.startswith("PIP_")}
    return {**kept, "HOME": str(folder / "home")}


@contextmanager
def mine(folder: Path) -> Iterator[Mine]:
    """Everything is real, but for the pods' insides."""
    (folder / "control-plane").mkdir(parents=True)
    repository(folder / SERVICE)
    with control_plane(folder / "control-plane") as kubeconfig, postgres_server() as server:
        cluster = KubernetesCluster(namespace=NAMESPACE, kubeconfig=str(kubeconfig))
        cluster.call("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        for name in (SERVICE, "my-worker"):
            cluster.call(
                "POST", f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments", deployment(name, BEFORE)
            )
        cluster.call("POST", f"/api/v1/namespaces/{NAMESPACE}/services", service(SERVICE))
        env = {**empty_home(folder), "KUBECONFIG": str(kubeconfig), "MY_SERVICE_URL": database(server)}
        yield Mine(folder, env, cluster)


def deployment(name: str, version: str) -> dict[str, object]:
    pod = {"containers": [{"name": name, "image": f"registry.example/{name}:{version}",
                           "ports": [{"containerPort": 8080}]}]}  # fmt: skip
    labels = {"app": name}
    return {
        "metadata": {"name": name},
        "spec": {"replicas": 2, "selector": {"matchLabels": labels},
                 "template": {"metadata": {"labels": labels}, "spec": pod}},
    }  # fmt: skip


def service(name: str) -> dict[str, object]:
    """Only of the one that serves: a worker behind a queue has none."""
    return {"metadata": {"name": name}, "spec": {"selector": {"app": name}, "ports": [{"port": 8080}]}}


def database(server: str) -> str:
    url = fresh_database(server)
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE orders AS SELECT n FROM generate_series(1, 1000) AS n")
    return url


def repository(folder: Path) -> None:
    """A service of a few lines, with pytest in an environment of its own."""
    pytest = folder / ".venv" / "bin" / "pytest"
    pytest.parent.mkdir(parents=True)
    pytest.write_text(f'#!/bin/sh\nexec {sys.executable} -m pytest "$@"\n')
    pytest.chmod(0o755)
    (folder / "shop.py").write_text("def total(prices):\n    return sum(prices)\n")
    (folder / "tests").mkdir()
    test = "from shop import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n"
    (folder / "tests" / "test_shop.py").write_text(test)
    (folder / "pyproject.toml").write_text('[tool.pytest.ini_options]\npythonpath = ["."]\n')
    who = ["-c", "user.name=Me", "-c", "user.email=me@example.com"]
    for words in (["init", "-q"], ["add", "shop.py", "tests", "pyproject.toml"], ["commit", "-qm", "begin"]):
        subprocess.run(["git", *who, *words], cwd=folder, check=True)
