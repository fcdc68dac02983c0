"""How a service gets to a version. A strategy is the choice of a colour; the way is the same for all.

No step number is remembered: every run reads the cluster and does only what is missing, so that a run which
died anywhere is finished by running it again with the same key.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from workers.base import Permanent, Transient
from workers.builtin import rollout
from workers.builtin.cluster import Cluster, Manifest
from workers.builtin.rollout import COLORS, KEY, PREVIOUS, Color, Live, ServiceEntry, labels, other

OUTAGES = (1.0, 2.0, 4.0)  # seconds to wait before each further try
GRACE = 30.0  # beyond the cluster's own deadline, for the controllers to say so


class Stuck(Permanent):
    """The new pods do not come to serve."""


class Stopped(Permanent):
    """This run may not go on: cancelled, out of time, or no longer the owner of its step."""


def rolling(live: Live) -> Color:
    return live.active or "blue"


def blue_green(live: Live) -> Color:
    return other(live.active) if live.active else "blue"


def way_back(live: Live, version: str) -> Color:
    """The colour that still has this version, be it serving or idle; else the one that serves."""
    held = [color for color, found in live.deployments.items() if rollout.version(found) == version]
    return rolling(live) if live.active in held or not held else held[0]


@dataclass(frozen=True)
class Deploy:
    """One service on its way to one version."""

    cluster: Cluster
    service: str
    entry: ServiceEntry
    version: str
    key: str
    pause: Callable[[float], None] = time.sleep
    say: Callable[[str], None] = lambda text: None
    cancelled: Callable[[], bool] = lambda: False

    def read(self) -> Live:
        found = {color: self.cluster.get("Deployment", f"{self.service}-{color}") for color in COLORS}
        live = {color: one for color, one in found.items() if one is not None}
        pods = self.cluster.find("Pod", {"app": self.service})
        return Live(self.cluster.get("Service", self.service), live, pods)

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
        """Bring the version up on this colour, give it all traffic, and retire the other colour."""
        size = max(self.entry.replicas, live.replicas(live.active))  # a deploy never shrinks a service
        self.bring_up(color, size, previous)
        self.turn(live, color)
        self.poll(lambda: self.astray(color, size))
        self.retire(other(color))

    def bring_up(self, color: Color, size: int, previous: str) -> None:
        self.may_go_on("before the new pods")
        notes = {KEY: self.key, PREVIOUS: previous}
        manifest = rollout.deployment(self.service, color, self.entry, self.version, notes)
        if self.cluster.apply(manifest)["spec"].get("replicas") != size:
            self.cluster.scale(f"{self.service}-{color}", size)
        self.poll(lambda: self.unready(color))

    def turn(self, live: Live, color: Color) -> None:
        """Traffic moves in one step, and only from where it was when this run began."""
        self.may_go_on("before the switch")
        if live.active is None:
            self.cluster.apply(rollout.address(self.service, color, self.entry))
        elif live.active != color:
            try:
                self.cluster.patch("Service", self.service, rollout.switch(live.active, color))
            except Permanent as refusal:
                self.explain(refusal, live.active)

    def explain(self, refusal: Permanent, expected: Color) -> None:
        found = self.read().active
        if found == expected:
            raise refusal
        raise Permanent(
            f"Somebody else moved the traffic of {self.service} to {found} meanwhile."
        ) from refusal

    def retire(self, color: Color) -> None:
        """The old colour goes last, and late if so configured: nodes learn of a switch with a delay."""
        if not self.read().replicas(color):
            return
        for _ in range(self.entry.keep_old_seconds):
            self.pause(1.0)
        self.may_go_on(f"all traffic is on {other(color)}, {color} still has its pods")
        self.cluster.scale(f"{self.service}-{color}", 0)

    def abandon(self, color: Color) -> str:
        """Stop a colour of ours that does not serve; what became of it, as a clause to add."""
        live = self.read()
        if live.made_by(self.key) != color:
            return ""
        if live.active == color:
            return f"; {color} keeps trying {self.version} until it is rolled back"
        self.cluster.scale(f"{self.service}-{color}", 0)
        return f"; {color} is scaled to 0"

    def poll(self, missing: Callable[[], str | None]) -> None:
        """Look once a second until nothing is missing. A cluster that is away for a moment is waited for."""
        end = time.monotonic() + self.entry.progress_deadline + GRACE
        said = ""
        while True:
            outage: Transient | None = None
            try:
                text = missing()
            except Transient as error:
                outage, text = error, str(error)
            if text is None:
                return
            self.check_patience(end, text, outage)
            if text != said:
                self.say(text)
            said = text
            self.pause(1.0)

    def check_patience(self, end: float, text: str, outage: Transient | None) -> None:
        self.may_go_on(text)
        if time.monotonic() > end:
            raise outage or Stuck(f"Not done in time: {text}")

    def may_go_on(self, where: str) -> None:
        if self.cancelled():
            raise Stopped(f"Stopped: cancelled or out of time ({where})")

    def unready(self, color: Color) -> str | None:
        """What the new pods still lack; Stuck when waiting will not help."""
        found = self.cluster.get("Deployment", f"{self.service}-{color}")
        if found is None:
            raise Stuck(f"Somebody deleted the Deployment {self.service}-{color}")
        state = rollout.progress(found)
        if state.state == "done":
            return None
        pods = self.newest_pods(found, color)
        cause = rollout.trouble(pods)
        if cause or state.state == "failed":
            raise Stuck(cause or state.text + rollout.unplaced(pods))
        return state.text

    def newest_pods(self, found: Manifest, color: Color) -> list[Manifest]:
        mark = rollout.newest(found, self.cluster.find("ReplicaSet", labels(self.service, color)))
        return self.cluster.find("Pod", {**labels(self.service, color), rollout.HASH: mark}) if mark else []

    def astray(self, color: Color, size: int) -> str | None:
        """Traffic that does not yet reach exactly the new pods."""
        own = {pod["metadata"]["name"] for pod in self.cluster.find("Pod", labels(self.service, color))}
        reached = self.reached()
        if strangers := len(reached - own):
            return f"{strangers} old pods still get traffic"
        return None if len(reached) >= size else f"{len(reached)} of {size} pods get traffic"

    def reached(self) -> set[str]:
        return rollout.behind(self.cluster.get("Endpoints", self.service))

    def finished(self, live: Live, color: Color) -> bool:
        """Is nothing of this deploy left to do?"""
        found = live.deployments[color]
        return (
            live.active == color
            and rollout.progress(found).state == "done"
            and live.replicas(color) >= self.entry.replicas
            and not live.replicas(other(color))
            and self.astray(color, self.entry.replicas) is None
        )
