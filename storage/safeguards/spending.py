"""What thinking costs: booked by the bot, and summed up for its budgets."""

from datetime import timedelta

from sqlalchemy import func, select
from sqlmodel import col

from storage.database.tables import Spending
from storage.memory import Memory


def book(
    memory: Memory, plan_id: int, *, model: str, usd: float, tokens: dict[str, int], prompt: str = ""
) -> None:
    """Remember what a call of the model cost, before anything else is done with its answer.

    `prompt` is the version of what it was told.
    """
    with memory.write() as t:
        plan = t.touch(plan_id)
        note = t.book(plan_id, model, usd, tokens)
        told = {**note.data} | ({"prompt": prompt} if prompt else {})
        t.journal(plan, note.verb, actor=note.actor, data=told)


def spent(memory: Memory, plan_id: int) -> tuple[float, float, float]:
    """USD for this plan, by its requester today, and by everybody today (the last 24 hours)."""
    today = col(Spending.at) > memory.clock() - timedelta(days=1)
    with memory.read() as t:
        user = t.plan(plan_id).requester
        wheres = ((col(Spending.plan_id) == plan_id,), (today, col(Spending.user) == user), (today,))
        sums = [select(func.coalesce(func.sum(col(Spending.usd)), 0.0)).where(*where) for where in wheres]
        plan, mine, all_ = (float(t.execute(query).scalar_one()) for query in sums)
        return plan, mine, all_
