"""What thinking costs: set aside before a call is made, booked when it is known, summed up for budgets."""

from datetime import timedelta

from sqlalchemy import ColumnElement, Select, case, delete, func, insert, select, update
from sqlmodel import col

from storage.database.tables import SetAside, Spending, System
from storage.errors import Conflict
from storage.memory import Memory
from storage.transaction import Transaction

Usd = tuple[float, float, float]  # for one plan, for one person, for everybody


class NoRoom(Conflict):
    """What is booked and what others have set aside reach a budget already; nothing was written."""


def set_aside(memory: Memory, plan_id: int, *, usd: float, limits: Usd, lasts: timedelta) -> int:
    """Keep what a thought may cost from being spent by others; a number to book and release it by.

    NoRoom while a budget is reached by what is booked and set aside together. It lapses by itself, in case
    its process dies. Look and row are one commit, made by one at a time in all processes.
    """
    with memory.write() as t:
        t.execute(select(col(System.id)).with_for_update())  # on SQLite there is one writer anyhow
        user, now = t.plan(plan_id).requester, memory.clock()
        used, kept = _used_and_kept(t, plan_id, user)
        if any(spent + aside >= limit for spent, aside, limit in zip(used, kept, limits, strict=True)):
            raise NoRoom("The model's budget is set aside by other calls; please try again.")
        t.execute(delete(SetAside).where(col(SetAside.until) <= now))
        row = insert(SetAside).values(plan_id=plan_id, user=user, usd=usd, until=now + lasts)
        return int(t.execute(row.returning(col(SetAside.id))).scalar_one())


def release(memory: Memory, number: int) -> None:
    """The thought is over: what it did not need is there for others."""
    with memory.write() as t:
        t.execute(delete(SetAside).where(col(SetAside.id) == number))


def book(
    memory: Memory,
    plan_id: int,
    *,
    model: str,
    usd: float,
    tokens: dict[str, int],
    prompt: str = "",
    aside: int = 0,
) -> None:
    """Remember what a call of the model cost, before anything else is done with its answer.

    `prompt` is the version of what it was told. It takes the place of what was set `aside` for it.
    """
    left = case((col(SetAside.usd) > usd, col(SetAside.usd) - usd), else_=0.0)
    with memory.write() as t:
        plan = t.touch(plan_id)
        note = t.book(plan_id, model, usd, tokens)
        t.execute(update(SetAside).where(col(SetAside.id) == aside).values(usd=left))
        told = {**note.data} | ({"prompt": prompt} if prompt else {})
        t.journal(plan, note.verb, actor=note.actor, data=told)


def spent(memory: Memory, plan_id: int) -> Usd:
    """USD for this plan, by its requester today, and by everybody today (the last 24 hours)."""
    with memory.read() as t:
        return _used_and_kept(t, plan_id, t.plan(plan_id).requester)[0]


def _used_and_kept(t: Transaction, plan_id: int, user: str) -> tuple[Usd, Usd]:
    """What is booked, and what is set aside besides; of one moment, since what is booked comes from there.

    For its own plan nothing is: whoever thinks about a plan has it alone, and what one that died over it
    has left shall not keep the next one from it.
    """
    now = t.clock()
    today, lasts = col(Spending.at) > now - timedelta(days=1), col(SetAside.until) > now
    queries = [
        _usd(Spending, col(Spending.plan_id) == plan_id),
        _usd(Spending, today, col(Spending.user) == user),
        _usd(Spending, today),
        _usd(SetAside, lasts, col(SetAside.user) == user),
        _usd(SetAside, lasts),
    ]
    found = t.execute(select(*(query.scalar_subquery() for query in queries))).one()
    plan, mine, everybodys, my_aside, all_aside = map(float, found)
    return (plan, mine, everybodys), (0.0, my_aside, all_aside)


def _usd(model: type[Spending] | type[SetAside], *where: ColumnElement[bool]) -> Select[float]:
    return select(func.coalesce(func.sum(col(model.usd)), 0.0)).where(*where)
