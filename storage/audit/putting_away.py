"""Puts away plans that have ended: their documents are packed where they lie, and no copy of one is kept.

Nothing is lost by that, and nothing reads otherwise: a view, an export and a checkpoint are the same as
before. So a plan is put away only if its journal holds before and after, in the transaction that does it; one
that was tampered with stays as it was found. An older release cannot read what was put away: while a process
of one is at work, nothing is.
"""

import json
import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, LargeBinary, column, delete, exists, func, null, select, update
from sqlalchemy import table as bare
from sqlmodel import SQLModel, col

from storage.config import RELEASE
from storage.contract.states import OPEN, StepState
from storage.database.packed import AsItLies, Raw, is_packed, laid, pack, plain
from storage.database.statements import table
from storage.database.tables import Attempt, Event, Message, Plan, Preview, Process, Revision, Step
from storage.errors import Conflict
from storage.journal.chain import ABOVE, broken_link
from storage.memory import Memory
from storage.transaction import Transaction

AWAY, LEFT = 1, -1
HASH = re.compile("[0-9a-f]{64}")
WELL = "succeed"  # how an attempt has ended that did what it should
BATCH = 20  # plans of one transaction: nobody waits long for it
AROUND = timedelta(hours=1)  # a process that was there so lately may still be


class Place(NamedTuple):
    """Where documents of plans lie: a column, and what names a row."""

    model: type[SQLModel]
    name: str
    keys: tuple[str, ...]


PLACES = (
    Place(Revision, "spec", ("plan_id", "number")),
    Place(Revision, "demands", ("plan_id", "number")),
    Place(Step, "report", ("id",)),
    Place(Event, "data", ("id",)),
)


def put_away(memory: Memory, before: datetime, *, most: int = 500) -> int:
    """Put away plans whose last event is older than that, the oldest first; how many were looked at."""
    done = 0
    while done < most and not _others(memory) and (plans := _loose(memory, before)):
        with memory.write() as t:
            for plan_id in plans:
                _put(t, plan_id)
        done += len(plans)
    return done


def _others(memory: Memory) -> bool:
    """Whether a process of another release is at work."""
    here = (col(Process.release) != RELEASE, col(Process.seen_at) > memory.clock() - AROUND)
    with memory.read() as t:
        return t.execute(select(col(Process.name)).where(*here).limit(1)).first() is not None


def _loose(memory: Memory, before: datetime) -> list[int]:
    """Finished, and told in Slack as far as it goes."""
    last = select(func.max(col(Event.at))).where(col(Event.plan_id) == col(Plan.id)).scalar_subquery()
    stale = exists().where(col(Message.plan_id) == col(Plan.id), col(Message.wanted) > col(Message.shown))
    over = (col(Plan.away) == 0, col(Plan.state).not_in(OPEN), ~stale)
    query = select(col(Plan.id)).where(*over, func.coalesce(last, col(Plan.created_at)) < before)
    with memory.read() as t:
        return [*t.execute(query.order_by(col(Plan.id)).limit(BATCH)).scalars()]


def _put(t: Transaction, plan_id: int) -> None:
    mine = (col(Plan.id) == plan_id, col(Plan.away) == 0, col(Plan.state).not_in(OPEN))
    if not t.execute(update(Plan).where(*mine).values(away=AWAY)).rowcount:
        return  # another bot has done it
    if not _holds(t, plan_id):
        t.execute(update(Plan).where(col(Plan.id) == plan_id).values(away=LEFT))
        return
    _drop_copies(t, plan_id)
    for place in PLACES:
        _pack(t, place, plan_id)
    _unname(t, plan_id)
    _shorten(t, plan_id)
    if not _holds(t, plan_id):
        raise Conflict(f"Plan {plan_id} would not be the same when it was put away, so it was left alone.")


def _holds(t: Transaction, plan_id: int) -> bool:
    """Whether its events follow from one another, up to the one that the plan remembers."""
    plan, events = t.plan(plan_id), t.rows(Event, col(Event.plan_id) == plan_id, order=col(Event.seq))
    if not events:
        return True  # pruned
    first = events[0]
    linked = broken_link(events, first.seq - 1, first.prev) is None
    return linked and (events[-1].seq, events[-1].hash) == (plan.events, plan.head)


def _drop_copies(t: Transaction, plan_id: int) -> None:
    """The report of an attempt that succeeded is its step's; what drafts spent is summed over attempts."""
    steps = t.rows(Step, col(Step.plan_id) == plan_id)
    if steps:  # a preview is shown until there are steps, and its event says all that it says
        t.execute(delete(Preview).where(col(Preview.plan_id) == plan_id))
    rows = {step.id: step for step in steps if step.state == StepState.succeeded and not step.drafts}
    for one in t.rows(Attempt, col(Attempt.step_id).in_([*rows]), col(Attempt.outcome) == WELL):
        if one.report is not None and repeats(one, rows[one.step_id]):
            same = (col(Attempt.step_id) == one.step_id, col(Attempt.number) == one.number)
            t.execute(update(Attempt).where(*same).values(report=null()))


def repeats(one: Attempt, step: Step) -> bool:
    """Whether an attempt only says again what its step says."""
    return one.number == step.attempt and json.dumps(one.report) == json.dumps(step.report)


def _pack(t: Transaction, place: Place, plan_id: int) -> None:
    """What does not get smaller, or is packed already, stays as it lies."""
    document, dialect = table(place.model).c[place.name].type, t.connection.dialect.name
    for keys, raw in _documents(t, place, plan_id):
        packed = pack(raw) if isinstance(raw, str) and raw[:1] == "{" else None
        if packed is None or plain(packed) != raw:
            continue
        kind, lies = laid(document, packed, dialect)
        if len(lies) < len(str(raw)):
            rows = bare(str(place.model.__tablename__), column(place.name, kind), *map(column, place.keys))
            one = [rows.c[name] == key for name, key in zip(place.keys, keys, strict=True)]
            t.execute(update(rows).where(*one).values({place.name: lies}))


def _documents(t: Transaction, place: Place, plan_id: int) -> Iterator[tuple[Sequence[Any], Raw]]:
    columns = table(place.model).c
    mine: ColumnElement[bool] = columns["plan_id"] == plan_id
    query = select(AsItLies(columns[place.name]).label("body"), *(columns[key] for key in place.keys))
    for body, *keys in t.execute(query.where(mine)).all():
        yield keys, body


def _unname(t: Transaction, plan_id: int) -> None:
    """An event that follows another one in the rows need not name its hash."""
    mine = col(Event.plan_id) == plan_id
    first = t.execute(select(func.min(col(Event.seq))).where(mine)).scalar_one()
    t.execute(update(Event).where(mine, col(Event.seq) > first).values(prev=ABOVE))


def _shorten(t: Transaction, plan_id: int) -> None:
    """SQLite keeps bytes beside letters in one column, and a hash is half as long in bytes."""
    if t.connection.dialect.name != "sqlite":
        return
    event, rows = table(Event).c, bare("event", column("id"), column("hash", LargeBinary()))
    mine = select(event.id, event.hash).where(event.plan_id == plan_id, is_packed(event.data))
    for number, digest in t.execute(mine).all():
        if HASH.fullmatch(digest):
            t.execute(update(rows).where(rows.c.id == number).values(hash=bytes.fromhex(digest)))
