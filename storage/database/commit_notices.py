"""Telling other processes that something was committed, and hearing it from them."""

import logging
import select as readiness
import time
import uuid
from collections.abc import Callable
from typing import Any

import psycopg
from sqlalchemy import Connection, Engine, event

CHANNEL = "signoff"
POLL = 0.03
logger = logging.getLogger(__name__)


class Ring:
    """Rings every PostgreSQL bell with each commit that writes, in the same journey.

    To be woken costs a listener more than the commit costs us: where somebody catches up for it (`patient`),
    what is committed right after a ring is told together with what follows.
    """

    def __init__(self, engine: Engine) -> None:
        self.name, self.patient = uuid.uuid4().hex, False
        self._owes, self._rang = False, 0.0
        self._commit = engine.dialect.do_commit
        engine.update_execution_options(ring=self)
        event.listen(engine, "commit", _rings)
        engine.dialect.do_commit = self._do_commit  # type: ignore[method-assign, assignment] # no event comes with the commit itself

    def catch_up(self, listener: psycopg.Connection[Any]) -> None:
        """Tell what has not been told yet."""
        self.patient = True
        if self._owes:
            self._owes, self._rang = False, time.monotonic()
            listener.execute(self._words())

    def _do_commit(self, driver: Any) -> None:
        rings, now = driver.info.pop("rings", False), time.monotonic()
        wait = self.patient and now - self._rang < POLL
        if rings and not wait:
            self._owes, self._rang = False, now
            driver.cursor().execute(f"{self._words()}; COMMIT")  # the driver finds nothing left to commit
        self._commit(driver)
        self._owes |= rings and wait  # only now: whoever was told before would have seen nothing

    def _words(self) -> str:
        return f"NOTIFY {CHANNEL}, '{self.name}'"


def _rings(connection: Connection) -> None:
    connection.info["rings"] = bool(connection.get_execution_options().get("writes"))


class Bell:
    """Rings when any connection of any process has committed; or, where that can be told, of any other."""

    def __init__(self, engine: Engine, *, own: bool = True) -> None:
        self._engine = engine
        self._ring: Ring | None = None if own else engine.get_execution_options().get("ring")
        self._wait = self._sqlite_wait if engine.dialect.name == "sqlite" else self._postgres_wait
        self._heard: Any = None
        self._listener: psycopg.Connection[Any] | None = None

    def close(self) -> None:
        """Give back what it listens with."""
        if self._heard:
            self._heard[0].close()
        self._hang_up()
        self._heard = None

    def wait(self, seconds: float, stopped: Callable[[], bool] = lambda: False) -> None:
        """Return at the next commit, or after that many seconds, or when stopped."""
        self._wait(time.monotonic() + seconds, stopped)

    def _sqlite_wait(self, until: float, stopped: Callable[[], bool]) -> None:
        if self._heard is None:
            self._heard = [self._engine.raw_connection(), -1]
        connection, seen = self._heard
        while not stopped():
            (now,) = connection.cursor().execute("PRAGMA data_version").fetchone()
            if now != seen or time.monotonic() >= until:
                self._heard[1] = now
                return
            time.sleep(POLL)

    def _postgres_wait(self, until: float, stopped: Callable[[], bool]) -> None:
        try:
            self._listen(until, stopped)
        except psycopg.OperationalError as error:
            logger.warning("listening for commits failed, trying again: %s", error)
            self._hang_up()
            time.sleep(min(1.0, max(0.0, until - time.monotonic())))

    def _listen(self, until: float, stopped: Callable[[], bool]) -> None:
        if self._listener is None:
            url = self._engine.url.set(drivername="postgresql").render_as_string(hide_password=False)
            self._listener = psycopg.connect(url, autocommit=True)
            self._listener.execute(f"LISTEN {CHANNEL}")
            return  # something may have been committed before we listened
        while not stopped() and (left := until - time.monotonic()) > 0:
            if self._ring:
                self._ring.catch_up(self._listener)
            ready, _, _ = readiness.select([self._listener.fileno()], [], [], min(left, 0.2))
            if ready and any(self._counts(one.payload) for one in self._listener.notifies(timeout=0)):
                return
            if ready:  # only our own so far, and more of them come while we are busy
                time.sleep(POLL)

    def _counts(self, payload: str) -> bool:
        return self._ring is None or payload != self._ring.name

    def _hang_up(self) -> None:
        if self._ring:
            self._ring.patient = False
        if self._listener:
            self._listener.close()
        self._listener = None
