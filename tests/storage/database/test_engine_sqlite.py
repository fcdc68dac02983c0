"""How a connection to SQLite is opened, and what its writers may expect."""

import sqlite3
from contextlib import closing

import pytest

from bot.process import CACHE
from storage.database.engine import open_engine
from storage.errors import BadConfig


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("pragma", "value"),
    [("journal_mode", "wal"), ("synchronous", 2), ("foreign_keys", 1), ("busy_timeout", 30000)],
)
def test_sqlite_keeps_its_promises_on_every_connection(engine, pragma, value):
    with engine.connect() as one, engine.connect() as two:
        found = [c.exec_driver_sql(f"PRAGMA {pragma}").scalar_one() for c in (one, two)]

    assert found == [value, value]


@pytest.mark.parametrize(("given", "pages"), [({}, -2000), ({"cache": CACHE}, -500)])
def test_a_connection_of_the_bot_keeps_fewer_pages_than_others(tmp_path, given, pages):
    engine = open_engine(f"sqlite:///{tmp_path / 'x.db'}", **given)
    with engine.connect() as one, engine.connect() as two:
        found = [c.exec_driver_sql("PRAGMA cache_size").scalar_one() for c in (one, two)]
    engine.dispose()

    assert found == [pages, pages]


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_a_writer_on_sqlite_takes_the_lock_at_once(store, engine):
    with (
        closing(sqlite3.connect(engine.url.database, timeout=0, isolation_level=None)) as other,
        store.write(),
        pytest.raises(sqlite3.OperationalError, match="locked"),
    ):
        other.execute("BEGIN IMMEDIATE")


def test_a_file_that_is_no_database_keeps_its_words_and_its_mode(tmp_path):
    file = tmp_path / "users"
    file.write_text("root:x:0:0")
    file.chmod(0o644)

    with pytest.raises(BadConfig, match="is not a database"):
        open_engine(f"sqlite:///{file}")
    assert (file.read_text(), file.stat().st_mode & 0o777) == ("root:x:0:0", 0o644)
