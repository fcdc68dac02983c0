"""Deploys services to a cluster."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from workers.base import Context, Named, Params, Permanent, Report, Transient, Verdict, Worker, action, check
from workers.builtin import rollout, strategies
from workers.builtin.cluster import Manifest
from workers.builtin.places import Connect, connect, place, read_entry
from workers.builtin.rollout import KEY, PREVIOUS, Color, Live, note
from workers.builtin.strategies import Deploy, Stopped

Strategy = Literal["rolling", "blue_green"]
# A version becomes the tag of an image, and a tag has no "+".
Version = Annotated[str, Field(pattern=r"^v?[0-9]+(\.[0-9]+){0,3}([-.][0-9A-Za-z.-]+)?$", max_length=64)]
Environment = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=63)]


class StatusParams(Params):
    service: Annotated[str, Named("services")]
    environment: Environment = "production"


class DeployParams(StatusParams):
    version: Version
    strategy: Strategy = "rolling"


class RollbackParams(StatusParams):
    to_version: Literal["previous"] | Version = "previous"


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


class StatusData(BaseModel):
    service: str
    version: str
    color: str
    ready: bool
    replicas: int
    endpoints: int


@dataclass(frozen=True)
class Move:
    """One deploy as it is told afterwards."""

    deploy: Deploy
    environment: str
    strategy: Strategy
    color: Color
    previous: str
    began: float = field(default_factory=time.monotonic)

    def data(self, *, ready: bool, replicas: int = 0, endpoints: int = 0) -> DeployData:
        return DeployData(
            service=self.deploy.service,
            version=self.deploy.version,
            previous_version=self.previous,
            strategy=self.strategy,
            color=self.color,
            ready=ready,
            replicas=replicas,
            endpoints=endpoints,
            seconds=round(time.monotonic() - self.began, 1),
        )

    def done(self) -> Report[DeployData]:
        replicas, endpoints = self.deploy.read().replicas(self.color), len(self.deploy.reached())
        how = "rolling" if self.strategy == "rolling" else "blue-green"
        summary = (
            f"{self.deploy.service} {self.step()} on {self.environment}, {how}, "
            f"{endpoints}/{replicas} ready, all traffic on {self.color}"
        )
        return Report.ok(summary, self.data(ready=True, replicas=replicas, endpoints=endpoints))

    def step(self) -> str:
        if not self.previous:
            return f"{self.deploy.version}, its first version,"
        if self.previous == self.deploy.version:
            return f"stays at {self.previous}"
        return f"{self.previous} → {self.deploy.version}"

    def failed(self, cause: Permanent) -> Report[DeployData]:
        """Cause first, then the state things were left in."""
        try:
            # Whoever took over a stopped run is at work on the same pods: leave them alone.
            rest = "" if isinstance(cause, Stopped) else self.deploy.abandon(self.color)
            left = self.deploy.read().serving() + rest
        except (Permanent, Transient) as unread:
            left = f"what serves now could not be read ({unread})"
        summary = f"{str(cause).rstrip('.')}. On {self.environment} {left}."
        return Report.failed(summary, self.data(ready=False))


class K8sDeployer(Worker):
    """Deploys services to Kubernetes, rolling or blue-green, and takes them back."""

    name = "k8s-deployer"

    def __init__(
        self,
        inventory: dict[str, dict[str, dict[str, Any]]],
        *,
        pause: Callable[[float], None] = time.sleep,
        connect: Connect = connect,
    ) -> None:
        super().__init__(inventory)
        self.pause, self.connect = pause, connect

    @action(
        changes=True,
        repeat="unsafe",
        timeout=600,
        typical=60,
        target="service:{environment}/{service}",
        undo="rollback_service",
        criteria={"service_healthy": (check("ready", "eq", True),)},
    )
    def deploy_service(self, params: DeployParams, ctx: Context) -> Report[DeployData]:
        """Bring a version of a service live, rolling or blue-green."""
        deploy = self._deploy(params, params.version, ctx)
        live = deploy.read()
        color = strategies.rolling(live) if params.strategy == "rolling" else strategies.blue_green(live)
        return self._go(deploy, params.environment, params.strategy, color, live)

    @deploy_service.before
    def note_previous(self, params: DeployParams, ctx: Context) -> dict[str, Any]:
        """What serves before this deploy; after a half-done attempt, what served before that one."""
        return record(self._deploy(params, params.version, ctx).read(), ctx.key)

    @deploy_service.probe
    def find_out(self, params: DeployParams, ctx: Context) -> Report[DeployData] | Verdict:
        """A report if all is done; `did_not_run` if running again with this key is right."""
        deploy = self._deploy(params, params.version, ctx)
        try:
            live = deploy.read()
            color = live.made_by(ctx.key)
            if color is None:
                untouched = ctx.previous in ({}, record(live, ctx.key))  # {}: it ended before it began
                return Verdict.did_not_run if untouched else Verdict.cannot_tell
            if rollout.version(live.deployments[color]) != params.version:
                return Verdict.cannot_tell
            if not deploy.finished(live, color):
                return Verdict.did_not_run
            return Move(deploy, params.environment, params.strategy, color, previous(live, ctx.key)).done()
        except (Permanent, Transient):
            return Verdict.cannot_tell

    @action(
        changes=True,
        repeat="safe",
        timeout=600,
        typical=30,
        target="service:{environment}/{service}",
        criteria={"service_healthy": (check("ready", "eq", True),)},
    )
    def rollback_service(self, params: RollbackParams, ctx: Context) -> Report[DeployData]:
        """Return a service to the version it had before, or to a named one."""
        deploy = self._deploy(params, goal(params, ctx), ctx)
        live = deploy.read()
        if not deploy.version:
            return self._stop(deploy, params.environment, live)
        color = strategies.way_back(live, deploy.version)
        return self._go(
            deploy, params.environment, "rolling" if color == live.active else "blue_green", color, live
        )

    @action(changes=False, repeat="safe", timeout=60, typical=2)
    def rollout_status(self, params: StatusParams, ctx: Context) -> Report[StatusData]:
        """Say which version of a service is live and how many of its pods are ready."""
        deploy = self._deploy(params, "", ctx)
        live = deploy.read()
        found = live.deployments.get(live.active) if live.active else None
        data = StatusData(
            service=params.service,
            version=live.version or "",
            color=live.active or "",
            ready=found is not None
            and rollout.progress(found).state == "done"
            and live.replicas(live.active) > 0,
            replicas=live.replicas(live.active),
            endpoints=len(deploy.reached()),
        )
        return Report.ok(told(data, params.environment, found), data)

    def _go(
        self, deploy: Deploy, environment: str, strategy: Strategy, color: Color, live: Live
    ) -> Report[DeployData]:
        color = live.made_by(deploy.key) or color
        move = Move(deploy, environment, strategy, color, previous(live, deploy.key))
        try:
            deploy.go(color, move.previous)
        except Permanent as cause:
            return move.failed(cause)
        return move.done()

    def _stop(self, deploy: Deploy, environment: str, live: Live) -> Report[DeployData]:
        """Before a first deployment there was nothing; going back to it means no pods."""
        for color in live.deployments:
            deploy.cluster.scale(f"{deploy.service}-{color}", 0)
        move = Move(deploy, environment, "rolling", live.active or "blue", previous(live, deploy.key))
        summary = f"{deploy.service} has no pods on {environment}, as before its first deployment"
        return Report.ok(summary, move.data(ready=False))

    def _deploy(self, params: StatusParams, version: str, ctx: Context) -> Deploy:
        entry = read_entry(params.service, self.entry("services", params.service))
        home = self.entry("clusters", entry.cluster)
        namespace = place(params.service, params.environment, entry, home)
        cluster = self.connect(entry.cluster, home, namespace)
        return Deploy(
            cluster, params.service, entry, version, ctx.key, self.pause, ctx.progress, ctx.cancelled
        )


def record(live: Live, key: str) -> dict[str, Any]:
    """What `rollback_service` returns to, and what tells an untouched service from a changed one."""
    serving = live.deployments.get(live.active) if live.active else None
    last = note(serving, KEY) if serving else ""
    return {"version": previous(live, key) or None, "color": live.active, "key": last}


def previous(live: Live, key: str) -> str:
    """The version before the step with this key; its own half-done work does not count."""
    color = live.made_by(key)
    return note(live.deployments[color], PREVIOUS) if color else live.version or ""


def goal(params: RollbackParams, ctx: Context) -> str:
    """The version to return to; empty when there was none."""
    if params.to_version != "previous":
        return params.to_version
    if "version" not in ctx.previous:
        raise Permanent(
            f"No previous version of {params.service} is on record. Name the version to return to."
        )
    return ctx.previous["version"] or ""


def told(data: StatusData, environment: str, found: Manifest | None) -> str:
    if found is None:
        return f"{data.service} is not deployed on {environment}"
    state = rollout.progress(found)
    rest = "" if state.state == "done" else f"; rollout {state.state}: {state.text}"
    ready = f"{data.endpoints}/{data.replicas} ready"
    return f"{data.service} {data.version} on {environment}, {ready}, {data.color} serves{rest}"
