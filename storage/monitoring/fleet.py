"""Figures of agents that draft: at work, landed, what went wrong and how it ended, the cost. Nothing moves.

An incident is a subtask of which an attempt did not end green in its first round. It was recovered if the
same subtask came to be green without a person, a person's if it ended otherwise; open ones are neither.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any

from sqlalchemy import Connection, String, bindparam, select
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
    plan: int = 0


@dataclass(frozen=True)
class Batch:
    """One merge batch that has ended: what landed by it, how many it left out, how often the suite ran."""

    plan: int
    titles: tuple[str, ...]
    left: int = 0
    runs: int = 0

    @property
    def result(self) -> str:
        if not self.titles:
            return "nothing"
        return "partly" if self.left else "whole"


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
    landed_usd: dict[str, float] = field(default_factory=dict)  # p50 and p90 of one that landed
    batches: dict[str, int] = field(default_factory=dict)  # of the merge queue: whole, partly, nothing
    suite_runs: int = 0  # that these took

    @property
    def recovered(self) -> tuple[int, int]:
        """How many of how many incidents that have ended."""
        mended = sum(kind.get("recovered", 0) for kind in self.incidents.values())
        return mended, mended + sum(kind.get("person", 0) for kind in self.incidents.values())


def fleet(c: Connection) -> Fleet:
    """Read from the rows: what is at work, and what each attempt reported."""
    columns = (col(Step.id), col(Step.state), col(Attempt.outcome), col(Attempt.report), col(Step.plan_id))
    drafting = select(*columns).join_from(Attempt, Step, col(Attempt.step_id) == col(Step.id))
    rows = c.execute(drafting.where(col(Step.drafts).is_(True)).order_by(col(Step.id), col(Attempt.number)))
    tried = [Tried(r[0], str(r[1]), r[2], (r[3] or {}).get("data") or {}, r[4]) for r in rows]
    # Said, not bound: a plan that is made once for any action would read every step.
    worker, action = (bindparam(None, name, String, literal_execute=True) for name in INTEGRATE)
    mine = (col(Step.worker) == worker, col(Step.action) == action)
    ended = col(Step.state).in_((StepState.succeeded, StepState.failed))
    told = c.execute(select(col(Step.plan_id), col(Step.state), col(Step.report)).where(*mine, ended))
    found = [(row[0], str(row[1]), (row[2] or {}).get("data") or {}) for row in told]
    landed = sum(int(data.get("landed", 0)) for _, state, data in found if state == StepState.succeeded)
    return counted(tried, landed, [_batch(plan, data) for plan, _, data in found if data])


def counted(tried: Iterable[Tried], landed: int, batches: Sequence[Batch] = ()) -> Fleet:
    """The figures of these attempts. Pure."""
    tried = [*tried]
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
        landed_usd=_shares(_each(tried, batches)), suite_runs=sum(one.runs for one in batches),
        batches=dict(sorted(Counter(one.result for one in batches).items())),
    )  # fmt: skip


def _batch(plan: int, data: Mapping[str, Any]) -> Batch:
    runs = int(data.get("suite_runs") or 0)
    return Batch(plan, tuple(map(str, data.get("titles") or ())), len(data.get("left") or ()), runs)


def _each(tried: Iterable[Tried], batches: Iterable[Batch]) -> list[float]:
    """What each change that landed has cost, with every attempt at it; what was cut smaller is in none."""
    cost: dict[tuple[int, str], float] = {}
    for one in tried:
        key = (one.plan, str(one.data.get("title", "")))
        cost[key] = cost.get(key, 0.0) + float(one.data.get("usd") or 0.0)
    landed = {(batch.plan, title) for batch in batches for title in batch.titles}
    return sorted(cost.get(each, 0.0) for each in landed)


def _shares(costs: Sequence[float]) -> dict[str, float]:
    """By nearest rank."""
    ranks = {"p50": 0.5, "p90": 0.9}
    return {name: costs[ceil(part * len(costs)) - 1] for name, part in ranks.items()} if costs else {}


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
