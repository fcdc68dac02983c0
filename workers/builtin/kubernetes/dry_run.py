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
        return Preview(text, surroundings(deploy, live), ("!scaled to 0",), live.version)
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
    rests = {"deployment": basis(found, made, ours), **surroundings(deploy, live)}
    return Preview("\n".join(lines), rests, verdicts(deploy, live), live.version)


def verdicts(deploy: Deploy, live: Live) -> tuple[str, ...]:
    """What the card says of it. The cluster has tried it on: what it would refuse never gets here."""
    over = ("!takes over from others",) if live.plain else ()
    same = live.serving is not None and image_of(live.serving) == deploy.image
    again = (f"!{live.version} runs there already",) if same else ()
    return (*again, f"{deploy.wanted(live)} pods change", *over)


def headline(move: Move, live: Live) -> str:
    size = move.deploy.wanted(live)
    where = f"on {move.environment} (namespace {move.deploy.namespace})"
    pods = f"{size} pods of {move.deploy.image}"
    return f"{move.deploy.service} {move.step()} {where}, {WORDS[move.strategy]}, {pods}"


def way(move: Move, live: Live) -> str:
    """How it gets there, in a sentence."""
    color, service = move.color, move.deploy.service
    if live.plain and move.strategy == "blue_green":
        return (
            f"This first time traffic cannot move by the switch alone: the Service {service}, which others "
            f"made, chooses the pods of {color}, too, so both answer from when these are ready until the "
            f"switch; then the Deployment {service} is scaled to 0. Later deploys move by the switch alone."
        )
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
        f"{service} on {environment} returns to what served before the step that this undoes; {now}",
        was=live.version,
    )


def scale(deploy: Deploy, environment: str, size: int) -> Preview:
    live = deploy.read()
    color, found = upkeep.ours(deploy, live)
    deploy.cluster.scale(f"{deploy.service}-{color}", size, dry_run=True)
    text = f"{deploy.service} {live.size} → {size} pods on {environment}, {tag(image_of(found))} on {color}"
    if autoscaled(found):
        text += "\nAn autoscaler sets the number of pods and may change it again."
    found_ = ("!an autoscaler may change it again",) if autoscaled(found) else ("the cluster accepts it",)
    rests: JsonValue = {"color": color, "now": live.size, "then": size, "image": image_of(found)}
    return Preview(text, rests, found_, str(live.size))


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
    rests: JsonValue = {"deployment": basis(found, made, ours), "color": color}
    return Preview("\n".join(lines), rests, (f"{live.size} pods, one after the other",))
