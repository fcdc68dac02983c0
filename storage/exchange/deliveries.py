"""What Slack delivers, committed before it is acked. What comes at the same time shares a commit."""

from collections import deque
from collections.abc import Collection
from dataclasses import dataclass
from threading import Lock
from typing import Any, NamedTuple

from sqlalchemy import func, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel import col

from storage.database.models import Models
from storage.database.statements import Among, Prepared, table
from storage.database.tables import Delivery
from storage.memory import Memory
from storage.transaction import Transaction

ASKED = "ask"  # a wish or a plan that came by another door than Slack; its answer is left in its row
FOREIGN = frozenset({"ask", "hook"})
OURS = ("user", "owner", "team", "key", "print", "hook")  # of such a document; these are our own words
EACH = 20  # of one person that are looked at: the first is next, or the first that need not wait
THOUGHT = "revise"  # a delivery that a planner must think about, and nobody else may wait for


@dataclass
class Arrival:
    """One delivery on its way into the rows; `new` is None until it is there."""

    row: dict[str, Any]
    new: bool | None = None


class Arrivals:
    """Takes deliveries in, from many threads at once."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._waiting, self._writing = deque[Arrival](), Lock()

    def deliver(self, key: str, kind: str, body: dict[str, Any]) -> bool:
        """Remember what Slack delivered; False when it was delivered before."""
        if kind in FOREIGN:  # machines send documents, and any part of one may hold a secret
            ours = {name: body[name] for name in OURS if name in body}
            body = self._memory.redact.data(body) | ours
        elif "text" in body:
            body = body | {"text": self._memory.redact.text(str(body["text"]))}
        arrival = Arrival({"key": key, "kind": kind, "body": body})
        if self._memory.open_delivery:  # what one delivery leads to is in the commit that marks it as handled
            with self._memory.write() as t:
                return add(t, arrival.row)
        self._waiting.append(arrival)
        with self._writing:  # whoever is first here writes for all who have come meanwhile
            if arrival.new is None:
                self._keep(arrival)
        return bool(arrival.new)

    def _keep(self, mine: Arrival) -> None:
        taken: list[Arrival] = []
        try:
            with self._memory.write(urgent=True) as t:
                while self._waiting:
                    taken.append(self._waiting.popleft())
                found = [add(t, arrival.row) for arrival in taken]
        except BaseException:
            # Nothing was committed: the others try again, and ours is not acked, so it must never be kept.
            self._waiting.extendleft(reversed(taken))
            self._waiting.remove(mine)
            raise
        for arrival, new in zip(taken, found, strict=True):
            arrival.new = new


def add(t: Transaction, row: dict[str, Any]) -> bool:
    """Whether it is new. Two bots may be told the same at the same moment."""
    number = t.execute(select(func.coalesce(func.max(col(Delivery.id)), 0) + 1)).scalar_one()
    dialect = sqlite if t.connection.dialect.name == "sqlite" else postgresql
    query = dialect.insert(table(Delivery)).on_conflict_do_nothing(index_elements=["key"])
    made = query.values(**row, id=number, received_at=t.clock()).returning(col(Delivery.key))
    return t.execute(made).first() is not None


def unhandled(memory: Memory, *, thought: bool = False) -> list[Delivery]:
    """Deliveries that nobody has handled, in the order they came: those to think about, or the others."""
    kind = col(Delivery.kind) == THOUGHT if thought else col(Delivery.kind) != THOUGHT
    with memory.read() as t:
        return t.rows(Delivery, col(Delivery.handled_at).is_(None), kind, order=col(Delivery.id))


class Waiting(NamedTuple):
    """An unhandled delivery by what says whose turn it is: a flood of them weighs little."""

    key: str
    id: int
    kind: str
    user: str
    channel: str | None = None
    thread: str | None = None
    place: str | None = None
    value: str | None = None
    plan: str | None = None


class Foreign(NamedTuple):
    """What a machine sent: its document is read here, and not by the database."""

    key: str
    id: int
    kind: str
    body: dict[str, Any]


D = table(Delivery).c
BODY, KIND = D.body, col(Delivery.kind)
SAID = [BODY[name].as_string().label(name) for name in ("user", "channel", "thread", "place", "value")]
PLAN = BODY[("meta", "p")].as_string().label("plan")
# What a machine sent may hold characters over which PostgreSQL's own look into a document breaks.
OURS_ONLY = [KIND.is_distinct_from(kind) for kind in (THOUGHT, *sorted(FOREIGN))]
OPEN = col(Delivery.handled_at).is_(None)
ROW = func.row_number().over(partition_by=SAID[0], order_by=(D.id, D.key)).label("row")
NEAR = select(D.key, ROW).where(OPEN, *OURS_ONLY).subquery()
FIRST = Prepared(
    select(D.key, D.id, KIND, *SAID, PLAN).join(NEAR, NEAR.c.key == D.key).where(NEAR.c.row <= EACH),
    Waiting,
)
FROM_MACHINES = Prepared(
    select(col(Delivery.key), col(Delivery.id), KIND, col(Delivery.body)).where(OPEN, Among(D.kind, "kinds")),
    Foreign,
)
UNHANDLED = Models(Delivery, OPEN, Among(D.key, "keys"))


def waiting(memory: Memory) -> list[Waiting]:
    """What nobody has handled, in the order it came, without what planners must think about.

    Of each person only the first: what stands behind them is not next, however many there are.
    """
    with memory.read() as t:
        found = FIRST.all(t.connection)
        theirs = FROM_MACHINES.all(t.connection, kinds=[*FOREIGN])
    found += [Waiting(row.key, row.id, row.kind, str(row.body["user"])) for row in theirs]
    return sorted(found, key=lambda one: (one.id, one.key))


def still_unhandled(memory: Memory, keys: Collection[str]) -> dict[str, Delivery]:
    """Those of these that nobody has handled meanwhile."""
    with memory.read() as t:
        found = UNHANDLED.all(t.connection, keys=[*keys])
    return {one.key: one for one in found}


def handled(memory: Memory) -> None:
    """Make sure that what is being handled counts as handled, where nothing had to be written for it."""
    if memory.open_delivery:
        with memory.write():
            pass


def leave_answer(memory: Memory, key: str, answer: dict[str, Any]) -> None:
    """What came of a delivery that has been handled, for whoever waits at the door that it came by."""
    done = (col(Delivery.key) == key, col(Delivery.handled_at).is_not(None))
    with memory.write() as t:
        t.execute(update(Delivery).where(*done).values(body=t.redact.data(answer)))


def answer_left(memory: Memory, key: str) -> dict[str, Any] | None:
    """What came of it; None while it was not handled."""
    with memory.read() as t:
        found = t.rows(Delivery, col(Delivery.key) == key, col(Delivery.handled_at).is_not(None))
        return found[0].body if found else None
