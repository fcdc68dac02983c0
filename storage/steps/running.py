"""What a running attempt may do to its step. The attempt number fences every write."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from sqlalchemy import ColumnElement, select, update
from sqlmodel import col

from storage.contract.states import BUSY, StepState
from storage.database.tables import Plan, Step
from storage.memory import Memory
from storage.settling.frames import CURRENT
from storage.steps.claims import Claim


def start(memory: Memory, claim: Claim, previous: Mapping[str, Any]) -> None:
    """Record what an undo must return to, before the effect: what was shown had not moved until now."""
    with memory.write() as t:
        t.execute(update(Step).where(*_fence(claim)).values(previous=dict(previous), basis=""))


def holds(memory: Memory, claim: Claim) -> bool:
    """Whether this attempt still runs its step: asked once more, right before an effect."""
    running = (*_fence(claim), col(Step.state) == StepState.running)
    with memory.read() as t:
        return bool(t.execute(select(col(Step.id)).where(*running)).first())


def renew(memory: Memory, owner: str, lease: timedelta) -> set[tuple[int, int]]:
    """Hold on to what this owner runs: the steps and attempts that are still its own, and wanted."""
    mine = (col(Step.owner) == owner, col(Step.state).in_(BUSY))
    held = select(col(Step.id), col(Step.attempt))
    wanted = held.join(Plan, CURRENT).where(*mine, col(Plan.cancelled_by) == "")
    with memory.write() as t:
        t.execute(update(Step).where(*mine).values(lease_until=memory.clock() + lease))
        return {(row.id, row.attempt) for row in t.execute(wanted)}


def advance(memory: Memory, claim: Claim, progress: str) -> None:
    """How far a running attempt is. Shown on the card; no journal event, for nothing has moved."""
    with memory.write() as t:
        plan = t.touch(claim.plan_id)
        t.execute(update(Step).where(*_fence(claim)).values(progress=memory.redact.text(progress)[:200]))
        t.want_cards({claim.plan_id: plan.version}, ())


def _fence(claim: Claim) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return col(Step.id) == claim.step_id, col(Step.attempt) == claim.attempt
