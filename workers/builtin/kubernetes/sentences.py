"""How a change of version is told: cause or outcome first, then the state things were left in."""

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from workers.base import Permanent, Report, Transient
from workers.builtin.kubernetes.manifests import KEY, PREVIOUS, Color, tag
from workers.builtin.kubernetes.rollout import Live, note
from workers.builtin.kubernetes.strategies import Deploy, Strategy, runs
from workers.builtin.kubernetes.watch import Stopped, Stuck

WORDS: dict[Strategy, str] = {"rolling": "rolling", "blue_green": "blue-green", "canary": "canary"}


class DeployData(BaseModel):
    service: str
    version: str
    previous_version: str
    strategy: Strategy
    color: Color
    ready: bool
    replicas: int
    endpoints: int
    seconds: float
    image: str


@dataclass(frozen=True)
class Move:
    """A deploy with all choices made. `previous` is the image that served before it."""

    deploy: Deploy
    environment: str
    strategy: Strategy
    color: Color
    previous: str
    scratch: Path
    began: float = field(default_factory=time.monotonic)

    def run(self) -> Report[DeployData]:
        try:
            self.deploy.go(self.color, self.previous)
        except Permanent as cause:
            return self.failed(cause)
        return self.done()

    def stays(self, live: Live) -> bool:
        """Does a Deployment of others serve what we shall go back to? Then nothing needs to take over."""
        return live.plain is not None and runs(live.plain, self.deploy.image)

    def stand_down(self, live: Live) -> Report[DeployData]:
        """Before a first deployment there was nothing of ours; going back to it means no pods of ours."""
        for part in live.deployments:
            self.deploy.cluster.scale(f"{self.deploy.service}-{part}", 0)
        if not self.stays(live):
            summary = (
                f"{self.deploy.service} has no pods on {self.environment}, as before its first deployment"
            )
            return Report.ok(summary, self.data(ready=False))
        data = self.data(ready=True, replicas=live.size, endpoints=len(self.deploy.reached()))
        return Report.ok(f"{self.deploy.service} {self.step()} on {self.environment}: {live.state()}", data)

    def data(self, *, ready: bool, replicas: int = 0, endpoints: int = 0) -> DeployData:
        return DeployData(
            service=self.deploy.service,
            version=tag(self.deploy.image),
            previous_version=tag(self.previous),
            strategy=self.strategy,
            color=self.color,
            ready=ready,
            replicas=replicas,
            endpoints=endpoints,
            seconds=round(time.monotonic() - self.began, 1),
            image=self.deploy.image,
        )

    def done(self) -> Report[DeployData]:
        replicas, endpoints = self.deploy.read().replicas(self.color), len(self.deploy.reached())
        summary = (
            f"{self.deploy.service} {self.step()} on {self.environment}, {WORDS[self.strategy]}, "
            f"{endpoints}/{replicas} ready, all traffic on {self.color}"
        )
        return Report.ok(summary, self.data(ready=True, replicas=replicas, endpoints=endpoints))

    def step(self) -> str:
        new, old = tag(self.deploy.image), tag(self.previous)
        if not old:
            return f"{new}, its first version,"
        return f"stays at {old}" if old == new else f"{old} → {new}"

    def failed(self, cause: Permanent) -> Report[DeployData]:
        try:
            # Whoever took over a stopped run is at work on the same pods: leave them alone.
            rest = "" if isinstance(cause, Stopped) else self.deploy.abandon(self.color)
            left = self.deploy.read().state() + rest
        except (Permanent, Transient) as unread:
            left = f"what serves now could not be read ({unread})"
        summary = f"{str(cause).rstrip('.')}. On {self.environment} {left}."
        return Report.failed(summary, self.data(ready=False), artifacts=kept_log(cause, self.scratch))


def kept_log(cause: Permanent, scratch: Path) -> tuple[str, ...]:
    """The last lines of the pod that failed, as a file."""
    if not isinstance(cause, Stuck) or not cause.log:
        return ()
    file = scratch / "pod.log"
    file.write_text(cause.log, encoding="utf-8")
    return (str(file),)


def record(live: Live, key: str) -> dict[str, Any]:
    """What `rollback_service` returns to, and what tells an untouched service from a changed one."""
    image = previous(live, key)
    last = note(live.serving, KEY) if live.serving else ""
    return {"version": tag(image) or None, "image": image, "color": live.active, "key": last}


def previous(live: Live, key: str) -> str:
    """The image before the step with this key; its own half-done work does not count."""
    part = live.made_by(key)
    return note(live.deployments[part], PREVIOUS) if part else live.image


def remembered(service: str, to_version: str, before: dict[str, Any]) -> tuple[str, str]:
    """The version to return to, empty when there was none, and its image where that is on record."""
    if to_version != "previous":
        return to_version, ""
    if "version" not in before:
        raise Permanent(f"No previous version of {service} is on record. Name the version to return to.")
    return before["version"] or "", before.get("image") or ""
