"""One service on one cluster, in the words of the deployer's tests."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from workers.base import Context, Preview, Report, Verdict
from workers.builtin.kubernetes.inventory import connect
from workers.builtin.kubernetes.k8s_deployer import (
    DeployParams,
    K8sDeployer,
    RollbackParams,
    ScaleParams,
    StatusParams,
)
from workers.builtin.kubernetes.manifests import PARTS, tag
from workers.builtin.shared.cluster import Cluster, KubernetesCluster, Manifest
from workers.registry import params_of

# Pods of a test serve as soon as they are ready, and a canary has a second to prove itself.
QUICK = {"progress_deadline": 20, "min_ready_seconds": 0, "canary_seconds": 1}


class Crash(Exception):
    """The worker's process dies here."""


@dataclass
class Watched:
    """A cluster that counts the changes asked of it, and fails right after (or before) the n-th."""

    real: Cluster
    changes: list[str] = field(default_factory=list)
    fail_after: int = 0
    fail_before: int = 0
    error: Callable[[], Exception] = Crash

    def get(self, kind: str, name: str) -> Manifest | None:
        return self.real.get(kind, name)

    def find(self, kind: str, labels: dict[str, str]) -> list[Manifest]:
        return self.real.find(kind, labels)

    def apply(self, manifest: Manifest, *, dry_run: bool = False) -> Manifest:
        return self._change("apply", lambda: self.real.apply(manifest, dry_run=dry_run), dry_run)

    def patch(
        self, kind: str, name: str, operations: list[dict[str, Any]], *, dry_run: bool = False
    ) -> Manifest:
        change = lambda: self.real.patch(kind, name, operations, dry_run=dry_run)  # noqa: E731 # a change
        return self._change("patch", change, dry_run)

    def scale(self, name: str, replicas: int, *, dry_run: bool = False) -> None:
        self._change("scale", lambda: self.real.scale(name, replicas, dry_run=dry_run), dry_run)

    def logs(self, pod: str, container: str, *, lines: int) -> str:
        return self.real.logs(pod, container, lines=lines)

    def may(self, verb: str, group: str, resource: str, part: str) -> bool:
        return self.real.may(verb, group, resource, part)

    def _change(self, verb: str, change: Callable[[], Any], dry_run: bool) -> Any:
        if dry_run:
            return change()
        if len(self.changes) + 1 == self.fail_before:
            self.fail_before = 0
            raise self.error()
        result = change()
        self.changes.append(verb)
        if len(self.changes) == self.fail_after:
            raise self.error()
        return result


