"""Signoff's own database comes back from a backup: what was approved goes on, and what it lacks is said."""

import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Engine

from storage.audit.export import checkpoint, journal
from storage.audit.verify import check
from storage.database.engine import migrate, open_engine
from storage.errors import Conflict
from tests.support.fakes import FakeClock, approved, propose, step, succeed
from tests.support.postgres import find_postgres, fresh_database
from tests.support.store import Store


def restored(engine: Engine, home: Path) -> str:
    """A copy made while the database is in use, by its own tools, and put somewhere else."""
    if engine.dialect.name == "sqlite":
        place = home / "restored.db"
        with (
            closing(sqlite3.connect(str(engine.url.database))) as old,
            closing(sqlite3.connect(place)) as new,
        ):
            old.backup(new)
        return f"sqlite:///{place}"
    url, tools = (
        engine.url.set(drivername="postgresql").render_as_string(hide_password=False),
        find_postgres(),
    )
    new = fresh_database(url)
    subprocess.run([f"{tools}/pg_dump", "-Fc", "-f", home / "copy", url], check=True)
    subprocess.run([f"{tools}/pg_restore", "--no-owner", "-d", new, home / "copy"], check=True)
    return new


def test_what_was_approved_goes_on_and_the_journal_follows(
    store: Store, clock: FakeClock, tmp_path: Path
) -> None:
    anchor = tmp_path / "checkpoints.jsonl"
    plan = approved(store, step("s1"), step("s2"))
    succeed(store, plan, "s1")
    checkpoint(store.engine, anchor, clock())
    engine = open_engine(restored(store.engine, tmp_path))
    migrate(engine)
    again = Store(engine, clock)

    succeed(again, plan, "s2")
    newest = checkpoint(engine, anchor, clock())

    assert (again.view(plan).outcome, store.view(plan).state) == ("succeeded", "approved")
    assert check(journal(engine), newest.heads).problems == []
    engine.dispose()


def test_what_happened_after_the_copy_is_missed_and_said(
    store: Store, clock: FakeClock, tmp_path: Path
) -> None:
    anchor = tmp_path / "checkpoints.jsonl"
    plan = approved(store, step("s1"))
    engine = open_engine(restored(store.engine, tmp_path))
    succeed(store, plan, "s1")
    propose(store)
    checkpoint(store.engine, anchor, clock())

    with pytest.raises(Conflict, match="does not follow from its last checkpoint") as said:
        checkpoint(engine, anchor, clock())
    assert f"plan {plan} does not stand at event {len(store.events(plan))} any more" in str(said.value)
    assert "every link holds" not in str(said.value)
    engine.dispose()
