"""The board's two connections: one reads and cannot write, the other writes visits and nothing else."""

import sqlite3
from pathlib import Path

from sqlalchemy import Connection, Engine, create_engine, event, make_url

from storage.errors import BadConfig

PATIENCE = "-c statement_timeout=5000 -c jit=off"  # a page that takes longer is none
# What may be written to a visit: how it was used, seen, refused and ended. Whom it lets in, the bot says.
UPDATES = {"visit": ("used_at", "seen_at", "session", "ended_at", "why", "refused")}
INSERTS = ("opened",)
KNOWS = {"visit", "opened", "sqlite_master", ""}
PLAIN = {
    sqlite3.SQLITE_SELECT, sqlite3.SQLITE_TRANSACTION, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_SAVEPOINT,
}  # fmt: skip


def open_to_watch(url: str) -> Engine:
    """An engine for somebody who stays and looks: the database itself refuses every write."""
    parsed = make_url(url)
    if parsed.get_backend_name() != "sqlite":
        options = {"options": f"-c default_transaction_read_only=on {PATIENCE}"}
        return create_engine(parsed.set(drivername="postgresql+psycopg"), connect_args=options, pool_size=8)
    path = _file(parsed.database)
    engine = create_engine(f"sqlite:///{path}", creator=lambda: _reading(path))
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN"))
    return engine


def open_for_visits(url: str) -> Engine:
    """An engine that can use and end visits, and keep what was opened; everything else is refused."""
    parsed = make_url(url)
    if parsed.get_backend_name() != "sqlite":
        return create_engine(parsed.set(drivername="postgresql+psycopg"), connect_args={"options": PATIENCE})
    path = _file(parsed.database)
    engine = create_engine(f"sqlite:///{path}", creator=lambda: _writing(path))
    event.listen(engine, "begin", _begin)
    return engine


def _file(name: str | None) -> Path:
    path = Path(name or "").absolute()
    if not path.is_file():
        raise BadConfig(f"There is no database at {path} yet; the bot's first start makes it.")
    return path


def _reading(path: Path) -> sqlite3.Connection:
    found = _connected(path, "ro")
    found.execute("PRAGMA query_only=ON")
    return found


def _writing(path: Path) -> sqlite3.Connection:
    found = _connected(path, "rw")
    for pragma in ("synchronous=FULL", "foreign_keys=ON"):
        found.execute(f"PRAGMA {pragma}")
    found.set_authorizer(_leave)
    return found


def _connected(path: Path, mode: str) -> sqlite3.Connection:
    uri = f"{path.as_uri()}?mode={mode}"
    return sqlite3.connect(uri, uri=True, timeout=30, check_same_thread=False, isolation_level=None)


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get("writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _leave(action: int, first: str | None, second: str | None, _place: str | None, _by: str | None) -> int:
    """What SQLite asks before it prepares a statement: deny by default."""
    allowed = (
        action in PLAIN
        or (
            action == sqlite3.SQLITE_PRAGMA and (first, second) == ("read_uncommitted", None)
        )  # SQLAlchemy asks
        or (action == sqlite3.SQLITE_READ and (first or "") in KNOWS)
        or (action == sqlite3.SQLITE_READ and (first, second) == ("plan", "id"))  # what was opened is one
        or (action == sqlite3.SQLITE_UPDATE and second in UPDATES.get(first or "", ()))
        or (action == sqlite3.SQLITE_INSERT and first in INSERTS)
    )
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY
