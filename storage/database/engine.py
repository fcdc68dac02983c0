"""Opening a database so that it keeps its promises."""

import logging
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import DisconnectionError, OperationalError

from storage.database.commit_notices import LIVELY, Bell, CommitNotifier
from storage.database.drivers import away
from storage.database.pooler import OPTION, REFUSED, demand_sessions, refused
from storage.database.schema import MIGRATIONS, found_in, newest, refuse_newer
from storage.errors import BadConfig, Unavailable
from storage.private_files import make_directories, narrow, private_opener

if TYPE_CHECKING:
    import psycopg

SQLITE = b"SQLite format 3\0"  # so begins every file of SQLite's
# Seconds after which either end gives up a connection whose other end is gone: what it locked is free then.
# And nobody keeps a transaction open and does nothing in it, unless the process is stopped.
AWAY = 15
IDLE = 10
# What we ask of the server for its end of a connection; `LIVELY` is ours.
SERVER = (
    f"-c idle_in_transaction_session_timeout={IDLE * 1000} -c tcp_user_timeout={AWAY * 1000} "
    "-c tcp_keepalives_idle=5 -c tcp_keepalives_count=3 -c tcp_keepalives_interval=3"
)
PAUSE = 0.5  # seconds in which a connection is not looked at again
PRAGMAS = ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "busy_timeout=30000")
CACHE = 2000  # kilobytes of pages that a connection to SQLite keeps: its own default
logger = logging.getLogger(__name__)
# The last one used comes first: it has the pages and the statements; another one would read them anew.
WARM: dict[str, Any] = {"pool_use_lifo": True}


def open_engine(url: str, *, cache: int = CACHE) -> Engine:
    """An engine for SQLite (WAL, FULL, immediate writes; `cache` kilobytes of pages each) or PostgreSQL."""
    parsed = make_url(url)
    if parsed.get_backend_name() == "sqlite":
        return _sqlite(parsed.database or "", cache)
    # Without fresh statistics the planner takes ten thousand due steps for one, and reads and sorts them all.
    # And what is prepared is planned once: planning what is due would take longer than finding it.
    planning = "-c enable_seqscan=off -c jit=off -c plan_cache_mode=force_generic_plan"
    options = LIVELY | {"options": f"{planning} {SERVER}"}
    engine = create_engine(
        parsed.set(drivername="postgresql+psycopg"), pool_size=20, connect_args=options, **WARM
    )
    event.listen(engine, "checkin", _note_return)
    event.listen(engine, "checkout", _check)
    CommitNotifier(engine)
    return engine


def await_database(engine: Engine, patience: float = 60.0) -> None:
    """Wait for a server that is just being started; Unavailable when it does not come.

    A pooler that keeps no sessions is refused.
    """
    until = time.monotonic() + patience
    while True:
        try:
            demand_sessions(engine)
        except OperationalError as error:
            if refused(error):
                raise BadConfig(REFUSED.format(option=OPTION)) from None
            if time.monotonic() > until:
                raise Unavailable(f"The database does not answer: {error.orig}") from None
            logger.warning("the database does not answer yet: %s", error.orig)
            time.sleep(1.0)
        else:
            return


def migrate(engine: Engine) -> None:
    """Bring the schema to the newest revision."""
    with engine.execution_options(writes=True).begin() as connection:
        if engine.dialect.name == "postgresql":  # two processes may start together
            connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7365676)")
        found = found_in(connection)
        refuse_newer(found)
        if found != newest():
            _upgrade(connection)


def _upgrade(connection: Connection) -> None:
    from alembic import command  # takes a third of a second, once a release
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _sqlite(path: str, cache: int) -> Engine:
    pool = WARM if path else {}  # without a file each thread has its one connection
    if path and path != ":memory:":
        _keep_private(Path(path))
    options = {"timeout": 30, "check_same_thread": False}
    engine = create_engine(f"sqlite:///{path}", connect_args=options, **pool)
    event.listen(engine, "connect", partial(_pragmas, cache))
    event.listen(engine, "begin", _begin)
    Bell(engine)
    return engine


def _keep_private(path: Path) -> None:
    """Nobody else reads the file, nor what SQLite puts beside it: that takes the file's own mode."""
    make_directories(path.parent)
    with suppress(FileExistsError), open(path, "x", opener=private_opener):
        pass
    _demand_ours(path)
    for end in ("", "-wal", "-shm", "-journal"):
        narrow(path.with_name(path.name + end))


def _demand_ours(path: Path) -> None:
    """A file that is no database is somebody else's, and is left as it is."""
    with path.open("rb") as file:
        begins = file.read(len(SQLITE))
    if begins not in (b"", SQLITE):
        raise BadConfig(f"{path} is not a database. Please look at SIGNOFF_DATABASE_URL.")


def _pragmas(cache: int, connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # the driver opens no transaction of its own; `_begin` does
    for pragma in (*PRAGMAS, f"cache_size=-{cache}"):
        connection.execute(f"PRAGMA {pragma}")


def _begin(connection: Connection) -> None:
    """Writers take the lock at once: a read that turns into a write would lose updates or fail."""
    writes = connection.get_execution_options().get("writes")
    driver: Any = connection.connection.driver_connection  # by itself: it is said before everything
    driver.execute("BEGIN IMMEDIATE" if writes else "BEGIN")


def _note_return(_driver: Any, record: Any) -> None:
    record.info["returned"] = time.monotonic()


def _check(driver: "psycopg.Connection[Any]", record: Any, _proxy: Any) -> None:
    """A server that went away is noticed before a statement needs it; a journey, so only after a pause."""
    if time.monotonic() - record.info.get("returned", 0.0) > PAUSE:
        try:
            driver.execute("SELECT 1")
            driver.rollback()  # the driver has begun a transaction for it
        except away():
            raise DisconnectionError from None  # the pool's word for: take another one
