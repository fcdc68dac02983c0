"""The migrations make exactly the tables that the code believes in."""

import ast
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import DateTime, Engine, Integer, column, inspect, select
from sqlmodel import SQLModel

import storage.database.engine
from storage.clock import wall
from storage.database import tables
from storage.database.engine import migrate, open_engine
from storage.journal.chain import broken_link
from storage.steps.claims import Claim
from tests.support.fakes import (
    BACKUP,
    approve,
    approved,
    chain,
    contract,
    ok,
    propose,
    step,
    step_row,
    take,
    taker,
)
from tests.support.postgres import fresh_database
from tests.support.store import Store

MIGRATIONS = Path(storage.database.engine.__file__).parent / "migrations"


def differs(context: Any, found: Any, wanted: Any, found_type: Any, wanted_type: Any) -> bool | None:
    """A Moment is kept as the type it decorates; of all other types Alembic can tell."""
    if isinstance(wanted_type, tables.Moment):
        return not isinstance(found_type, DateTime)
    return None


def test_the_schema_is_the_one_of_the_tables(engine):
    with engine.connect() as connection:
        context = MigrationContext.configure(
            connection, opts={"compare_type": differs, "compare_server_default": True}
        )

        assert compare_metadata(context, SQLModel.metadata) == []


@pytest.mark.postgres
@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
def test_every_instant_is_kept_with_its_zone(engine):
    moments = {
        (table.name, column.name)
        for table in SQLModel.metadata.sorted_tables
        for column in table.columns
        if isinstance(column.type, tables.Moment)
    }
    found = inspect(engine)

    assert moments
    assert all(
        column["type"].timezone
        for table in SQLModel.metadata.tables
        for column in found.get_columns(table)
        if (table, column["name"]) in moments
    )


def test_migrating_twice_is_fine(engine):
    before = inspect(engine).get_table_names()
    migrate(engine)

    assert inspect(engine).get_table_names() == before
    assert {*before} == {*SQLModel.metadata.tables, "alembic_version"}


def test_the_revisions_are_one_line():
    script = ScriptDirectory(str(MIGRATIONS))

    assert len(script.get_heads()) == len(script.get_bases()) == 1


# an upgrade with plans in flight


def first_schema(engine: Engine) -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    with engine.execution_options(writes=True).begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")


def copy(store: Store, old: Engine) -> None:
    """The rows of today, as the first schema had them; a message named its event by the event's id."""
    found = inspect(old)
    known = {name: {one["name"] for one in found.get_columns(name)} for name in found.get_table_names()}
    with store.read() as source, old.execution_options(writes=True).begin() as sink:
        events = {(event.plan_id, event.seq): event.id for event in source.rows(tables.Event)}
        for table in (t for t in SQLModel.metadata.sorted_tables if t.name in known):
            kept = [dict(row._mapping) for row in source.execute(select(table))]
            for row in kept if table.name == "message" else ():
                row["event_id"] = events.get((row["plan_id"], row["seq"]), 0)
                row["key"] = f"{row['kind']}:{row['event_id']}" if row["seq"] else row["key"]
            types = {one.name: one.type for one in table.columns} | {"event_id": Integer()}
            places = [column(name, types[name]) for name in known[table.name]]
            if kept:
                sink.execute(
                    sqlalchemy.table(table.name, *places).insert(), [_only(places, row) for row in kept]
                )
            if kept and old.dialect.name == "postgresql" and isinstance(kept[0].get("id"), int):
                number = f"pg_get_serial_sequence('{table.name}', 'id')"
                sink.exec_driver_sql(f"SELECT setval({number}, {max(row['id'] for row in kept)})")


def _only(places: list[Any], row: dict[str, Any]) -> dict[str, Any]:
    return {place.name: row[place.name] for place in places}


PLAIN = contract("look", changes=False, repeat="safe", names={})  # the first schema knew no environments


def plain(store: Store, plan_id: int, key: str) -> Claim | None:
    return store.claim(step_row(store, plan_id, key).id or 0, taker(PLAIN))


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a database with nothing in it."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'old.db'}"
    server = request.getfixturevalue("postgres_engine").url.set(drivername="postgresql")
    return fresh_database(server.render_as_string(hide_password=False))


def test_plans_in_flight_go_on_after_an_upgrade_from_the_first_schema(lite, clock, empty):
    lite.publish([PLAIN])
    waiting = propose(lite)
    pending = approved(lite, *chain("s1", "s2", made=PLAIN))
    lite.succeed(plain(lite, pending, "s1"), ok(), actor="w1")
    running = approved(lite, step("s1", BACKUP))
    held = take(lite, running, "s1")
    upgraded = max(clock(), wall()) + timedelta(minutes=1)  # the migration says that what waits is due now
    later = approved(lite, step("s1", PLAIN, schedule={"not_before": upgraded + timedelta(hours=1)}))
    old = open_engine(empty)
    first_schema(old)
    copy(lite, old)
    migrate(old)
    store = Store(old, clock)
    same = [[message.key for message in one.unsent()] for one in (lite, store)]
    approve(store, waiting)
    clock.now = upgraded
    store.succeed(plain(store, pending, "s2"), ok(), actor="w1")
    ended = store.succeed(held, ok(), actor="w1")
    early = plain(store, later, "s1")
    clock.advance(hours=1)
    store.succeed(plain(store, later, "s1"), ok(), actor="w1")

    assert same[0] == same[1]
    assert (ended, early) == (True, None)
    assert [str(store.view(plan).state) for plan in (waiting, pending, running, later)] == [
        "approved", "done", "done", "done",
    ]  # fmt: skip
    assert all(broken_link(store.events(plan)) is None for plan in (waiting, pending, running, later))
    old.dispose()


@pytest.mark.parametrize("path", sorted(MIGRATIONS.rglob("*.py")), ids=lambda path: path.name)
def test_a_migration_does_not_import_our_code(path):
    tree = ast.parse(path.read_text("utf-8"))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}

    assert not {name for name in names if name.partition(".")[0] in {"storage", "bot", "workers"}}
