"""Figures of agents that draft: at work, landed, what went wrong and how it ended, the cost. Nothing moves.

An incident is a subtask of which an attempt did not end green in its first round. It was recovered if the
same subtask came to be green without a person, a person's if it ended otherwise; open ones are neither.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, select
from sqlmodel import col

from storage.board.agents import INTEGRATE
from storage.contract.states import StepState
from storage.database.tables import Attempt, Step


@dataclass(frozen=True)
class Tried:
    """One attempt of a step that drafts."""

    step: int
    state: str  # of its step
    outcome: str
    data: Mapping[str, Any]


@dataclass(frozen=True)
class Fleet:
    """Counts, each with what it is a part of."""

    running: int = 0
    subtasks: int = 0
    green: int = 0
    landed: int = 0
    attempts: int = 0
    usd: float = 0.0
    usd_lost: float = 0.0  # on subtasks that did not become green
    incidents: dict[str, dict[str, int]] = field(default_factory=dict)  # class → recovered, person, open

    @property
    def recovered(self) -> tuple[int, int]:
        """How many of how many incidents that have ended."""
        mended = sum(kind.get("recovered", 0) for kind in self.incidents.values())
        return mended, mended + sum(kind.get("person", 0) for kind in self.incidents.values())


def fleet(c: Connection) -> Fleet:
    """Read from the rows: what is at work, and what each attempt reported."""
    columns = (col(Step.id), col(Step.state), col(Attempt.outcome), col(Attempt.report))
    drafting = select(*columns).join_from(Attempt, Step, col(Attempt.step_id) == col(Step.id))
    rows = c.execute(drafting.where(col(Step.drafts).is_(True)).order_by(col(Step.id), col(Attempt.number)))
    tried = [Tried(r[0], str(r[1]), r[2], (r[3] or {}).get("data") or {}) for r in rows]
    landings = select(col(Step.report)).where(
        col(Step.worker) == INTEGRATE[0],
        col(Step.action) == INTEGRATE[1],
        col(Step.state) == StepState.succeeded,
    )
    landed = sum(int(((row[0] or {}).get("data") or {}).get("landed", 0)) for row in c.execute(landings))
    return counted(tried, landed)


def counted(tried: Iterable[Tried], landed: int) -> Fleet:
    """The figures of these attempts. Pure."""
    by_step: dict[int, list[Tried]] = {}
    for one in tried:
        by_step.setdefault(one.step, []).append(one)
    incidents: dict[str, Counter[str]] = {}
    for some in by_step.values():
        if kind := _incident(some):
            incidents.setdefault(kind, Counter())[_end(some[-1].state)] += 1
    lost = [some for some in by_step.values() if some[-1].state == StepState.failed]
    return Fleet(
        running=sum(some[-1].outcome == "" for some in by_step.values()), subtasks=len(by_step),
        green=sum(some[-1].state == StepState.succeeded for some in by_step.values()), landed=landed,
        attempts=sum(map(len, by_step.values())), usd=sum(map(_usd, by_step.values())),
        usd_lost=sum(map(_usd, lost)),
        incidents={kind: dict(ends) for kind, ends in sorted(incidents.items())},
    )  # fmt: skip


def _incident(tried: Iterable[Tried]) -> str:
    """The class of the first thing that went wrong, or ""."""
    for one in tried:
        if one.data.get("incident"):
            return str(one.data["incident"])
        if one.outcome not in {"", "succeed"}:
            return "process" if one.outcome in {"lost", "lose"} else "other"
    return ""


def _end(state: str) -> str:
    return {StepState.succeeded: "recovered", StepState.failed: "person"}.get(StepState(state), "open")


def _usd(tried: Iterable[Tried]) -> float:
    return sum(float(one.data.get("usd") or 0.0) for one in tried)
