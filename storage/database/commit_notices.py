"""Telling other processes that something was committed, and hearing it from them.

On SQLite whoever listens reads `PRAGMA data_version` again and again, and nobody needs to tell; who listens
in the process that commits is woken by its `Bell`, so that one loop follows another without a wait.
On PostgreSQL `CommitNotifier` replaces the dialect's `do_commit`: it sends NOTIFY and COMMIT as one text, so
that telling costs no journey of its own. No event of SQLAlchemy comes with the commit itself: what is sent in
its `commit` event is a journey more. PostgreSQL delivers a notice only when its transaction is committed, so
nobody is told of what is not there, nor of what was rolled back.

To be woken costs a listener more than the commit costs us: when each commit of the workers woke everybody, a
tenth of a chain of steps went into it. So where a listener of this process runs, a commit that follows a
notice within `POLL` is not told at once; what follows tells of both, or else the listener does.

What must stay true, and is compared with a plain engine by the tests:
- The rows and the errors are those of the `do_commit` that is replaced. One error more is raised: a write
  whose transaction has failed cannot be committed. The driver alone would roll it back and say nothing, and
  whoever believes that a START is on record would act.
- Every write is told at last, and none before it can be seen. A notice that was lost with its connection is
  owed again. Whoever listens looks every second anyhow: a notice is about time and never about truth.
"""

import logging
import select as readiness
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Engine, event

from storage.database.drivers import away

if TYPE_CHECKING:
    import psycopg

CHANNEL = "signoff"
# A server whose machine is gone answers nothing, not even that it is gone.
LIVELY: dict[str, Any] = {
    "connect_timeout": 5, "keepalives": 1, "keepalives_idle": 5, "keepalives_interval": 3,
    "keepalives_count": 3, "tcp_user_timeout": 15_000,
}  # fmt: skip
POLL = 0.03
ALONE = 0.01  # the same where one thread of a process listens for others, while the process itself rests
logger = logging.getLogger(__name__)


class CommitNotifier:
    """Tells every listener of each PostgreSQL commit that writes, in the same journey.

    `deferring`: a listener of this process tells later what a commit left untold.
    """

    def __init__(self, engine: Engine) -> None:
        self.name, self.deferring = uuid.uuid4().hex, False
        self._untold, self._told_at = False, 0.0
        self._commit = engine.dialect.do_commit
        engine.update_execution_options(notifier=self)
        event.listen(engine, "commit", _mark)
        # An instance attribute over the dialect's method: engines that `execution_options` makes share it.
        engine.dialect.do_commit = self._do_commit  # type: ignore[method-assign, assignment]

    def tell_rest(self, listener: "psycopg.Connection[Any]") -> None:
        """Tell what has not been told yet."""
        if self._untold:
            self._tell(listener.execute, self._notice())

    def _do_commit(self, connection: Any) -> None:
        writes = connection.info.pop("writes", False)
        later = self.deferring and time.monotonic() - self._told_at < POLL
        with _ending(connection):
            if writes:
                _refuse_failed(connection)
            if writes and not later:
                # One text without parameters goes as one message; psycopg never prepares such a pair.
                self._tell(connection.cursor().execute, f"{self._notice()}; COMMIT")
            self._commit(connection)  # after our COMMIT, the driver finds nothing left to commit
        if writes and later:
            self._untold = True  # only now: whoever was told before would have seen nothing

    def _tell(self, execute: Callable[[str], object], notice: str) -> None:
        import psycopg

        # Before it is sent: another thread's commit that comes meanwhile may be too late for this notice.
        untold, self._untold, self._told_at = self._untold, False, time.monotonic()
        try:
            execute(notice)
        except psycopg.Error:
            if untold:
                self._untold = True
            raise

    def _notice(self) -> str:
        return f"NOTIFY {CHANNEL}, '{self.name}'"


def _mark(connection: Connection) -> None:
    # `do_commit` sees only the driver's connection, which does not know what the engine was asked for.
    connection.info["writes"] = bool(connection.get_execution_options().get("writes"))


def _refuse_failed(connection: Any) -> None:
    from psycopg.errors import InFailedSqlTransaction
    from psycopg.pq import TransactionStatus

    if connection.driver_connection.pgconn.transaction_status == TransactionStatus.INERROR:
        raise InFailedSqlTransaction("a statement has failed: nothing can be committed")


