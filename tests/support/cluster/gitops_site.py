"""A repository that says what runs: real git, and a stand-in for who brings it into the cluster."""

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.support.scratch import context
from workers.base import Context
from workers.builtin.gitops.gitops_deployer import GitopsDeployer, ReleaseParams, TakeBackParams
from workers.builtin.shared.cluster import Manifest

FILE = "apps/shop/kustomization.yaml"
KUSTOMIZATION = """\
# kept by the team; do not reorder
resources: [deployment.yaml]
images:
  - name: registry.example/shop   # the shop
    newTag: v1.4.0
  - name: registry.example/billing
    newTag: "1.10"
"""


def git(place: Path, *words: str) -> str:
    who = ["-c", "user.name=Dev", "-c", "user.email=dev@example.com"]
    done = subprocess.run(["git", *who, *words], cwd=place, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@dataclass
class Kept:
    """A cluster that runs what the repository says, at once: what the deployer asks of one, and no more."""

    site: "GitopsSite"
    stale: str = ""  # what it goes on to run, if nobody syncs

    def get(self, kind: str, name: str) -> Manifest | None:
        version = self.stale or self.site.version(name)
        pod = {"containers": [{"name": name, "image": f"registry.example/{name}:{version}"}]}
        spec = {"replicas": 2, "selector": {"matchLabels": {"app": name}}, "template": {"spec": pod}}
        status = {"observedGeneration": 1, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2}
        return {"metadata": {"name": name, "generation": 1}, "spec": spec, "status": status}

    def find(self, kind: str, labels: dict[str, str]) -> list[Manifest]:
        return []


@dataclass
class GitopsSite:
    """The words of the tests: what is in the repository, what somebody else pushes, what the worker does."""

    place: Path
    namespace: str = "default"
    home: dict[str, Any] = field(default_factory=lambda: {"kind": "kubernetes"})
    cluster: Any = None
    more: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.origin, self.desk = self.place / "origin.git", self.place / "desk"
        self.place.mkdir(parents=True, exist_ok=True)
        git(self.place, "init", "-q", "--bare", "-b", "main", str(self.origin))
        git(self.place, "clone", "-q", str(self.origin), str(self.desk))
        git(self.desk, "checkout", "-q", "-b", "main")
        self.somebody_writes(FILE, KUSTOMIZATION, "begin")

    def somebody_writes(self, file: str, text: str, message: str = "by hand") -> str:
        """Another person's commit, pushed."""
        if git(self.desk, "ls-remote", "--heads", "origin", "main"):
            git(self.desk, "pull", "-q", "--ff-only", "origin", "main")
        path = self.desk / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        git(self.desk, "add", "-A")
        git(self.desk, "commit", "-q", "-m", message)
        git(self.desk, "push", "-q", "origin", "HEAD:main")
        return git(self.desk, "rev-parse", "HEAD")

    def text(self, file: str = FILE) -> str:
        return git(self.origin, "show", f"main:{file}") + "\n"

    def version(self, name: str = "shop") -> str:
        images = {one["name"]: one["newTag"] for one in yaml.safe_load(self.text())["images"]}
        return str(images[f"registry.example/{name}"])

    def log(self) -> list[str]:
        return git(self.origin, "log", "--format=%s", "main").splitlines()

    def inventory(self) -> dict[str, Any]:
        shared = {"repository": str(self.origin), "file": FILE, "cluster": "here",
                  "namespace": self.namespace, "wait_seconds": 30, **self.more}  # fmt: skip
        named = {name: {**shared, "image": f"registry.example/{name}"} for name in ("shop", "billing")}
        return {"gitops": named, "clusters": {"here": self.home}}

    def worker(self) -> GitopsDeployer:
        cluster = self.cluster or Kept(self)
        return GitopsDeployer(self.inventory(), pause=lambda _: None, connect=lambda *_: cluster)

    def context(self, key: str, **more: Any) -> Context:
        given: dict[str, Any] = {"approvers": lambda: ("U0BOB", "U0CAROL"), **more}
        return context(self.place / "scratch" / key, key=key, **given)

    def release(self, version: str, key: str = "k1", service: str = "shop", **more: Any) -> Any:
        params = ReleaseParams(service=service, version=version)
        return GitopsDeployer.release.run(self.worker(), params, self.context(key, **more))

    def preview(self, version: str, key: str = "preview", service: str = "shop") -> Any:
        params = ReleaseParams(service=service, version=version)
        return GitopsDeployer.release.hooks["preview"](self.worker(), params, self.context(key))

    def before(self, version: str, key: str = "k1") -> dict[str, Any]:
        params = ReleaseParams(service="shop", version=version)
        found: dict[str, Any] = GitopsDeployer.release.hooks["before"](
            self.worker(), params, self.context(key)
        )
        return found

    def take_back(self, key: str = "undo", to: str = "previous", **more: Any) -> Any:
        params = TakeBackParams(service="shop", to_version=to)
        return GitopsDeployer.take_back.run(self.worker(), params, self.context(key, **more))


@contextmanager
def syncing(site: GitopsSite, cluster: Any) -> Iterator[None]:
    """What Argo CD or Flux does, in one line: a Deployment whose image follows the repository."""
    over = threading.Event()

    def follow() -> None:
        seen = ""
        while not over.wait(0.05):
            if (version := site.version()) != seen:
                seen = version
                operations = [{"op": "replace", "path": "/spec/template/spec/containers/0/image",
                               "value": f"registry.example/shop:{version}"}]  # fmt: skip
                cluster.patch("Deployment", "shop", operations)

    thread = threading.Thread(target=follow)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
