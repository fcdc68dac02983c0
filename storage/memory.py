"""What one process holds of the rows: an engine, a clock, what must not be seen, and one writer at a time."""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime

import psycopg
from sqlalchemy import Engine, update
from sqlalchemy.exc import OperationalError
from sqlmodel import col

from storage.database.fair_lock import FairLock
from storage.database.tables import Delivery
from storage.errors import Unavailable
from storage.secrets.redaction import Redactor
from storage.transaction import Transaction


@contextmanager
def _answering() -> Iterator[None]:
    """Tell a database that does not answer from everything else that can go wrong."""
    try:
        yield
    except (OperationalError, sqlite3.OperationalError, psycopg.OperationalError) as error:
        raise Unavailable(f"The database does not answer: {error}") from error


class Memory:
    """The rows, as one process reaches them. `Intention` and `Execution` say what may be done to them."""

    def __init__(
        self, engine: Engine, clock: Callable[[], datetime], redactor: Redactor | None = None
    ) -> None:
        self.redact = redactor or Redactor()
        self.engine = engine
        self.clock = clock
        self._writing = engine.execution_options(writes=True)
        self._writer = FairLock()
        self._handled = threading.local()

    @contextmanager
    def write(self, *, handles: bool = True, urgent: bool = False) -> Iterator[Transaction]:
        # One writer at a time in this process: waiting here is fair, waiting inside SQLite is not.
        with (
            self._writer.turn(urgent=urgent),
            _answering(),
            self._writing.connect() as connection,
            connection.begin(),
        ):
            t = Transaction(connection, self.clock, self.redact, getattr(self._handled, "via", ""))
            yield t
            if handles and (key := getattr(self._handled, "key", "")):
                # The body may hold a person's words and a trigger; once handled, the key is all we need.
                done = {"handled_at": self.clock(), "body": {}}
                t.execute(update(Delivery).where(col(Delivery.key) == key).values(**done))

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        with _answering(), self.engine.begin() as connection:
            yield Transaction(connection, self.clock, self.redact)

    @contextmanager
    def handling(self, key: str) -> Iterator[None]:
        """What is written in here marks the delivery as handled in the same commit: both, or neither."""
        self._handled.key = key
        try:
            with self.coming(key.partition(":")[0]):
                yield
        finally:
            self._handled.key = ""

    @contextmanager
    def coming(self, via: str) -> Iterator[None]:
        """By which way people come to what is written in here: the journal says it with every event."""
        self._handled.via = via
        try:
            yield
        finally:
            self._handled.via = ""
