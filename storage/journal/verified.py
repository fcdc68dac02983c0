"""What of a plan's journal was verified, and is not linked again: it is compared, as it stands in the rows.

Every look at a plan asks whether its journal holds, and a journal grows with every step. To link an event is
to read its JSON, to write that canonically and to hash it; to compare it is to hash the text of its row. So
of what was linked before one hash is kept over all its rows, and only what is new is linked. A row that was
changed since, wherever it stands, has another text: then all of it is linked anew, and tells what is wrong.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, Text, bindparam, cast, select

from storage.database.packed import AsItLies, Raw
from storage.database.statements import Prepared, table
from storage.database.tables import Event
from storage.journal.chain import broken_link
from storage.journal.told import Told

MOST = 256  # journals of which this is kept, for each process


class Row(NamedTuple):
    """An event, and the text that its time and its data have in the database."""

    plan_id: int
    seq: int
    at: datetime
    verb: str
    actor: str
    data: Mapping[str, Any]
    prev: str
    hash: str
    time: str
    body: Raw

    @property
    def plain(self) -> "Plain":
        return Plain(self.seq, self.verb, self.actor, self.prev, self.hash, self.time, self.body)


class Plain(NamedTuple):
    """An event as it stands."""

    seq: int
    verb: str
    actor: str
    prev: str
    hash: str
    time: str
    body: Raw


E = table(Event).c
TEXTS = (cast(E.at, Text).label("time"), AsItLies(E.data).label("body"))
MINE = E.plan_id == bindparam("plan")
LINKED = Prepared(
    select(E.seq, E.verb, E.actor, E.prev, E.hash, *TEXTS)
    .where(MINE, E.seq <= bindparam("last"))
    .order_by(E.seq),
    Plain,
)
NEW = Prepared(
    select(*(E[name] for name in Row._fields[:8]), *TEXTS)
    .where(MINE, E.seq > bindparam("last"))
    .order_by(E.seq),
    Row,
)


@dataclass(frozen=True)
class Journal:
    """A plan's journal as far as it was verified: its last event, and what it tells."""

    events: int = 0
    head: str = ""
    rows: bytes = b""  # one hash over all its rows, each over the one before
    told: Told = Told()  # noqa: RUF009 # frozen


def verified(c: Connection, plan_id: int, known: Journal) -> Journal | None:
    """The journal by now, or None where it does not follow. `known` is what was verified before."""
    start = known if known.events and _stands(c, plan_id, known) else Journal()
    new = NEW.all(c, plan=plan_id, last=start.events)
    if broken_link(new, start.events, start.head) is not None:
        return None
    if not new:
        return start
    rows = hashed(start.rows, [one.plain for one in new])
    return Journal(new[-1].seq, new[-1].hash, rows, start.told.and_then(new))


def _stands(c: Connection, plan_id: int, known: Journal) -> bool:
    """Whether its rows are those that were linked."""
    return hashed(b"", LINKED.all(c, plan=plan_id, last=known.events)) == known.rows


def hashed(before: bytes, rows: list[Plain]) -> bytes:
    """Of these rows, and of what came before them."""
    for row in rows:
        before = hashlib.sha256(before + repr(tuple(row)).encode(errors="surrogatepass")).digest()
    return before
