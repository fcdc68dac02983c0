"""What listeners elsewhere are told: the journal, in its order, each event until it was taken."""

from collections.abc import Collection
from datetime import datetime, timedelta

from sqlalchemy import delete, func, insert, select
from sqlmodel import col

from storage.database.tables import Event, Telling
from storage.memory import Memory

SETTLED = timedelta(seconds=5)  # numbers are given before a commit: what is younger may have gaps
BATCH = 20


def how_far(memory: Memory, sink: str, team: str) -> Telling:
    """Where a listener stands; a new one begins with what happens from now on."""
    with memory.read() as t:
        found = t.rows(Telling, col(Telling.sink) == sink)
    if found:
        return found[0]
    with memory.write() as t:
        newest = t.execute(select(func.coalesce(func.max(col(Event.id)), 0))).scalar_one()
        row = Telling(sink=sink, team=team, event_id=newest, not_before=t.clock())
        t.execute(insert(Telling).values(**row.model_dump()))
        return row


def untold(memory: Memory, after: int, verbs: Collection[str]) -> list[Event]:
    """What it has not heard yet, of plans, oldest first."""
    old = col(Event.at) <= memory.clock() - SETTLED
    wanted = (col(Event.id) > after, col(Event.plan_id) > 0, col(Event.verb).in_(verbs), old)
    with memory.read() as t:
        return t.rows(Event, *wanted, order=col(Event.id), limit=BATCH)


def heard(memory: Memory, one: Telling, event_id: int, *, problem: str = "") -> None:
    """It has taken this one; or, with a problem, it never will, and the next is told."""
    fresh = {"tries": 0, "since": None, "not_before": memory.clock(), "problem": problem}
    _replace(memory, one.model_copy(update=fresh | {"event_id": event_id}))


def unheard(memory: Memory, one: Telling, *, problem: str, again_at: datetime) -> None:
    since = one.since or memory.clock()
    more = {"tries": one.tries + 1, "problem": problem, "not_before": again_at, "since": since}
    _replace(memory, one.model_copy(update=more))


def tellings(memory: Memory) -> list[Telling]:
    with memory.read() as t:
        return t.rows(Telling, order=col(Telling.sink))


def _replace(memory: Memory, row: Telling) -> None:
    with memory.write() as t:
        t.execute(delete(Telling).where(col(Telling.sink) == row.sink))
        t.execute(insert(Telling).values(**row.model_dump()))
