"""Agents: attempts of steps that draft, as they stand and as they went lately. Nothing moves here."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import and_, or_, select
from sqlmodel import col

from storage.board.spans import Action
from storage.contract.states import StepState
from storage.database.tables import Attempt, Plan, Step
from storage.memory import Memory

INTEGRATE = ("code", "integrate")
LATELY = 2000  # steps of one action that are looked at: the newest


@dataclass(frozen=True)
class Agent:
    """One attempt; `number` 0 is a step that waits for its turn."""

    plan: int
    step: int
    key: str
    state: str  # of its step
    owner: str = ""
    progress: str = ""
    overran: bool = False
    number: int = 0
    outcome: str = ""
    started_at: datetime | None = None
    ended_at: datetime | None = None
    data: dict[str, Any] = field(default_factory=dict)

    @property
    def works(self) -> bool:
        return self.number > 0 and self.ended_at is None and self.state == StepState.running

    @property
    def waits(self) -> bool:
        return self.state == StepState.pending

    @property
    def usd(self) -> float:
        return float(self.data.get("usd") or 0.0)


def agents(memory: Memory, actions: Iterable[Action], since: datetime) -> list[Agent]:
    """What drafts now, waits to, or did so since then; by these actions. Oldest first."""
    with memory.read() as t:
        found = [row for action in sorted({*actions}) for row in t.execute(_steps(action, since))]
        attempts = t.rows(Attempt, col(Attempt.step_id).in_([row.id for row in found]), order=Attempt.number)
    tries: dict[int, list[Attempt]] = {}
    for one in attempts:
        tries.setdefault(one.step_id, []).append(one)
    return [made for row in sorted(found, key=lambda row: row.id) for made in _of(row, tries.get(row.id, ()))]


def landings(memory: Memory, since: datetime) -> list[tuple[int, int]]:
    """How many drafts were integrated, each time with the plan."""
    mine = (col(Step.worker) == INTEGRATE[0], col(Step.action) == INTEGRATE[1], col(Step.ended_at) >= since)
    query = select(col(Step.plan_id), col(Step.report)).where(*mine, col(Step.state) == StepState.succeeded)
    with memory.read() as t:
        rows = t.execute(query.order_by(col(Step.id).desc()).limit(LATELY)).all()
    return [(plan, int(((report or {}).get("data") or {}).get("landed", 0))) for plan, report in rows]


def most_at_once(found: Iterable[Agent], now: datetime) -> list[tuple[datetime, int]]:
    """How many worked, from each moment at which that changed."""
    moves: dict[datetime, int] = {}
    for one in found:
        if one.started_at:
            moves[one.started_at] = moves.get(one.started_at, 0) + 1
            end = one.ended_at or (None if one.works else one.started_at)
            if end and end <= now:
                moves[end] = moves.get(end, 0) - 1
    at_work, told = 0, []
    for at in sorted(moves):
        at_work += moves[at]
        told.append((at, at_work))
    return told


def _steps(action: Action, since: datetime) -> Any:
    """Steps of the current revision of a plan; those of earlier ones wait for nothing any more."""
    worker, name = action
    own = (Step.id, Step.plan_id, Step.key, Step.state, Step.owner, Step.progress, Step.overran)
    current = and_(col(Plan.id) == col(Step.plan_id), col(Plan.private).is_(False))
    open_ = col(Step.state).in_((StepState.pending, StepState.running, StepState.unknown))
    now = open_ & (col(Plan.revision) == col(Step.revision)) & (col(Plan.state) != "done")
    query = select(*map(col, own)).join(Plan, current)
    mine = (col(Step.worker) == worker, col(Step.action) == name)
    return (
        query.where(*mine, or_(now, col(Step.ended_at) >= since)).order_by(col(Step.id).desc()).limit(LATELY)
    )


def _of(row: Any, tries: Sequence[Attempt]) -> list[Agent]:
    own = (row.plan_id, row.id, row.key, str(row.state), row.owner, row.progress, row.overran)
    made = [
        Agent(
            *own, one.number, one.outcome, one.started_at, one.ended_at, (one.report or {}).get("data") or {}
        )
        for one in tries
    ]
    return made if made and row.state != StepState.pending else [*made, Agent(*own)]
