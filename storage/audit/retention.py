"""Forgets old events without breaking their chains: what is removed stays known by its last hash."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, delete, func, select
from sqlmodel import col

from storage.audit.export import last_checkpoint
from storage.audit.verify import Heads, check
from storage.contract.spec import utc
from storage.contract.states import OPEN
from storage.database.tables import Event, Plan
from storage.errors import Conflict
from storage.safeguards.stops import Stops
from storage.transaction import rows

BATCH = 500  # chains that one event of the system tells of


class Retention(Stops):
    """exported, prune."""

    def exported(self, form: str, *, actor: str) -> None:
        """Put on record who takes the journal out; the export holds that, too."""
        with self._write() as c:
            self._journal_system(c, "export", actor=actor, data={"format": form})

    def prune(self, before: datetime, *, export: Path, anchored: Path, actor: str) -> int:
        """Remove the events of plans that ended before that; only what a good export holds. How many went."""
        saved, gone = self._saved(export, anchored), 0
        while plans := self._old(before, saved):
            with self._write() as c:
                data: Any = {"before": utc(before), "chains": [self._remove(c, plan) for plan in plans]}
                self._journal_system(c, "prune", actor=actor, data=data)
                gone += sum(last - first + 1 for _, first, last, _ in data["chains"])
        return gone

    def _saved(self, export: Path, anchored: Path) -> Heads:
        """What the export holds, once it has been checked."""
        known = last_checkpoint(anchored)
        if known is None:
            raise Conflict(f"There is no checkpoint in {anchored}; make one, export the journal, then prune.")
        with export.open("rb") as lines:
            verdict = check(lines, known.heads)
        if verdict.problems:
            raise Conflict(f"{export} is no good copy of the journal, so nothing was removed.\n{verdict}")
        return verdict.heads

    def _old(self, before: datetime, saved: Heads) -> Sequence[Plan]:
        with self._read() as c:
            newest = (
                select(func.max(col(Event.at))).where(col(Event.plan_id) == col(Plan.id)).scalar_subquery()
            )
            old = rows(c, Plan, col(Plan.state).not_in(OPEN), newest < before, order=col(Plan.id))
        return [plan for plan in old if saved.get(plan.id or 0) == (plan.events, plan.head)][:BATCH]

    def _remove(self, c: Connection, found: Plan) -> tuple[int, int, int, str]:
        """Remove one chain's events; its plan, the first and last seq that went, and the last hash."""
        plan = self._touch(c, found.id or 0)
        mine = col(Event.plan_id) == plan.id
        first = c.execute(select(func.min(col(Event.seq))).where(mine)).scalar_one()
        c.execute(delete(Event).where(mine, col(Event.seq) <= found.events))
        return plan.id or 0, int(first or 0), found.events, found.head
