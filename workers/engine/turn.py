"""One turn of the workers: recover what was lost, look at what is unknown, take what is due."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock

from storage.errors import Conflict, Unavailable
from storage.steps.claims import Ending, Taker
from workers.engine.attempt import LEASE, Attempts, Running

logger = logging.getLogger(__name__)


@dataclass
class Crew:
    """The attempts under way in this process, and how many more it may take."""

    size: int
    running: dict[tuple[int, int], Running] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)
    own: Mapping[str, int] = field(default_factory=dict)  # workers that have slots of their own, and how many
    split: list[tuple[str, Taker]] = field(default_factory=list)  # made once: a taker remembers its hashes

    @property
    def total(self) -> int:
        return self.size + sum(self.own.values())

    def free(self, worker: str = "") -> int:
        """Of this worker, if it has slots of its own; else of those that all others share."""
        kind = worker if worker in self.own else ""
        taken = sum(
            (one.claim.worker if one.claim.worker in self.own else "") == kind for one in self.members()
        )
        return (self.own[kind] if kind else self.size) - taken

    def takers(self, taker: Taker) -> list[tuple[str, Taker]]:
        """The taker once for the slots that are shared, and once for each worker that has its own."""
        if not self.split:
            self.split.append(("", taker if not self.own else _only(taker, self.own, "")))
            self.split.extend((kind, _only(taker, self.own, kind)) for kind in self.own)
        return self.split

    def add(self, started: list[Running]) -> list[Running]:
        with self.lock:
            self.running |= {(one.claim.step_id, one.claim.attempt): one for one in started}
        return started

    def leave(self, running: Running) -> None:
        with self.lock:
            self.running.pop((running.claim.step_id, running.claim.attempt), None)

    def holds(self, step_id: int) -> bool:
        return any(found == step_id for found, _ in list(self.running))

    def members(self) -> list[Running]:
        with self.lock:
            return [*self.running.values()]


def _only(taker: Taker, own: Mapping[str, int], kind: str) -> Taker:
    """The taker for one kind of slots: a worker's own, or "" for those that are shared."""
    some = {o: c for o, c in taker.contracts.items() if (o[0] if o[0] in own else "") == kind}
    return replace(taker, contracts=some)


def take_turn(
    attempts: Attempts, crew: Crew, endings: Sequence[Ending] = (), *, alone: bool
) -> list[Running]:
    """Everything that shall start now, once what has ended is on record."""
    return [*tend(attempts, crew, alone=alone), *claim(attempts, crew, endings)]


def tend(attempts: Attempts, crew: Crew, *, alone: bool) -> list[Running]:
    """What time brings: windows missed or overrun, lost steps. `alone`: nobody else can hold a step."""
    attempts.store.miss()
    attempts.store.overrun()
    recover(attempts, alone=alone)
    return look(attempts, crew, alone=alone)


def recover(attempts: Attempts, *, alone: bool) -> None:
    """Steps whose process is gone: back to waiting if repeat-safe, else unknown."""
    store, registry = attempts.store, attempts.registry
    for step in store.lapsed(owner=attempts.owner, alone=alone):
        offered = (step.worker, step.action) in registry.offers()
        probe = offered and "probe" in registry.action(step.worker, step.action)[1].hooks
        try:
            store.lose(step, actor=attempts.owner, probe=probe)
        except Conflict:
            logger.info("plan=%s step=%s was found by another process", step.plan_id, step.key)


def look(attempts: Attempts, crew: Crew, *, alone: bool) -> list[Running]:
    """Unknown steps that a probe may decide."""
    store = attempts.store
    ids = [i for i in store.to_look_at(owner=attempts.owner, alone=alone) if not crew.holds(i)]
    taken = [store.look(step_id, owner=attempts.owner, lease=LEASE) for step_id in ids[: crew.free()]]
    return crew.add([Running(found, probe=True) for found in taken if found])


def claim(attempts: Attempts, crew: Crew, endings: Sequence[Ending] = ()) -> list[Running]:
    """Due steps, never more than this process has room for: a crash must not leave thousands unknown."""
    started: list[Running] = []
    for kind, taker in crew.takers(attempts.taker):
        try:
            claims = attempts.store.turn(endings, taker, crew.free(kind))
        except Unavailable:
            if not started:
                raise
            break  # what was claimed is ours, and starts
        started += crew.add([Running(found) for found in claims])
        endings = ()
    return started


def heartbeat(attempts: Attempts, crew: Crew) -> None:
    """Renew every lease; an attempt that lost its own is told to stop."""
    members = crew.members()
    ours = {running.claim.step_id for running in members}
    held = attempts.store.renew(attempts.owner, LEASE, ours) if members else set()
    for running in members:
        if (running.claim.step_id, running.claim.attempt) not in held:
            running.lost.set()
