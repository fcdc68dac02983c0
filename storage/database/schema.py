"""Which release a database is of, and opening one only to look: nothing is made, moved or locked by that."""

import os
import sqlite3
from pathlib import Path

from sqlalchemy import URL, Connection, Engine, create_engine, event, inspect, make_url, text
from sqlalchemy.exc import DBAPIError

from storage.errors import BadConfig, SignoffError, Unavailable

MIGRATIONS = Path(__file__).parent / "migrations"
# Each migration's file begins with its number. Alembic would only say the same, and takes a third of
# a second to import: whoever has nothing to migrate goes without it.
KNOWN = sorted(path.name.partition("_")[0] for path in (MIGRATIONS / "versions").glob("[0-9]*.py"))


def newest() -> str:
    """The schema of this release."""
    return KNOWN[-1]


def found_in(connection: Connection) -> str:
    """The schema that is there; empty when there is none."""
    if not inspect(connection).has_table("alembic_version"):
        return ""
    return str(connection.execute(text("SELECT version_num FROM alembic_version")).scalar() or "")


def refuse_newer(found: str) -> None:
    """An older release must leave a newer schema alone: it does not know what it would break."""
    if found and found not in KNOWN:
        raise BadConfig(
            f"The database is of a newer release (schema {found}; this one ends at {newest()}). "
            "Use that release, or restore the backup from before the upgrade."
        )


def open_to_look(url: str) -> Engine:
    """An engine that cannot write, for a database that is there and of this release."""
    engine = looking(make_url(url))
    try:
        demand_this_release(engine)
    except SignoffError:
        engine.dispose()
        raise
    return engine


def demand_this_release(engine: Engine) -> None:
    try:
        with engine.connect() as connection:
            found = found_in(connection)
    except DBAPIError as error:
        raise Unavailable(f"The database does not answer: {error.orig}") from None
    refuse_newer(found)
    if found != newest():
        state = f"of an older release (schema {found}; this one has {newest()})" if found else "empty"
        raise BadConfig(
            f"The database is {state}. Looking changes nothing: start this release, or run "
            "`python -P -m storage migrate`."
        )


def looking(url: URL) -> Engine:
    if url.get_backend_name() != "sqlite":
        read_only = {"options": "-c default_transaction_read_only=on -c jit=off"}
        return create_engine(url.set(drivername="postgresql+psycopg"), connect_args=read_only)
    path = Path(url.database or "").absolute()
    if not path.exists():
        raise BadConfig(f"There is no database at {path} yet; the first start makes it.")
    engine = create_engine(f"sqlite:///{path}", creator=lambda: _sqlite(path))
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN"))
    return engine


def _sqlite(path: Path) -> sqlite3.Connection:
    """Where no log lies beside the file nobody has it open: then SQLite is told to make none."""
    alone = not path.with_name(path.name + "-wal").exists()
    uri = f"{path.as_uri()}?mode=ro" + ("&immutable=1" if alone else "")
    return sqlite3.connect(uri, uri=True, timeout=30, check_same_thread=False, isolation_level=None)


def may_write(engine: Engine) -> bool:
    """Whether whoever looks could also put something on record."""
    if engine.dialect.name == "sqlite":
        return os.access(str(engine.url.database), os.W_OK)
    with engine.connect() as connection:
        right = "SELECT has_table_privilege(current_user, 'event', 'INSERT')"
        return bool(connection.exec_driver_sql(right).scalar_one())
