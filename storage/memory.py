"""What one process holds of the rows: an engine, a clock, what must not be seen, and one writer at a time."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import Engine, bindparam, update

from storage.database.answering import answering
from storage.database.fair_lock import FairLock
from storage.database.leases import Held, still_held
from storage.database.statements import Prepared, table
from storage.database.tables import Delivery
from storage.errors import HandledElsewhere, LeaseLost
from storage.journal.verified import Journal
from storage.secrets.redaction import Redactor
from storage.transaction import Transaction

D = table(Delivery).c
MARK = Prepared(
    update(table(Delivery))
    .where(D.key == bindparam("this"), D.handled_at.is_(None))
    .values(handled_at=bindparam("now"), body=bindparam("nothing"))
    .returning(D.key.label("value"))
)


@dataclass
class Handling:
    """A delivery that one thread handles, and what shall be on record as soon as it is handled."""

    key: str
    done: bool = False  # committed as handled, by us: what is written after that is ours, too
    kept: list[Callable[[Transaction], None]] = field(default_factory=list)

    def mark(self, t: Transaction) -> None:
        """Handled, in this commit, unless somebody was faster: then all of it is rolled back.

        A lock may be lost by a process that stands still; this condition holds whoever wakes up when.
        """
        for write in self.kept:
            write(t)
        # The body may hold a person's words and a trigger; once handled, the key is all we need.
        if not MARK.all(t.connection, this=self.key, now=t.clock(), nothing={}):
            raise HandledElsewhere(f"Delivery {self.key} was handled by another bot meanwhile.")


class Memory:
    """The rows, as one process reaches them. `Intention` and `Execution` say what may be done to them."""

    def __init__(
        self, engine: Engine, clock: Callable[[], datetime], redactor: Redactor | None = None
    ) -> None:
        self.redact = redactor or Redactor()
        self.engine = engine
        self.clock = clock
        self.journals: dict[int, Journal] = {}  # what of each plan's journal was verified already
        self._writing, self._reading = engine.execution_options(writes=True), engine
        if engine.dialect.name == "postgresql":
            # There each statement reads the rows as they stand, also within a transaction: its beginning and
            # its end would be two journeys for nothing.
            self._reading = engine.execution_options(isolation_level="AUTOCOMMIT")
        self._writer = FairLock()
        self._here = threading.local()

    @property
    def open_delivery(self) -> Handling | None:
        """What this thread handles, until a commit of it has marked it as handled."""
        one: Handling | None = getattr(self._here, "one", None)
        return one if one and not one.done else None

    @contextmanager
    def write(self, *, urgent: bool = False) -> Iterator[Transaction]:
        one = self.open_delivery
        # One writer at a time in this process: waiting here is fair, waiting inside SQLite is not.
        with (
            self._writer.turn(urgent=urgent),
            answering(),
            self._writing.connect() as connection,
            connection.begin(),
        ):
            t = Transaction(connection, self.clock, self.redact, getattr(self._here, "via", ""))
            self._demand_leases(t)
            yield t
            if one:
                one.mark(t)
        if one:
            one.done = True

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        with answering(), self._reading.begin() as connection:
            yield Transaction(connection, self.clock, self.redact)

    @contextmanager
    def reading_on(self) -> Iterator[Transaction]:
        """The same for rows that come as they are asked for: the server keeps them in a transaction."""
        with answering(), self.engine.begin() as connection:
            yield Transaction(connection, self.clock, self.redact)

    @contextmanager
    def handling(self, key: str) -> Iterator[None]:
        """The first commit in here marks the delivery as handled: both, or neither, and once.

        HandledElsewhere when another process was faster: then nothing of that commit has happened.
        """
        self._here.one = Handling(key)
        try:
            with self.coming(key.partition(":")[0]):
                yield
        finally:
            self._here.one = None

    @contextmanager
    def under(self, *leases: Held) -> Iterator[None]:
        """What this thread writes in here is written only as long as the leases are ours: else LeaseLost.

        Without any, it is written whoever has them by now.
        """
        before, self._here.leases = self.leases, leases
        try:
            yield
        finally:
            self._here.leases = before

    @property
    def leases(self) -> tuple[Held, ...]:
        """What this thread writes under, to be handed to a thread that works for it."""
        return getattr(self._here, "leases", ())

    def _demand_leases(self, t: Transaction) -> None:
        held = self.leases
        kept = {*t.execute(still_held(held)).scalars()} if held else set()
        if lost := [one.name for one in held if one.name not in kept]:
            raise LeaseLost(f"Another bot does “{lost[0]}” by now; nothing was written.")

    @contextmanager
    def coming(self, via: str) -> Iterator[None]:
        """By which way people come to what is written in here: the journal says it with every event."""
        self._here.via = via
        try:
            yield
        finally:
            self._here.via = ""

    def record(self, write: Callable[[Transaction], None]) -> None:
        """Write this now; while a delivery is handled, in the commit that answers it: on record once."""
        if one := self.open_delivery:
            one.kept.append(write)
            return
        with self.write() as t:
            write(t)
