"""Forgets old events without breaking their chains: what is removed stays known by its last hash."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import delete, func, select
from sqlmodel import col

from storage.audit.export import last_checkpoint
from storage.audit.verify import Heads, check
from storage.contract.spec import utc
from storage.contract.states import OPEN
from storage.database.tables import Event, Plan
from storage.errors import Conflict
from storage.memory import Memory
from storage.transaction import Transaction

BATCH = 500  # chains that one event of the system tells of


def exported(memory: Memory, form: str, *, actor: str) -> None:
    """Put on record who takes the journal out; the export holds that, too."""
    with memory.write() as t:
        t.journal_system("export", actor=actor, data={"format": form})


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
