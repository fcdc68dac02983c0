"""One service on one cluster, looked at: what is there, and waiting until what should be is."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from workers.base import Permanent, Redactor, Transient
from workers.builtin.kubernetes import adoption, rollout
from workers.builtin.kubernetes.manifests import CANARIES, PARTS, TRACK, Color, Part, ServiceEntry, labels
from workers.builtin.kubernetes.rollout import Live
from workers.builtin.shared import deployments
from workers.builtin.shared.cluster import Cluster, Manifest
from workers.builtin.shared.deployments import Trouble
from workers.commands.output import plain

GRACE = 30.0  # beyond the cluster's own deadline, for the controllers to say so
EVERY = 0.5
LINES, QUOTED = 100, 3


class Stuck(Permanent):
    """The new pods do not come to serve. `log` holds the last lines of one that does not."""

    def __init__(self, message: str, log: str = "") -> None:
        super().__init__(message)
        self.log = log


class Stopped(Permanent):
    """This run may not go on: cancelled, out of time, or no longer the owner of its step."""


@dataclass(frozen=True)
class Watch:
    """What looking at a service needs."""

    cluster: Cluster
    service: str
    entry: ServiceEntry
    namespace: str
    pause: Callable[[float], None] = time.sleep
    say: Callable[[str], None] = lambda text: None
    cancelled: Callable[[], bool] = lambda: False
    hold: Callable[[], None] = lambda: None  # before a change: ends an attempt that lost its step

    def read(self) -> Live:
        """Everything of this service; refused with a sentence where it is not ours."""
        found = {part: self.cluster.get("Deployment", f"{self.service}-{part}") for part in PARTS}
        ours = {part: one for part, one in found.items() if one is not None}
        for part, one in ours.items():
            adoption.check_ours(self.service, part, one)
        address = self.cluster.get("Service", self.service)
        if address is None or rollout.color_in(address):
            return Live(address, ours, self.cluster.find("Pod", {"app": self.service}))
        behind = self.cluster.get("Deployment", self.service)
        plain = adoption.check_adoptable(self.service, self.entry, address, behind)
        return Live(address, ours, self.cluster.find("Pod", address["spec"]["selector"]), plain)

    def poll(self, missing: Callable[[], str | None]) -> None:
        """Look until nothing is missing. A cluster that is away for a moment is waited for."""
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
            self.pause(EVERY)

    def check_patience(self, end: float, text: str, outage: Transient | None) -> None:
        self.check_may_go_on(text)
        if time.monotonic() > end:
            raise outage or Stuck(f"Not done in time: {text}")

    def check_may_go_on(self, where: str) -> None:
        if self.cancelled():
            raise Stopped(f"Stopped: cancelled or out of time ({where})")

    def unready(self, part: Part) -> str | None:
        """What the new pods still lack; Stuck when waiting will not help."""
        found = self.cluster.get("Deployment", f"{self.service}-{part}")
        if found is None:
            raise Stuck(f"Somebody deleted the Deployment {self.service}-{part}")
        state = deployments.progress(found)
        if state.state == "done":
            return None
        pods = self.newest_pods(found, part)
        if cause := deployments.trouble(pods):
            raise self.told(cause)
        if state.state == "failed":
            raise Stuck(state.text + deployments.unplaced(pods))
        return state.text

    def told(self, cause: Trouble) -> Stuck:
        """The cause with what the pod itself last said, where it said anything and we may read it."""
        try:
            printed = self.cluster.logs(cause.pod, cause.container, lines=LINES)
            log = Redactor().text(plain(printed.encode()))
        except (Permanent, Transient):
            log = ""
        last = [line.strip()[:200] for line in log.splitlines() if line.strip()][-QUOTED:]
        return Stuck(cause.text + (f", which last said: {' / '.join(last)}" if last else ""), log)

    def newest_pods(self, found: Manifest, part: Part) -> list[Manifest]:
        mark = deployments.newest(found, self.cluster.find("ReplicaSet", labels(self.service, part)))
        return (
            self.cluster.find("Pod", {**labels(self.service, part), deployments.HASH: mark}) if mark else []
        )

    def astray(self, color: Color, size: int, *, trial: bool = False) -> str | None:
        """Traffic that does not yet reach exactly the pods of this colour; its canary only during a trial."""
        own, reached = self.pods(color), self.reached()
        known = own | self.pods(CANARIES[color]) if trial else own
        if strangers := len(reached - known):
            return f"{strangers} old pods still get traffic"
        met = len(reached & own)
        return None if met >= size else f"{met} of {size} pods get traffic"

    def unreached(self, part: Part, size: int, name: str) -> str | None:
        """Pods of this part that the Service of that name does not yet reach."""
        met = len(self.reached(name) & self.pods(part))
        return None if met >= size else f"{met} of {size} new pods behind {name}"

    def pods(self, part: Part) -> set[str]:
        wanted = labels(self.service, part)
        found = self.cluster.find("Pod", wanted)
        return {
            one["metadata"]["name"]
            for one in found
            if (TRACK in wanted) == (TRACK in one["metadata"]["labels"])
        }

    def reached(self, name: str = "") -> set[str]:
        return rollout.behind(self.cluster.get("Endpoints", name or self.service))
