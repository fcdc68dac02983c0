"""Deploys services to a cluster."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import Field

from workers.base import (
    Check,
    Context,
    Named,
    Params,
    Permanent,
    Preview,
    Report,
    Transient,
    Verdict,
    Worker,
    action,
    check,
)
from workers.builtin.kubernetes import dry_run, rights, strategies, upkeep
from workers.builtin.kubernetes.inventory import Connect, connect, place, read_service
from workers.builtin.kubernetes.manifests import Percent, color_of, tag
from workers.builtin.kubernetes.rollout import Live, image_of
from workers.builtin.kubernetes.sentences import DeployData, Move, previous, record, remembered
from workers.builtin.kubernetes.strategies import CHOICES, Deploy, Strategy
from workers.builtin.kubernetes.upkeep import ChangeData, StatusData
from workers.builtin.shared.cluster import packages

HEALTHY: dict[str, tuple[Check, ...]] = {"service_healthy": (check("ready", "eq", True),)}
TARGET = "service:{environment}/{service}"
# A version becomes the tag of an image, and a tag has no "+".
Version = Annotated[str, Field(pattern=r"^v?[0-9]+(\.[0-9]+){0,3}([-.][0-9A-Za-z.-]+)?$", max_length=64)]
Environment = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=63)]


class StatusParams(Params):
    service: Annotated[str, Named("services")]
    environment: Environment = "production"


def without_default(schema: dict[str, Any]) -> None:
    """A share that nobody asked for would read oddly in a plan beside strategies that have none."""
    del schema["default"]


class DeployParams(StatusParams):
    """`canary_percent` is the canary's share of the traffic; without it the inventory's shares are taken."""

    version: Version
    strategy: Strategy = "rolling"
    canary_percent: Percent | None = Field(default=None, json_schema_extra=without_default)


class RollbackParams(StatusParams):
    to_version: Literal["previous"] | Version = "previous"


class ScaleParams(StatusParams):
    replicas: int = Field(ge=1, le=1000)


class K8sDeployer(Worker):
    """Deploys services to Kubernetes, rolling, blue-green or canary, and takes them back."""

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
        target=TARGET,
        undo="rollback_service",
        criteria=HEALTHY,
        says="*Deploy* {service} [{was} → ]*{version}* on {environment}[, {strategy:blue_green=blue-green}]",
        leaves="{service} is {version} on {environment}",
    )
    def deploy_service(self, params: DeployParams, ctx: Context) -> Report[DeployData]:
        """Bring a version of a service live, rolling, blue-green or by a canary."""
        deploy = self._deploy(params, ctx)
        return self._move(deploy, params, ctx, deploy.read()).run()

    @deploy_service.before
    def note_previous(self, params: DeployParams, ctx: Context) -> dict[str, Any]:
        """What serves before this deploy; after a half-done attempt, what served before that one."""
        return record(self._deploy(params, ctx).read(), ctx.key)

    @deploy_service.probe
    def find_out(self, params: DeployParams, ctx: Context) -> Report[DeployData] | Verdict:
        """A report if all is done; `did_not_run` if running again with this key is right."""
        deploy = self._deploy(params, ctx)
        try:
            live = deploy.read()
            part = live.made_by(ctx.key)
            if part is None:
                untouched = ctx.previous in ({}, record(live, ctx.key))  # {}: it ended before it began
                return Verdict.did_not_run if untouched else Verdict.cannot_tell
            if tag(image_of(live.deployments[part])) != params.version:
                return Verdict.cannot_tell
            if not deploy.finished(live, color_of(part)):
                return Verdict.did_not_run
            return self._move(deploy, params, ctx, live).done()
        except (Permanent, Transient):
            return Verdict.cannot_tell

    @deploy_service.preview
    def preview_deploy(self, params: DeployParams, ctx: Context) -> Preview:
        """A dry run, and what it would change."""
        deploy = self._allowed(params, ctx)
        live = deploy.read()
        return dry_run.move(self._move(deploy, params, ctx, live), live)

    @action(
        changes=True,
        repeat="safe",
        timeout=600,
        typical=30,
        target=TARGET,
        criteria=HEALTHY,
        says="*Roll back* {service} to *{to_version:previous=the version before}* on {environment}",
        leaves="{service} is on {to_version:previous=the version before} again on {environment}",
    )
    def rollback_service(self, params: RollbackParams, ctx: Context) -> Report[DeployData]:
        """Return a service to the version it had before, or to a named one."""
        deploy = self._deploy(params, ctx)
        live = deploy.read()
        back = self._back(deploy, params, ctx, live)
        if back.deploy.image and not back.stays(live):
            back.deploy.end_canaries(live)
            return back.run()
        return back.stand_down(live)

    @rollback_service.preview
    def preview_rollback(self, params: RollbackParams, ctx: Context) -> Preview:
        """A dry run; only a few words as long as nobody knows what `previous` will be."""
        deploy = self._allowed(params, ctx)
        live = deploy.read()
        if params.to_version == "previous" and "version" not in ctx.previous:
            return dry_run.unknown_previous(params.service, params.environment, live)
        return dry_run.move(self._back(deploy, params, ctx, live), live)

    @action(
        changes=True,
        repeat="safe",
        timeout=600,
        typical=30,
        target=TARGET,
        undo="rollback_service",
        criteria=HEALTHY,
        says="*Scale* {service} [from {was} ]to *{replicas} pods* on {environment}",
        leaves="{service} has {replicas} pods on {environment}",
    )
    def scale(self, params: ScaleParams, ctx: Context) -> Report[ChangeData]:
        """Set how many pods of a service serve."""
        return upkeep.scale(self._deploy(params, ctx), params.environment, params.replicas, ctx)

    @scale.before
    def note_size(self, params: ScaleParams, ctx: Context) -> dict[str, Any]:
        """What `rollback_service` returns to: the version, and the size."""
        live = self._deploy(params, ctx).read()
        return {**record(live, ctx.key), "replicas": live.size}

    @scale.preview
    def preview_scale(self, params: ScaleParams, ctx: Context) -> Preview:
        """The number of pods now and then."""
        return dry_run.scale(self._allowed(params, ctx), params.environment, params.replicas)

    @action(
        changes=True,
        repeat="safe",
        timeout=600,
        typical=60,
        target=TARGET,
        criteria=HEALTHY,
        says="*Restart* {service} on {environment}",
        leaves="{service} was restarted on {environment}",
    )
    def restart(self, params: StatusParams, ctx: Context) -> Report[ChangeData]:
        """Replace the pods of a service one after the other, at the same version."""
        return upkeep.restart(self._deploy(params, ctx), params.environment, ctx)

    @restart.preview
    def preview_restart(self, params: StatusParams, ctx: Context) -> Preview:
        """A dry run of the same pods once more."""
        return dry_run.restart(self._allowed(params, ctx), params.environment)

    @action(
        changes=False,
        repeat="safe",
        timeout=60,
        typical=2,
        says="*Look at* {service} on {environment}",
        planning=True,
    )
    def rollout_status(self, params: StatusParams, ctx: Context) -> Report[StatusData]:
        """Say which version of a service is live and how many of its pods are ready."""
        return upkeep.status(self._deploy(params, ctx), params.environment)

    def _move(self, deploy: Deploy, params: DeployParams, ctx: Context, live: Live) -> Move:
        """A deploy with everything settled that it depends on."""
        part = live.made_by(ctx.key)
        # Without stable pods beside it, a canary would be all there is.
        alone = params.strategy == "canary" and live.active is None
        strategy: Strategy = "rolling" if alone else params.strategy
        shares = (params.canary_percent,) if params.canary_percent else deploy.entry.canary_percent
        deploy = replace(
            deploy,
            image=deploy.settle(params.version, live),
            shares=shares if strategy == "canary" else (),
        )
        color = color_of(part) if part else CHOICES[strategy](live)
        return Move(deploy, params.environment, strategy, color, previous(live, ctx.key), ctx.scratch)

    def _back(self, deploy: Deploy, params: RollbackParams, ctx: Context, live: Live) -> Move:
        """The way back; its deploy has no image when there was nothing before."""
        version, known = remembered(params.service, params.to_version, ctx.previous)
        image = deploy.settle(version, live, known) if version else ""
        deploy = replace(deploy, image=image, size=int(ctx.previous.get("replicas") or 0), back=True)
        part = live.made_by(ctx.key)
        color = color_of(part) if part else strategies.way_back(live, image)
        strategy: Strategy = "rolling" if color == live.active else "blue_green"
        return Move(deploy, params.environment, strategy, color, previous(live, ctx.key), ctx.scratch)

    def packages(self) -> Iterator[str]:
        return packages(self.inventory)

    def needs(self) -> Iterator[tuple[str, Callable[[], object]]]:
        """Each namespace that a service of the inventory lives in, with all rights that a change needs."""
        seen: set[tuple[str, str]] = set()
        for name, raw in self.inventory.get("services", {}).items():
            entry = read_service(name, raw)
            home = self.entry("clusters", entry.cluster)
            for environment in home.get("namespaces") or {entry.environment: entry.namespace}:
                spot = (entry.cluster, place(name, environment, entry, home))
                if spot not in seen:
                    seen.add(spot)
                    yield f"cluster {spot[0]}, namespace {spot[1]}", partial(self._try, home, *spot)

    def _try(self, home: dict[str, Any], cluster: str, namespace: str) -> None:
        rights.demand(self.connect(cluster, home, namespace), namespace)

    def _allowed(self, params: StatusParams, ctx: Context) -> Deploy:
        """For a preview: refused where the change or its way back would be."""
        deploy = self._deploy(params, ctx)
        rights.demand(deploy.cluster, deploy.namespace)
        return deploy

    def _deploy(self, params: StatusParams, ctx: Context) -> Deploy:
        entry = read_service(params.service, self.entry("services", params.service))
        home = self.entry("clusters", entry.cluster)
        namespace = place(params.service, params.environment, entry, home)
        cluster = self.connect(entry.cluster, home, namespace)
        return Deploy(
            cluster,
            params.service,
            entry,
            namespace,
            self.pause,
            ctx.progress,
            ctx.cancelled,
            ctx.hold,
            key=ctx.key,
        )
