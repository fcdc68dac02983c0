"""What models cost: booked in the commit that learns of it."""

from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import insert

from storage.database.tables import Spending
from storage.journal.events import Note
from storage.transaction import Transaction


def bill(t: Transaction, reports: Iterable[tuple[int, Mapping[str, Any]]]) -> list[Note]:
    """What workers say that their models cost counts for the budgets of their plans."""
    costly = [(id_, data) for id_, data in reports if _usd(data) > 0]
    return [book_cost(t, id_, str(data.get("model", ""))[:100], _usd(data), {}) for id_, data in costly]


def book_cost(t: Transaction, plan_id: int, model: str, usd: float, tokens: Mapping[str, int]) -> Note:
    user = t.plan(plan_id).requester
    row = {"plan_id": plan_id, "user": user, "model": model, "usd": usd, "at": t.clock()}
    t.execute(insert(Spending).values(**row))
    return Note(plan_id, "book", model, {"usd": round(usd, 6), **tokens})


def _usd(data: Mapping[str, Any]) -> float:
    found = data.get("usd")
    return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else 0.0