@dataclass
class Site:
    """One namespace with one service and the words to talk about it."""

    home: dict[str, Any]
    namespace: str
    scratch: Path
    service: str = "web"
    entry: dict[str, Any] = field(default_factory=dict)
    pauses: list[Callable[[], Any]] = field(default_factory=list)
    haste: float = 10.0  # how much shorter the pauses of a test are
    said: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.cluster = Watched(connect("here", self.home, self.namespace))

    def worker(self) -> K8sDeployer:
        service = {
            "cluster": "here",
            "image": f"registry.example/{self.service}",
            "namespace": self.namespace,
            **self.entry,
        }
        inventory = {
            "services": {self.service: {**QUICK, **service}},
            "clusters": {"here": self.home},
        }
        return K8sDeployer(inventory, pause=self.pause, connect=lambda *_: self.cluster)

    def pause(self, seconds: float) -> None:
        for act in self.pauses:
            act()
        threading.Event().wait(seconds / self.haste)

    def admin(self) -> KubernetesCluster:
        """The real cluster with all rights, for what the deployer does not do."""
        return KubernetesCluster(namespace=self.namespace, kubeconfig=self.home["kubeconfig"])

    def context(self, key: str, **more: Any) -> Context:
        now = lambda: datetime.now(UTC)  # noqa: E731 # a clock
        given = {"progress": self.said.append, **more}
        return Context(plan=1, step="s", attempt=1, key=key, place=self.scratch, now=now, **given)

    def deploy(
        self,
        version: str,
        strategy: str = "rolling",
        *,
        key: str = "",
        percent: int | None = None,
        **more: Any,
    ) -> Report[Any]:
        params = DeployParams(
            service=self.service, version=version, strategy=strategy, canary_percent=percent
        )
        return K8sDeployer.deploy_service.run(self.worker(), params, self.context(key or version, **more))

    def preview(self, action: str, *, key: str = "preview", previous: Any = None, **params: Any) -> Preview:
        found = getattr(K8sDeployer, action)
        given = params_of(found)(service=self.service, **params)
        return found.hooks["preview"](self.worker(), given, self.context(key, previous=previous or {}))

    def scale(self, replicas: int, *, key: str = "scale", **more: Any) -> Report[Any]:
        params = ScaleParams(service=self.service, replicas=replicas)
        return K8sDeployer.scale.run(self.worker(), params, self.context(key, **more))

    def note_size(self, replicas: int) -> dict[str, Any]:
        params = ScaleParams(service=self.service, replicas=replicas)
        return K8sDeployer.scale.hooks["before"](self.worker(), params, self.context("scale"))

    def restart(self, *, key: str = "restart") -> Report[Any]:
        return K8sDeployer.restart.run(self.worker(), StatusParams(service=self.service), self.context(key))

    def before(self, version: str, *, key: str = "") -> dict[str, Any]:
        params = DeployParams(service=self.service, version=version)
        return K8sDeployer.deploy_service.hooks["before"](self.worker(), params, self.context(key or version))

    def probe(
        self, version: str, strategy: str = "blue_green", *, key: str = "", **more: Any
    ) -> Report[Any] | Verdict:
        params = DeployParams(service=self.service, version=version, strategy=strategy)
        hook = K8sDeployer.deploy_service.hooks["probe"]
        return hook(self.worker(), params, self.context(key or version, **more))

    def rollback(self, to: str = "previous", *, key: str = "undo", **more: Any) -> Report[Any]:
        params = RollbackParams(service=self.service, to_version=to)
        return K8sDeployer.rollback_service.run(self.worker(), params, self.context(key, **more))

    def status(self) -> Report[Any]:
        return K8sDeployer.rollout_status.run(
            self.worker(), StatusParams(service=self.service), self.context("look")
        )

    def reached(self, name: str = "") -> list[str]:
        """The versions of the pods that get traffic."""
        found = self.cluster.get("Endpoints", name or self.service) or {}
        names = {a["targetRef"]["name"] for s in found.get("subsets") or [] for a in s.get("addresses") or []}
        pods = self.cluster.find("Pod", {"app": self.service})
        images = [p["spec"]["containers"][0]["image"] for p in pods if p["metadata"]["name"] in names]
        return sorted(map(tag, images))

    def sizes(self) -> dict[str, int]:
        found = {part: self.cluster.get("Deployment", f"{self.service}-{part}") for part in PARTS}
        return {part: one["spec"]["replicas"] for part, one in found.items() if one}


@contextmanager
def real_site(kubeconfig: Path, scratch: Path, **more: Any) -> Iterator[Site]:
    """A namespace of its own on the real API server; its pods go with it."""
    namespace = f"t{time.monotonic_ns()}"
    admin = KubernetesCluster(namespace=namespace, kubeconfig=str(kubeconfig))
    admin.call("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
    try:
        home = {"kind": "kubernetes", "kubeconfig": str(kubeconfig), "context": "admin"}
        yield Site(home, namespace, scratch, **more)
    finally:
        admin.call("DELETE", f"/api/v1/namespaces/{namespace}", {"propagationPolicy": "Background"})


@contextmanager
def sampling(look: Callable[[], Any]) -> Iterator[list[Any]]:
    """Looks all the time, from a thread of its own; the first and the last look are never missed."""
    seen: list[Any] = [look()]
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.02):
            seen.append(look())

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield seen
    finally:
        over.set()
        thread.join()
        seen.append(look())
