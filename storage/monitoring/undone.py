"""Work that nobody does: what waits for longer than it takes, though somebody should be at it."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Select, func, select
from sqlmodel import col

from storage.contract.states import PlanState
from storage.database.statements import table
from storage.database.tables import Capability, Delivery, Event, Message, Plan
from storage.exchange.deliveries import THOUGHT
from storage.memory import Memory

HEARD = timedelta(seconds=60)  # what somebody did waits for so long at most, and who they are is asked in it
PLANNED = timedelta(minutes=5)  # a wish, also behind others that a model thinks about
CHANGED = timedelta(minutes=15)
SHOWN = timedelta(minutes=2)  # a question, a decision, an end, an answer
TOLD = timedelta(minutes=15)  # everything else


def undone(memory: Memory) -> list[str]:
    """A sentence for each kind of work that waits for too long."""
    now = memory.clock()
    with memory.read() as t:
        found = [(said, t.execute(query).one()) for said, query in _looks(now)]
    return [
        f"{said}: {count}, the oldest for {(now - oldest).total_seconds():.0f} s"
        for said, (count, oldest) in found
        if count
    ]


def _looks(now: datetime) -> Iterator[tuple[str, Select[Any]]]:
    heard, at = col(Delivery.kind) != THOUGHT, col(Delivery.received_at)
    waits = col(Delivery.handled_at).is_(None)
    yield "nobody handles what people did", _counted(at, waits, heard, at < now - HEARD)
    yield "nobody thinks about what people want changed", _counted(at, waits, ~heard, at < now - CHANGED)
    newest = (col(Event.plan_id) == col(Plan.id), col(Event.seq) == col(Plan.events))
    wish = (
        col(Plan.state) == PlanState.planning,
        col(Plan.form) == "",
        select(table(Capability).c.worker).exists(),
    )
    yield (
        "nobody plans what was asked for",
        _counted(col(Event.at), *newest, *wish, col(Event.at) < now - PLANNED),
    )
    stale, since = col(Message.wanted) > col(Message.shown), col(Message.not_before)
    new = (stale, col(Message.tries) == 0)
    yield (
        "nobody shows what people wait for",
        _counted(since, *new, col(Message.urgent).is_(True), since < now - SHOWN),
    )
    yield "nobody tells how plans go", _counted(since, *new, since < now - TOLD)


def _counted(at: Any, *where: ColumnElement[bool]) -> Select[Any]:
    return select(func.count(), func.min(at)).where(*where)
