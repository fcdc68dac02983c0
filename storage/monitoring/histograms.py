"""Distributions for a monitor: how long actions take, how long people take to approve, what ended trouble."""

import time
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, func, select
from sqlmodel import col

from storage.contract.states import StepState
from storage.database.statements import table
from storage.database.tables import RUNG, Step, Story

TOOK = (1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 1800.0, 3600.0, 14400.0)
WAITED = (15.0, 60.0, 300.0, 900.0, 3600.0, 14400.0, 28800.0, 86400.0)
RUNGS = ("retry", "alternative", "simplify", "probe", "person", "nobody")
KEPT = 60.0  # seconds for which they are the same: a monitor asks more often than they change


@dataclass(frozen=True)
class Histogram:
    """Counts of values up to each bound, by labels."""

    name: str
    meaning: str
    bounds: Sequence[float]
    values: Mapping[tuple[tuple[str, str], ...], Sequence[float]]

    def lines(self) -> Iterator[str]:
        yield f"# HELP {self.name} {self.meaning}"
        yield f"# TYPE {self.name} histogram"
        for labels, values in self.values.items():
            yield from self._of(labels, values)

    def _of(self, labels: tuple[tuple[str, str], ...], values: Sequence[float]) -> Iterator[str]:
        counts = [0] * (len(self.bounds) + 1)
        for value in values:
            counts[bisect_left(self.bounds, value)] += 1
        so_far = 0
        for bound, count in zip([*map("{:g}".format, self.bounds), "+Inf"], counts, strict=True):
            so_far += count
            yield f"{self.name}_bucket{said((*labels, ('le', bound)))} {so_far}"
        yield f"{self.name}_sum{said(labels)} {sum(values):.10g}"
        yield f"{self.name}_count{said(labels)} {len(values)}"


def said(labels: Iterable[tuple[str, str]]) -> str:
    told = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels)
    return f"{{{told}}}" if told else ""


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def durations(c: Connection) -> Histogram:
    """Of every action's successful steps."""
    step = table(Step).c
    query = select(step.worker, step.action, step.started_at, step.ended_at)
    found: dict[tuple[tuple[str, str], ...], list[float]] = {}
    for worker, action, start, end in c.execute(query.where(step.state == StepState.succeeded)):
        if start and end:
            key = (("worker", worker), ("action", action))
            found.setdefault(key, []).append((end - start).total_seconds())
    meaning = "How long steps ran that succeeded, in their last attempt."
    return Histogram("signoff_step_duration_seconds", meaning, TOOK, found)


def waits(c: Connection) -> Histogram:
    query = select(col(Story.waited)).where(col(Story.waited).is_not(None))
    values: list[Any] = [*c.execute(query).scalars()]
    meaning = "From the proposal to the first approval by a person, of plans that have ended."
    return Histogram("signoff_approval_wait_seconds", meaning, WAITED, {(): values})


def rungs(c: Connection) -> dict[str, float]:
    """Ended plans with a failure on the way, by what ended their trouble."""
    query = select(col(Story.rung), func.count()).where(RUNG).group_by(col(Story.rung))
    return dict.fromkeys(RUNGS, 0.0) | {rung: float(count) for rung, count in c.execute(query)}


@dataclass
class Kept:
    """The text of them, made once a minute."""

    at: float = -KEPT
    text: str = ""
    clock: Any = field(default=time.monotonic)

    def get(self, c: Connection) -> str:
        if self.clock() - self.at >= KEPT:
            made = [*durations(c).lines(), *waits(c).lines()]
            self.at, self.text = self.clock(), "".join(f"{line}\n" for line in made)
        return self.text
