"""Opening a database so that it keeps its promises, and hearing when another connection commits."""

import logging
import select as readiness
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import DisconnectionError

CHANNEL = "signoff"
POLL = 0.03
PAUSE = 0.5  # seconds in which a connection is not looked at again
# The last one used comes first: it has the pages and the statements; another one would read them anew.
WARM: dict[str, Any] = {"pool_use_lifo": True}
logger = logging.getLogger(__name__)


def open_engine(url: str) -> Engine:
    """An engine for SQLite (WAL, FULL, immediate writes) or PostgreSQL."""
    parsed = make_url(url)
    if parsed.get_backend_name() == "sqlite":
        return _sqlite(parsed.database or "")
    # Without fresh statistics the planner takes ten thousand due steps for one, and reads and sorts them all.
    # And what is prepared is planned once: planning what is due would take longer than finding it.
    options = {"options": "-c enable_seqscan=off -c jit=off -c plan_cache_mode=force_generic_plan"}
    engine = create_engine(
        parsed.set(drivername="postgresql+psycopg"), pool_size=20, connect_args=options, **WARM
    )
    engine.update_execution_options(bell=uuid.uuid4().hex)
    event.listen(engine, "checkin", _left)
    event.listen(engine, "checkout", _look)
    _ring(engine)
    return engine


def migrate(engine: Engine) -> None:
    """Bring the schema to the newest revision."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    with engine.execution_options(writes=True).begin() as connection:
        if engine.dialect.name == "postgresql":  # two processes may start together
            connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7365676)")
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def _sqlite(path: str) -> Engine:
    pool = WARM if path else {}  # without a file each thread has its one connection
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    options = {"timeout": 30, "check_same_thread": False}
    engine = create_engine(f"sqlite:///{path}", connect_args=options, **pool)
    event.listen(engine, "connect", _pragmas)
    event.listen(engine, "begin", _begin)
    return engine


def _pragmas(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # the driver opens no transaction of its own; `_begin` does
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "busy_timeout=30000"):
        connection.execute(f"PRAGMA {pragma}")


def _begin(connection: Connection) -> None:
    """Writers take the lock at once: a read that turns into a write would lose updates or fail."""
    writes = connection.get_execution_options().get("writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _left(_driver: Any, record: Any) -> None:
    record.info["left"] = time.monotonic()


def _look(driver: psycopg.Connection[Any], record: Any, _proxy: Any) -> None:
    """A server that went away is noticed before a statement needs it; a journey, so only after a pause."""
    if time.monotonic() - record.info.get("left", 0.0) > PAUSE:
        try:
            driver.execute("SELECT 1")
            driver.rollback()
        except psycopg.OperationalError:
            raise DisconnectionError from None


def _rings(connection: Connection) -> None:
    options = connection.get_execution_options()
    if options.get("writes"):
        connection.info["rings"] = options["bell"]


def _ring(engine: Engine) -> None:
    """Ring with every commit that writes, in the same journey; the driver finds nothing left to commit."""
    commit = engine.dialect.do_commit

    def do_commit(driver: Any) -> None:
        if bell := driver.info.pop("rings", ""):
            driver.cursor().execute(f"NOTIFY {CHANNEL}, '{bell}'; COMMIT")
        commit(driver)

    event.listen(engine, "commit", _rings)
    engine.dialect.do_commit = do_commit  # type: ignore[method-assign, assignment] # no event comes with the commit itself


class Bell:
    """Rings when any connection of any process has committed; or, where that can be told, of any other."""

    def __init__(self, engine: Engine, *, own: bool = True) -> None:
        self._engine = engine
        self._deaf_to = None if own else engine.get_execution_options().get("bell")
        self._wait = self._sqlite_wait if engine.dialect.name == "sqlite" else self._postgres_wait
        self._heard: Any = None
        self._listener: psycopg.Connection[Any] | None = None

    def close(self) -> None:
        """Give back what it listens with."""
        if self._heard:
            self._heard[0].close()
        if self._listener:
            self._listener.close()
        self._heard = self._listener = None

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
            self._listener = None
            time.sleep(min(1.0, max(0.0, until - time.monotonic())))

    def _listen(self, until: float, stopped: Callable[[], bool]) -> None:
        if self._listener is None:
            url = self._engine.url.set(drivername="postgresql").render_as_string(hide_password=False)
            self._listener = psycopg.connect(url, autocommit=True)
            self._listener.execute(f"LISTEN {CHANNEL}")
            return  # something may have been committed before we listened
        while not stopped() and (left := until - time.monotonic()) > 0:
            ready, _, _ = readiness.select([self._listener.fileno()], [], [], min(left, 0.2))
            if ready and any(one.payload != self._deaf_to for one in self._listener.notifies(timeout=0)):
                return
            if ready:  # only our own so far, and more of them come while we are busy
                time.sleep(POLL)
