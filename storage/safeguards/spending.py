"""What models cost: booked in the commit that learns of it, by the bot for its thinking and by reports."""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

from sqlalchemy import Connection, func, insert, select
from sqlmodel import col

from storage.database.tables import Spending
from storage.journal.events import Note
from storage.transaction import Ledger


class Billing(Ledger):
    """book, spent."""

    def book(self, plan_id: int, *, model: str, usd: float, tokens: dict[str, int]) -> None:
        """Remember what a call of the model cost, before anything else is done with its answer."""
        with self._write() as c:
            plan = self._touch(c, plan_id)
            note = self._book(c, plan_id, model, usd, tokens)
            self._journal(c, plan, note.verb, actor=note.actor, data=note.data)

    def spent(self, plan_id: int) -> tuple[float, float, float]:
        """USD for this plan, by its requester today, and by everybody today (the last 24 hours)."""
        today = col(Spending.at) > self.clock() - timedelta(days=1)
        with self._read() as c:
            user = self._plan(c, plan_id).requester
            wheres = ((col(Spending.plan_id) == plan_id,), (today, col(Spending.user) == user), (today,))
            sums = [select(func.coalesce(func.sum(col(Spending.usd)), 0.0)).where(*where) for where in wheres]
            plan, mine, all_ = (float(c.execute(query).scalar_one()) for query in sums)
            return plan, mine, all_

    def _bill(self, c: Connection, reports: Iterable[tuple[int, Mapping[str, Any]]]) -> list[Note]:
        """What workers say that their models cost counts for the budgets of their plans."""
        costly = [(id_, data) for id_, data in reports if _usd(data) > 0]
        return [self._book(c, id_, str(data.get("model", ""))[:100], _usd(data), {}) for id_, data in costly]

    def _book(self, c: Connection, plan_id: int, model: str, usd: float, tokens: Mapping[str, int]) -> Note:
        user = self._plan(c, plan_id).requester
        row = {"plan_id": plan_id, "user": user, "model": model, "usd": usd, "at": self.clock()}
        c.execute(insert(Spending).values(**row))
        return Note(plan_id, "book", model, {"usd": round(usd, 6), **tokens})


def _usd(data: Mapping[str, Any]) -> float:
    found = data.get("usd")
    return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else 0.0
