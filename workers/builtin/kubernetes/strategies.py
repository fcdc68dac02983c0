"""How a service gets to a version: the colour, its pods, a look at them, then the traffic.

No step number is remembered: every run reads the cluster and does only what is missing, so that a run which
died anywhere is finished by running it again with the same key.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from workers.base import Permanent, Transient
from workers.builtin.kubernetes import images, manifests, rollout, smoke
from workers.builtin.kubernetes.manifests import (
    ADOPTED,
    CANARIES,
    COLORS,
    KEY,
    PREVIOUS,
    Color,
    Part,
    labels,
    other,
    tag,
)
from workers.builtin.kubernetes.rollout import Live, image_of, note
from workers.builtin.kubernetes.watch import Stuck, Watch
from workers.builtin.shared import deployments
from workers.builtin.shared.cluster import Manifest

Strategy = Literal["rolling", "blue_green", "canary"]
OUTAGES = (1.0, 2.0, 4.0)  # seconds to wait before each further try


def rolling(live: Live) -> Color:
    return live.active or "blue"


def blue_green(live: Live) -> Color:
    return other(live.active) if live.active else "blue"


CHOICES: dict[Strategy, Callable[[Live], Color]] = {
    "rolling": rolling,
    "blue_green": blue_green,
    "canary": rolling,
}


def way_back(live: Live, image: str) -> Color:
    """The colour that still has this image, be it serving or idle; else the one that serves."""
    held = [color for color in COLORS if color in live.deployments and runs(live.deployments[color], image)]
    return rolling(live) if live.active in held or not held else held[0]


def runs(found: Manifest, image: str) -> bool:
    """Is this its image? A tag without a digest stands for any digest."""
    return image in (image_of(found), image_of(found).partition("@")[0])


def canary_size(percent: int, stable: int) -> int:
    """How many pods beside the stable ones get about this share of the traffic; never none."""
    return max(1, math.ceil(percent * stable / (100 - percent)))


@dataclass(frozen=True)
class Deploy(Watch):
    """One service on its way to one image. `size` is exact; without it a deploy never shrinks a service."""

    image: str = ""
    key: str = ""
    size: int = 0
    shares: tuple[int, ...] = ()  # of traffic for a canary, one after the other; none for no canary
    back: bool = False

    def wanted(self, live: Live) -> int:
        return self.size or max(self.entry.replicas, live.size)

    def settle(self, version: str, live: Live, known: str = "") -> str:
        """The image of a version: what this key rolls out already, or is known, or a registry says."""
        part = live.made_by(self.key)
        held = image_of(live.deployments[part]) if part else ""
        found = next((image for image in (held, known) if tag(image) == version), "")
        if found:
            return found
        image, unpinned = images.image(self.entry, version)
        if unpinned:
            self.say(f"{image} is not pinned to a digest: {unpinned}")
        return image

    def manifest(self, part: Part, live: Live, previous: str) -> Manifest:
        idle = live.deployments.get(part)
        # Going back, a colour that still has the image is taken as it is: that is what ran.
        source = idle if self.back and idle and runs(idle, self.image) else live.serving
        base = source["spec"]["template"] if source else None
        adopted = live.plain["metadata"].get("uid", "") if live.plain else note(idle, ADOPTED) if idle else ""
        notes = {KEY: self.key, PREVIOUS: previous, **({ADOPTED: adopted} if adopted else {})}
        return manifests.deployment(self.service, part, self.entry, self.image, notes, base)

    def go(self, color: Color, previous: str) -> None:
        """All the way, again after an outage: what is done already is found done."""
        for wait in OUTAGES:
            try:
                return self.onto(color, self.read(), previous)
            except Transient as outage:
                self.say(str(outage))
                self.pause(wait)
        return self.onto(color, self.read(), previous)

    def onto(self, color: Color, live: Live, previous: str) -> None:
        """Bring the image up on this colour, give it all traffic, and retire everything else."""
        size = self.wanted(live)
        self.try_out(color, size, live, previous)
        self.bring_up(color, size, live, previous)
        if live.active != color:
            self.check_answers(color, size)
        self.turn(live, color)
        self.poll(lambda: self.astray(color, size, trial=True))
        self.retire(color)
        self.poll(lambda: self.astray(color, size))
        if live.active == color:
            self.check_answers(color, size)

    def try_out(self, color: Color, size: int, live: Live, previous: str) -> None:
        """A growing canary beside the stable pods; not again once the stable ones have begun to follow."""
        stable = live.deployments.get(color)
        if live.active != color or stable is None or note(stable, KEY) == self.key:
            return
        part = CANARIES[color]
        reached = live.replicas(part) if live.made_by(self.key) == part else 0
        for share in self.shares:
            if (pods := canary_size(share, size)) >= reached:
                self.bring_up(part, pods, live, previous)
                self.watch_trial(part, pods, size)

    def watch_trial(self, part: Part, pods: int, stable: int) -> None:
        self.poll(lambda: self.unreached(part, pods, self.service))
        self.bake(part, f"canary {pods} of {pods + stable} pods")
        self.check_answers(part, pods)

    def bake(self, part: Part, text: str) -> None:
        """Let the canary work for a while; one that falls over meanwhile is Stuck."""
        for second in range(self.entry.canary_seconds):
            self.check_may_go_on(text)
            self.say(f"{text}, {self.entry.canary_seconds - second} s to go")
            self.pause(1.0)
            self.poll(lambda: self.unready(part))

    def check_answers(self, part: Part, size: int) -> None:
        """Ask the new pods over HTTP, through a Service of their own; without a smoke_url nobody asks."""
        if not self.entry.smoke_url:
            return
        name = f"{self.service}-preview"
        self.cluster.apply(manifests.address(name, labels(self.service, part), self.entry))
        self.poll(lambda: self.unreached(part, size, name))
        self.check_may_go_on("before the smoke check")
        fault = smoke.smoke(self.service, self.entry, self.namespace, self.pause, self.cancelled)
        if fault:
            raise Stuck(f"The smoke check of {tag(self.image)} failed: {fault}")
        self.say("smoke check passed")

    def bring_up(self, part: Part, size: int, live: Live, previous: str) -> None:
        self.check_may_go_on("before the new pods")
        self.hold()
        if self.cluster.apply(self.manifest(part, live, previous))["spec"].get("replicas") != size:
            self.cluster.scale(f"{self.service}-{part}", size)
        self.poll(lambda: self.unready(part))

    def turn(self, live: Live, color: Color) -> None:
        """Traffic moves in one step, and only from where it was when this run began."""
        self.check_may_go_on("before the switch")
        self.hold()
        own = labels(self.service, color)
        if live.address is None:
            self.cluster.apply(manifests.address(self.service, own, self.entry))
        elif live.active != color:
            old = live.address["spec"]["selector"]
            try:
                self.cluster.patch("Service", self.service, manifests.switch(old, {**old, **own}))
            except Permanent as refusal:
                self.explain(refusal, old)

    def explain(self, refusal: Permanent, expected: dict[str, str]) -> None:
        found = ((self.cluster.get("Service", self.service) or {}).get("spec") or {}).get("selector") or {}
        if found == expected:
            raise refusal
        chosen = ", ".join(f"{name}={value}" for name, value in sorted(found.items())) or "nothing"
        raise Permanent(
            f"Somebody else moved the traffic of {self.service} to {found.get('color', chosen)} meanwhile."
        ) from refusal

    def retire(self, color: Color) -> None:
        """What no longer serves goes last, and late if so configured: nodes learn late of a switch."""
        old = self.leftovers(self.read(), color)
        if other(color) in old or "" in old:
            for _ in range(self.entry.keep_old_seconds):
                self.check_may_go_on(f"all traffic is on {color}, the old pods are still kept")
                self.pause(1.0)
        for part in old:
            self.check_may_go_on(f"all traffic is on {color}, {part or self.service} still has its pods")
            self.cluster.scale(f"{self.service}-{part}".rstrip("-"), 0)

    def leftovers(self, live: Live, color: Color) -> list[str]:
        """Parts besides this colour that have pods; the empty name is the Deployment that was adopted."""
        adopted = note(live.deployments[color], ADOPTED) if color in live.deployments else ""
        found = self.cluster.get("Deployment", self.service) if adopted else None
        plain = [""] if found and found["metadata"].get("uid") == adopted and rollout.replicas(found) else []
        return [part for part in live.deployments if part != color and live.replicas(part)] + plain

    def end_canaries(self, live: Live) -> None:
        """Going back, the pods that are on trial go first."""
        for part in CANARIES.values():
            if live.replicas(part):
                self.cluster.scale(f"{self.service}-{part}", 0)

    def abandon(self, color: Color) -> str:
        """Stop what is ours and does not serve; what became of it, as a clause to add."""
        live = self.read()
        if live.made_by(self.key) not in (color, CANARIES[color]):
            return ""
        if live.active != color:
            self.cluster.scale(f"{self.service}-{color}", 0)
            return f"; {color} is scaled to 0"
        on_trial = live.made_by(self.key) == CANARIES[color]
        self.end_canaries(live)
        if on_trial:
            return "; the canary is scaled to 0"
        return f"; {color} stays on {tag(self.image)} until it is rolled back"

    def finished(self, live: Live, color: Color) -> bool:
        """Is nothing of this deploy left to do?"""
        return (
            live.active == color
            and deployments.progress(live.deployments[color]).state == "done"
            and live.replicas(color) >= self.entry.replicas
            and not self.leftovers(live, color)
            and self.astray(color, self.entry.replicas) is None
        )
