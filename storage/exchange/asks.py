"""What machines asked for, by their own keys: the same key finds the same plan, or the same answer."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import insert, update
from sqlmodel import col

from storage.database.tables import Ask, Delivery, Plan
from storage.memory import Memory
from storage.transaction import Transaction

KIND = "ask"


@dataclass(frozen=True)
class Asker:
    """The machine that asks in somebody's name, whom it names besides, and by which key it asks."""

    machine: str
    team: str
    key: str
    print: str
    behind: tuple[str, ...] = ()
    runbooks: tuple[str, ...] = ()
    environments: tuple[str, ...] = ()

    def row(self) -> dict[str, Any]:
        scope = {"runbooks": [*self.runbooks], "environments": [*self.environments]}
        own = {"key": self.key, "team": self.team, "machine": self.machine, "print": self.print}
        return own | scope


def keep_ask(t: Transaction, asker: Asker, *, plan_id: int = 0, answer: str = "") -> None:
    """In the commit that makes the plan, or says why there is none."""
    said = t.redact.text(answer)
    t.execute(insert(Ask).values(**asker.row(), plan_id=plan_id, answer=said, at=t.clock()))


def answer_ask(memory: Memory, asker: Asker, answer: str) -> None:
    """There will be no plan, and this is why."""
    with memory.write() as t:
        keep_ask(t, asker, answer=answer)


def ask_of(memory: Memory, key: str) -> Ask | None:
    """What came of this key; None while nobody has handled it, or nobody has said it."""
    with memory.read() as t:
        return next(iter(t.rows(Ask, col(Ask.key) == key)), None)


def asking(memory: Memory, key: str) -> Mapping[str, Any] | None:
    """The ask of this key as it waits to be handled; None when none does."""
    with memory.read() as t:
        found = t.rows(Delivery, col(Delivery.key) == key, col(Delivery.handled_at).is_(None))
    return found[0].body if found else None


def ask_behind(memory: Memory, plan_id: int) -> Ask | None:
    """By which ask this plan came to be, if a machine asked."""
    with memory.read() as t:
        return next(iter(t.rows(Ask, col(Ask.plan_id) == plan_id)), None)


def asked_by(memory: Memory, plan_id: int) -> str:
    """The machine whose plan this is; "" for people's plans, and for none."""
    with memory.read() as t:
        return next((plan.machine for plan in t.rows(Plan, col(Plan.id) == plan_id)), "")


def reanswer(memory: Memory, key: str, answer: str) -> None:
    """It had begun to be planned, and does not become a plan."""
    with memory.write() as t:
        t.execute(update(Ask).where(col(Ask.key) == key).values(answer=t.redact.text(answer)))
