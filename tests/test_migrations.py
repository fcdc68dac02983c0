"""The migrations make exactly the tables that the code believes in."""

import ast
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import DateTime, inspect
from sqlmodel import SQLModel

import storage.engine
from storage import tables
from storage.engine import migrate

MIGRATIONS = Path(storage.engine.__file__).parent / "migrations"


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


@pytest.mark.parametrize("path", sorted(MIGRATIONS.rglob("*.py")), ids=lambda path: path.name)
def test_a_migration_does_not_import_our_code(path):
    tree = ast.parse(path.read_text("utf-8"))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}

    assert not {name for name in names if name.partition(".")[0] in {"storage", "bot", "workers"}}
