"""What is done to a service at the version it has: say how it is, change its size, restart it."""

import time

from pydantic import BaseModel

from workers.base import Context, Permanent, Report
from workers.builtin.kubernetes import manifests
from workers.builtin.kubernetes.manifests import ADOPTED, KEY, PREVIOUS, RESTARTED, Color
from workers.builtin.kubernetes.rollout import Live, image_of, note
from workers.builtin.kubernetes.sentences import kept_log
from workers.builtin.kubernetes.strategies import Deploy
from workers.builtin.shared import deployments
from workers.builtin.shared.cluster import Manifest


class StatusData(BaseModel):
    service: str
    version: str
    color: str
    ready: bool
    replicas: int
    endpoints: int


class ChangeData(StatusData):
    previous_replicas: int
    seconds: float


def status(deploy: Deploy, environment: str) -> Report[StatusData]:
    live = deploy.read()
    data = StatusData(**seen(deploy, live))
    if live.serving is None:
        return Report.ok(f"{deploy.service} is not deployed on {environment}", data)
    state = deployments.progress(live.serving)
    rest = "" if state.state == "done" else f"; rollout {state.state}: {state.text}"
    trials = sum(live.replicas(part) for part in manifests.CANARIES.values())
    who = data.color or f"the Deployment {deploy.service}, made by others,"
    ready = f"{sum(live.ready().values())}/{data.replicas} ready"
    canary = f" beside a canary of {trials}" if trials else ""
    return Report.ok(
        f"{deploy.service} {data.version} on {environment}, {ready}, {who} serves{canary}{rest}", data
    )


def seen(deploy: Deploy, live: Live) -> dict[str, object]:
    found = live.serving
    well = found is not None and deployments.progress(found).state == "done" and live.size > 0
    return {
        "service": deploy.service,
        "version": live.version,
        "color": live.active or "",
        "ready": well,
        "replicas": live.size,
        "endpoints": len(deploy.reached()),
    }


def ours(deploy: Deploy, live: Live) -> tuple[Color, Manifest]:
    """The colour that serves and its Deployment."""
    if live.active is None or live.active not in live.deployments:
        what = "is served by a Deployment of others" if live.plain else "is not deployed"
        raise Permanent(f"{deploy.service} {what}; deploy a version of it first.")
    return live.active, live.deployments[live.active]


def scale(deploy: Deploy, environment: str, size: int, ctx: Context) -> Report[ChangeData]:
    began, live = time.monotonic(), deploy.read()
    color, _ = ours(deploy, live)
    old = int(ctx.previous.get("replicas") or live.size)
    try:
        if live.size != size:
            deploy.cluster.scale(f"{deploy.service}-{color}", size)
        settle(deploy, color, size)
    except Permanent as cause:
        return failed(cause, environment, changed(deploy, began, old), deploy, ctx)
    data = changed(deploy, began, old)
    counts = f"{old} → {size} pods" if old != size else f"stays at {size} pods"
    ready = f"{data.endpoints}/{data.replicas} ready"
    return Report.ok(f"{deploy.service} {counts} on {environment}, {ready}, {data.version} on {color}", data)


def restart(deploy: Deploy, environment: str, ctx: Context) -> Report[ChangeData]:
    began, live = time.monotonic(), deploy.read()
    color, found = ours(deploy, live)
    try:
        deploy.cluster.apply(restarted(deploy, color, found))
        settle(deploy, color, live.size)
    except Permanent as cause:
        return failed(cause, environment, changed(deploy, began, live.size), deploy, ctx)
    data = changed(deploy, began, live.size)
    ready = f"{data.endpoints}/{data.replicas} ready"
    return Report.ok(
        f"{deploy.service} {data.version} restarted on {environment}, {ready}, all pods new", data
    )


def restarted(deploy: Deploy, color: Color, found: Manifest) -> Manifest:
    """The same pods once more: their template carries the key, so that a second run changes nothing."""
    base = found["spec"]["template"]
    marked = {**base["metadata"].get("annotations", {}), RESTARTED: deploy.key}
    notes = {name: note(found, name) for name in (KEY, PREVIOUS, ADOPTED) if note(found, name)}
    base = {**base, "metadata": {**base["metadata"], "annotations": marked}}
    return manifests.deployment(deploy.service, color, deploy.entry, image_of(found), notes, base)


def settle(deploy: Deploy, color: Color, size: int) -> None:
    """Wait until the pods are there and traffic reaches exactly as many: none that is leaving counts."""
    deploy.poll(lambda: deploy.unready(color))
    deploy.poll(lambda: uneven(len(deploy.reached() & deploy.pods(color)), size))


def uneven(met: int, size: int) -> str | None:
    return None if met == size else f"{met} pods get traffic, {size} should"


def changed(deploy: Deploy, began: float, old: int) -> ChangeData:
    took = round(time.monotonic() - began, 1)
    return ChangeData(**seen(deploy, deploy.read()), previous_replicas=old, seconds=took)


def failed(
    cause: Permanent, environment: str, data: ChangeData, deploy: Deploy, ctx: Context
) -> Report[ChangeData]:
    summary = f"{str(cause).rstrip('.')}. On {environment} {deploy.read().state()}."
    return Report.failed(summary, data, artifacts=kept_log(cause, ctx.scratch))
