"""The clock that all processes over one database go by: a machine whose own is wrong disturbs nobody."""

import time
from datetime import datetime, timedelta

from sqlalchemy import Engine, func, select
from sqlalchemy.exc import DBAPIError

from storage.clock import NOTICEABLE, Clock

EVERY = 10.0  # seconds after which both are compared again
SOON = 1.0  # an answer that took longer tells too little


class AgreedClock:
    """This machine's clock, put right by the database's where the two are noticeably apart."""

    def __init__(self, engine: Engine, own: Clock) -> None:
        self._engine, self._own = engine, own
        self._compared: float | None = None
        self.ahead = timedelta(0)  # of this machine's clock

    def __call__(self) -> datetime:
        return self._own() - self.ahead if abs(self.ahead.total_seconds()) > NOTICEABLE else self._own()

    def compare(self) -> None:
        """Look how far they are apart, every few seconds. A database that does not answer tells nothing."""
        now = time.monotonic()
        if self._engine.dialect.name != "postgresql" or (self._compared and now - self._compared < EVERY):
            return  # one SQLite file has one machine, and one clock
        try:
            with self._engine.connect() as connection:
                began, before = time.monotonic(), self._own()
                theirs = connection.execute(select(func.clock_timestamp())).scalar_one()
                took = time.monotonic() - began
        except DBAPIError:
            return
        if took < SOON or self._compared is None:
            self.ahead, self._compared = before + timedelta(seconds=took / 2) - theirs, now


def agreed(engine: Engine, own: Clock) -> AgreedClock:
    """The clock of a process over this database, compared once."""
    made = AgreedClock(engine, own)
    made.compare()
    return made
