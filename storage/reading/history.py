"""The journal, read: what happened to a plan, or to none, oldest first."""

from sqlmodel import col

from storage.database.tables import Event, System
from storage.memory import Memory


def events(memory: Memory, plan_id: int) -> list[Event]:
    """The plan's journal, oldest first; plan 0 is what belongs to no plan."""
    with memory.read() as t:
        return t.rows(Event, col(Event.plan_id) == plan_id, order=col(Event.seq))


def journal(memory: Memory) -> list[Event]:
    """What happened to all plans, plan by plan."""
    with memory.read() as t:
        found = t.rows(Event, col(Event.plan_id) > 0)
    return sorted(found, key=lambda event: (event.plan_id, event.seq))


def head(memory: Memory, plan_id: int) -> tuple[int, str]:
    """How many events the plan's journal must have, and the hash of the last."""
    with memory.read() as t:
        chain = t.plan(plan_id) if plan_id else t.rows(System)[0]
        return chain.events, chain.head


def event(memory: Memory, plan_id: int, seq: int) -> Event | None:
    with memory.read() as t:
        return next(iter(t.rows(Event, col(Event.plan_id) == plan_id, col(Event.seq) == seq)), None)
