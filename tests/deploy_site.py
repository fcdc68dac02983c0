"""One service on one cluster, in the words of the deployer's tests."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from workers.base import Context, Report, Verdict
from workers.builtin.cluster import Cluster, Manifest
from workers.builtin.k8s_deployer import DeployParams, K8sDeployer, RollbackParams, StatusParams
from workers.builtin.places import connect


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

    def apply(self, manifest: Manifest) -> Manifest:
        return self._change("apply", lambda: self.real.apply(manifest))

    def patch(self, kind: str, name: str, operations: list[dict[str, Any]]) -> Manifest:
        return self._change("patch", lambda: self.real.patch(kind, name, operations))

    def scale(self, name: str, replicas: int) -> None:
        self._change("scale", lambda: self.real.scale(name, replicas))

    def _change(self, verb: str, change: Callable[[], Any]) -> Any:
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
            "services": {self.service: {"progress_deadline": 20, **service}},
            "clusters": {"here": self.home},
        }
        return K8sDeployer(inventory, pause=self.pause, connect=lambda *_: self.cluster)

    def pause(self, seconds: float) -> None:
        for act in self.pauses:
            act()
        threading.Event().wait(seconds / 10)

    def context(self, key: str, **more: Any) -> Context:
        now = lambda: datetime.now(UTC)  # noqa: E731 # a clock
        return Context(plan=1, step="s", attempt=1, key=key, scratch=self.scratch, now=now, **more)

    def deploy(self, version: str, strategy: str = "rolling", *, key: str = "", **more: Any) -> Report[Any]:
        params = DeployParams(service=self.service, version=version, strategy=strategy)
        return K8sDeployer.deploy_service.run(self.worker(), params, self.context(key or version, **more))

    def before(self, version: str, *, key: str = "") -> dict[str, Any]:
        params = DeployParams(service=self.service, version=version)
        return K8sDeployer.deploy_service.hooks["before"](self.worker(), params, self.context(key or version))

    def probe(self, version: str, *, key: str = "", **more: Any) -> Report[Any] | Verdict:
        params = DeployParams(service=self.service, version=version, strategy="blue_green")
        hook = K8sDeployer.deploy_service.hooks["probe"]
        return hook(self.worker(), params, self.context(key or version, **more))

    def rollback(self, to: str = "previous", *, key: str = "undo", **more: Any) -> Report[Any]:
        params = RollbackParams(service=self.service, to_version=to)
        return K8sDeployer.rollback_service.run(self.worker(), params, self.context(key, **more))

    def status(self) -> Report[Any]:
        return K8sDeployer.rollout_status.run(
            self.worker(), StatusParams(service=self.service), self.context("look")
        )

    def reached(self) -> list[str]:
        """The versions of the pods that get traffic."""
        found = self.cluster.get("Endpoints", self.service) or {}
        names = {a["targetRef"]["name"] for s in found.get("subsets") or [] for a in s.get("addresses") or []}
        pods = self.cluster.find("Pod", {"app": self.service})
        images = [p["spec"]["containers"][0]["image"] for p in pods if p["metadata"]["name"] in names]
        return sorted(image.rpartition(":")[2] for image in images)

    def sizes(self) -> dict[str, int]:
        found = {
            color: self.cluster.get("Deployment", f"{self.service}-{color}") for color in ("blue", "green")
        }
        return {color: one["spec"]["replicas"] for color, one in found.items() if one}


@contextmanager
def sampling(look: Callable[[], Any]) -> Iterator[list[Any]]:
    """Looks all the time, from a thread of its own."""
    seen: list[Any] = []
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
