"""How a connection to SQLite is opened, and what its writers may expect."""

import sqlite3
from contextlib import closing

import pytest


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("pragma", "value"),
    [("journal_mode", "wal"), ("synchronous", 2), ("foreign_keys", 1), ("busy_timeout", 30000)],
)
def test_sqlite_keeps_its_promises_on_every_connection(engine, pragma, value):
    with engine.connect() as one, engine.connect() as two:
        found = [c.exec_driver_sql(f"PRAGMA {pragma}").scalar_one() for c in (one, two)]

    assert found == [value, value]


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_a_writer_on_sqlite_takes_the_lock_at_once(store, engine):
    with (
        closing(sqlite3.connect(engine.url.database, timeout=0, isolation_level=None)) as other,
        store.write(),
        pytest.raises(sqlite3.OperationalError, match="locked"),
    ):
        other.execute("BEGIN IMMEDIATE")
