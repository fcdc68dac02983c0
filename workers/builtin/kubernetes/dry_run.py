"""What a change would do, by a dry run on the cluster: what it would refuse in earnest, it refuses here."""

from pydantic import JsonValue

from workers.base import Preview
from workers.builtin.kubernetes import manifests, upkeep
from workers.builtin.kubernetes.diffs import autoscaled, basis, difference
from workers.builtin.kubernetes.manifests import CANARIES, labels, other, tag
from workers.builtin.kubernetes.rollout import Live, image_of
from workers.builtin.kubernetes.sentences import WORDS, Move
from workers.builtin.kubernetes.strategies import Deploy, canary_size


def move(move: Move, live: Live) -> Preview:
    """The Deployment that would change, the switch if there is one, and the way from here to there."""
    deploy, color = move.deploy, move.color
    if not deploy.image or move.stays(live):
        text = f"{deploy.service} on {move.environment}: everything that Signoff runs of it is scaled to 0"
        return Preview(text, surroundings(deploy, live))
    ours = deploy.manifest(color, live, move.previous)
    made = deploy.cluster.apply(ours, dry_run=True)
    if deploy.shares and live.active == color:
        deploy.cluster.apply(deploy.manifest(CANARIES[color], live, move.previous), dry_run=True)
    if live.address and live.active != color:
        old = live.address["spec"]["selector"]
        moved = manifests.switch(old, {**old, **labels(deploy.service, color)})
        deploy.cluster.patch("Service", deploy.service, moved, dry_run=True)
    found = live.deployments.get(color)
    lines = [
        headline(move, live),
        way(move, live),
        *difference("Deployment", found, made, ours),
        asked(deploy),
    ]
    return Preview("\n".join(lines), {"deployment": basis(found, made, ours), **surroundings(deploy, live)})


def headline(move: Move, live: Live) -> str:
    size = move.deploy.wanted(live)
    where = f"on {move.environment} (namespace {move.deploy.namespace})"
    pods = f"{size} pods of {move.deploy.image}"
    return f"{move.deploy.service} {move.step()} {where}, {WORDS[move.strategy]}, {pods}"


def way(move: Move, live: Live) -> str:
    """How it gets there, in a sentence."""
    color, service = move.color, move.deploy.service
    if live.plain:
        return (
            f"Takes over from the Deployment {service}, which others made: {color} comes up beside it, both "
            f"answer until the Service is switched, then {service} is scaled to 0."
        )
    if live.active is None:
        return f"Nothing serves yet: {color} comes up, then the Service is made."
    if live.active != color:
        old = other(color)
        return f"{color} comes up beside {old} and takes all traffic in one switch; {old} is scaled to 0."
    if move.deploy.shares:
        return f"{trials(move.deploy, live)}; then {color} replaces its pods one after the other."
    return f"{color} replaces its pods one after the other; none goes before a new one is ready."


def trials(deploy: Deploy, live: Live) -> str:
    size = deploy.wanted(live)
    pods = [canary_size(share, size) for share in deploy.shares]
    steps = ", then ".join(f"{n} ({round(100 * n / (n + size))} % of the traffic)" for n in pods)
    return f"A canary of {steps} beside {size} pods, {deploy.entry.canary_seconds} s each"


def asked(deploy: Deploy) -> str:
    if not deploy.entry.smoke_url:
        return "No smoke check is configured; readiness decides."
    return f"Smoke check: {deploy.entry.smoke_url}"


def surroundings(deploy: Deploy, live: Live) -> dict[str, JsonValue]:
    """Where traffic goes now, to which image, and how many pods there are unless the cluster decides that."""
    serving = live.serving
    return {
        "selector": live.address["spec"].get("selector") if live.address else None,
        "serving": image_of(serving) if serving else "",
        "size": deploy.wanted(live) if serving is None or not autoscaled(serving) else None,
        "shares": list(deploy.shares),
    }


def unknown_previous(service: str, environment: str, live: Live) -> Preview:
    now = f"now {live.version} serves" if live.version else "now nothing serves"
    return Preview(
        f"{service} on {environment} returns to what served before the step that this undoes; {now}"
    )


def scale(deploy: Deploy, environment: str, size: int) -> Preview:
    live = deploy.read()
    color, found = upkeep.ours(deploy, live)
    deploy.cluster.scale(f"{deploy.service}-{color}", size, dry_run=True)
    text = f"{deploy.service} {live.size} → {size} pods on {environment}, {tag(image_of(found))} on {color}"
    if autoscaled(found):
        text += "\nAn autoscaler sets the number of pods and may change it again."
    return Preview(text, {"color": color, "now": live.size, "then": size, "image": image_of(found)})


def restart(deploy: Deploy, environment: str) -> Preview:
    live = deploy.read()
    color, found = upkeep.ours(deploy, live)
    ours = upkeep.restarted(deploy, color, found)
    made = deploy.cluster.apply(ours, dry_run=True)
    text = (
        f"{deploy.service} {tag(image_of(found))} on {environment}: {live.size} pods of {color} are replaced "
        "one after the other; none goes before a new one is ready"
    )
    lines = [text, *difference("Deployment", found, made, ours)]
    return Preview("\n".join(lines), {"deployment": basis(found, made, ours), "color": color})