@contextmanager
def _ending(connection: Any) -> Iterator[None]:
    """Roll back what fails: SQLAlchemy takes it for ended, and lends the connection again as it is."""
    import psycopg

    try:
        yield
    except psycopg.Error:
        with suppress(psycopg.Error):
            connection.rollback()
        raise


class Bell:
    """Rings when this process has committed to SQLite: whoever listens to that, too, looks at once."""

    def __init__(self, engine: Engine) -> None:
        self.rung, self.rang_at, self._ringing = 0, 0.0, threading.Condition()
        self._commit = engine.dialect.do_commit
        engine.update_execution_options(bell=self)
        event.listen(engine, "commit", _mark)
        engine.dialect.do_commit = self._do_commit  # type: ignore[method-assign, assignment] # as above

    def wait(self, heard: int, seconds: float) -> None:
        """Until it rings, unless it has rung since it was heard that often."""
        with self._ringing:
            if self.rung == heard:
                self._ringing.wait(seconds)

    def pause(self) -> None:
        """Between two looks for what others commit: a longer one while this process has work anyhow."""
        time.sleep(POLL if time.monotonic() - self.rang_at < POLL else ALONE)

    def _do_commit(self, connection: Any) -> None:
        writes = connection.info.pop("writes", False)
        self._commit(connection)
        if writes:
            with self._ringing:
                self.rung, self.rang_at = self.rung + 1, time.monotonic()
                self._ringing.notify_all()


class CommitListener:
    """Waits until any connection of any process has committed; or, where that can be told, of any other."""

    def __init__(self, engine: Engine, *, own: bool = True) -> None:
        self._engine = engine
        options = engine.get_execution_options()
        self._notifier: CommitNotifier | None = None if own else options.get("notifier")
        self._bell: Bell | None = options.get("bell")
        self._own = own
        self._wait = self._sqlite_wait if engine.dialect.name == "sqlite" else self._postgres_wait
        self._heard: Any = None
        self._listener: psycopg.Connection[Any] | None = None

    def close(self) -> None:
        """Give back what it listens with."""
        if self._heard:
            self._heard[0].close()
        self._disconnect()
        self._heard = None

    def wait(self, seconds: float, stopped: Callable[[], bool] = lambda: False) -> None:
        """Return at the next commit, or after that many seconds, or when stopped."""
        self._wait(time.monotonic() + seconds, stopped)

    def _sqlite_wait(self, until: float, stopped: Callable[[], bool]) -> None:
        if self._heard is None:
            self._heard = [self._engine.raw_connection(), -1]
        connection, seen = self._heard
        while not stopped():
            heard = self._bell.rung if self._bell else 0  # before the look: what comes after it is not missed
            (now,) = connection.cursor().execute("PRAGMA data_version").fetchone()
            if now != seen or time.monotonic() >= until:
                self._heard[1] = now
                return
            if self._bell is None:  # who only reads has none
                time.sleep(POLL)
            else:
                self._bell.wait(heard, POLL) if self._own else self._bell.pause()

    def _postgres_wait(self, until: float, stopped: Callable[[], bool]) -> None:
        try:
            self._listen(until, stopped)
        except away() as error:
            logger.warning("listening for commits failed, trying again: %s", error)
            self._disconnect()
            time.sleep(min(1.0, max(0.0, until - time.monotonic())))

    def _listen(self, until: float, stopped: Callable[[], bool]) -> None:
        if self._listener is None:
            import psycopg

            url = self._engine.url.set(drivername="postgresql").render_as_string(hide_password=False)
            self._listener = psycopg.connect(url, autocommit=True, **LIVELY)
            self._listener.execute(f"LISTEN {CHANNEL}")
            return  # something may have been committed before we listened
        while not stopped() and (left := until - time.monotonic()) > 0:
            if self._notifier:
                self._notifier.deferring = True
                self._notifier.tell_rest(self._listener)
            ready, _, _ = readiness.select([self._listener.fileno()], [], [], min(left, 0.2))
            if ready and any(self._counts(one.payload) for one in self._listener.notifies(timeout=0)):
                return
            if ready:  # only our own so far, and more of them come while we are busy
                time.sleep(POLL)

    def _counts(self, payload: str) -> bool:
        return self._notifier is None or payload != self._notifier.name

    def _disconnect(self) -> None:
        if self._notifier:
            self._notifier.deferring = False
        if self._notifier and self._listener:
            with suppress(*away()):  # if it is broken, the next commit tells
                self._notifier.tell_rest(self._listener)
        if self._listener:
            self._listener.close()
        self._listener = None
