"""Forgets without breaking a chain: of old events the last hash stays, of old plans their whole journal."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import delete, exists, func, select, update
from sqlmodel import col

from storage.audit.export import last_checkpoint
from storage.audit.verify import Heads, check
from storage.contract.spec import utc
from storage.contract.states import OPEN
from storage.database.tables import (
    Approval,
    Attempt,
    Event,
    Message,
    Override,
    Plan,
    Preview,
    Revision,
    Spending,
    Step,
)
from storage.errors import Conflict
from storage.memory import Memory
from storage.transaction import Transaction

BATCH = 500  # chains that one event of the system tells of
FORGOTTEN = "(removed by retention; the journal tells it)"


def exported(memory: Memory, form: str, *, actor: str) -> None:
    """Put on record who takes the journal out; the export holds that, too."""
    with memory.write() as t:
        t.journal_system("export", actor=actor, data={"format": form})


def forget(memory: Memory, before: datetime, *, actor: str) -> int:
    """Remove the rows of plans that ended before that; their journal and its head stay. How many."""
    gone = 0
    while plans := _ended(memory, before):
        with memory.write() as t:
            for plan_id in plans:
                _strip(t, plan_id)
            t.execute(delete(Spending).where(col(Spending.at) < before))
            t.journal_system("forget", actor=actor, data={"before": utc(before), "plans": plans})
        gone += len(plans)
    return gone


def _ended(memory: Memory, before: datetime) -> list[int]:
    """Finished, told in Slack as far as it goes, and with no glass that still waits for a review."""
    events = select(func.max(col(Event.at))).where(col(Event.plan_id) == col(Plan.id)).scalar_subquery()
    open_glass = exists().where(col(Override.plan_id) == col(Plan.id), col(Override.reviewed_by) == "")
    old = func.coalesce(events, col(Plan.created_at)) < before
    query = select(col(Plan.id)).where(
        col(Plan.state).not_in(OPEN), col(Plan.text) != FORGOTTEN, old, ~open_glass
    )
    with memory.read() as t:
        return [*t.execute(query.order_by(col(Plan.id)).limit(BATCH)).scalars()]


def _strip(t: Transaction, plan_id: int) -> None:
    """What is left of a plan is who asked where, how it ended, and the head of its journal."""
    t.touch(plan_id)
    steps = select(col(Step.id)).where(col(Step.plan_id) == plan_id)
    t.execute(delete(Attempt).where(col(Attempt.step_id).in_(steps)))
    for table in (Step, Preview, Approval, Override, Revision, Message):
        t.execute(delete(table).where(col(table.plan_id) == plan_id))
    bare = {"text": FORGOTTEN, "revision": 0, "form": "", "given": "", "reason": "", "look": 0}
    t.execute(update(Plan).where(col(Plan.id) == plan_id).values(**bare))


def prune(memory: Memory, before: datetime, *, export: Path, anchored: Path, actor: str) -> int:
    """Remove the events of plans that ended before that; only what a good export holds. How many went."""
    saved, gone = _saved(export, anchored), 0
    while plans := _old(memory, before, saved):
        with memory.write() as t:
            data: Any = {"before": utc(before), "chains": [_remove(t, plan) for plan in plans]}
            t.journal_system("prune", actor=actor, data=data)
            gone += sum(last - first + 1 for _, first, last, _ in data["chains"])
    return gone


def _saved(export: Path, anchored: Path) -> Heads:
    """What the export holds, once it has been checked."""
    known = last_checkpoint(anchored)
    if known is None:
        raise Conflict(f"There is no checkpoint in {anchored}; make one, export the journal, then prune.")
    with export.open("rb") as lines:
        verdict = check(lines, known.heads)
    if verdict.problems:
        raise Conflict(f"{export} is no good copy of the journal, so nothing was removed.\n{verdict}")
    return verdict.heads


def _old(memory: Memory, before: datetime, saved: Heads) -> Sequence[Plan]:
    with memory.read() as t:
        newest = select(func.max(col(Event.at))).where(col(Event.plan_id) == col(Plan.id)).scalar_subquery()
        old = t.rows(Plan, col(Plan.state).not_in(OPEN), newest < before, order=col(Plan.id))
    return [plan for plan in old if saved.get(plan.id) == (plan.events, plan.head)][:BATCH]


def _remove(t: Transaction, found: Plan) -> tuple[int, int, int, str]:
    """Remove one chain's events; its plan, the first and last seq that went, and the last hash."""
    plan = t.touch(found.id)
    mine = col(Event.plan_id) == plan.id
    first = t.execute(select(func.min(col(Event.seq))).where(mine)).scalar_one()
    t.execute(delete(Event).where(mine, col(Event.seq) <= found.events))
    return plan.id, int(first or 0), found.events, found.head
