"""What hooks call about: one matter, one row, however often it is said. No plan is made here."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import delete, insert, update
from sqlmodel import col

from storage.database.tables import Alarm, Call, Message
from storage.errors import NotFound
from storage.exchange.deliveries import add
from storage.memory import Memory
from storage.transaction import Transaction

KEPT = timedelta(days=30)  # what hooks said


def alarm_of(memory: Memory, team: str, hook: str, key: str) -> Alarm | None:
    with memory.read() as t:
        mine = (col(Alarm.team) == team, col(Alarm.hook) == hook, col(Alarm.key) == key)
        return next(iter(t.rows(Alarm, *mine)), None)


def alarm_behind(memory: Memory, plan_id: int) -> Alarm | None:
    """The matter that a plan is about, if a hook called for it."""
    with memory.read() as t:
        return next(iter(t.rows(Alarm, col(Alarm.plan_id) == plan_id)), None)


@dataclass(frozen=True)
class Sounding:
    """A matter, as one call speaks of it."""

    team: str
    hook: str
    key: str
    count: int
    words: str
    open: bool = True

    def mine(self) -> tuple[Any, ...]:
        return (col(Alarm.team) == self.team, col(Alarm.hook) == self.hook, col(Alarm.key) == self.key)


def sound(t: Transaction, one: Sounding) -> None:
    """It was said (again): counted, and its plan's card shows it. Nobody is called."""
    now, said = t.clock(), t.redact.text(one.words)
    more = {"count": col(Alarm.count) + one.count, "last_at": now, "open": one.open, "words": said}
    found: list[Alarm] = t.models(update(Alarm).where(*one.mine()).values(**more).returning(Alarm))
    if not found:
        first = {"count": one.count, "first_at": now, "last_at": now, "planned_at": now, "open": one.open}
        row = {"team": one.team, "hook": one.hook, "key": one.key, "plan_id": 0, "words": said}
        t.execute(insert(Alarm).values(**first, **row))
    elif found[0].plan_id:
        card = col(Message.key) == f"card:{found[0].plan_id}"
        t.execute(update(Message).where(card).values(wanted=col(Message.wanted) + 1))


def becomes(t: Transaction, one: Sounding, plan_id: int) -> None:
    """The matter has become this plan; 0 for none, and it is not tried again before its pause is over."""
    t.execute(update(Alarm).where(*one.mine()).values(plan_id=plan_id, planned_at=t.clock()))


@dataclass(frozen=True)
class Said:
    """What a hook said, for operators."""

    key: str
    team: str
    hook: str
    body: Mapping[str, Any]
    answer: str


def keep_call(t: Transaction, said: Said, plan_id: int) -> None:
    """Put on record what a hook said, and what came of it; what is old is forgotten."""
    now = t.clock()
    row = {"key": said.key, "team": said.team, "hook": said.hook, "body": t.redact.data(dict(said.body))}
    t.execute(delete(Call).where((col(Call.at) < now - KEPT) | (col(Call.key) == said.key)))
    t.execute(insert(Call).values(**row, answer=t.redact.text(said.answer), plan_id=plan_id, at=now))


def calls(memory: Memory, limit: int = 50) -> list[Call]:
    """The newest, newest first."""
    with memory.read() as t:
        return t.rows(Call, order=col(Call.at).desc(), limit=limit)


def call_of(memory: Memory, key: str) -> Call:
    with memory.read() as t:
        found = t.rows(Call, col(Call.key).startswith(key, autoescape=True), limit=2)
    if len(found) != 1:
        raise NotFound(f"There is no call {key}, or more than one. `signoff hooks list` has them.")
    return found[0]


def replay(memory: Memory, key: str, row: Mapping[str, Any], *, actor: str) -> None:
    """Deliver once more what a hook said; who wanted that is on record."""
    with memory.write() as t:
        add(t, {"key": key, "kind": "hook", "body": dict(row)})
        t.journal_system("replay", actor=actor, data={"key": key})
