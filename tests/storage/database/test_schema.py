"""Looking at a database changes nothing of it, and says whose release it is of."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, make_url, text
from sqlalchemy.exc import DBAPIError

from storage.database.engine import migrate, open_engine
from storage.database.schema import KNOWN, MIGRATIONS, newest, open_to_look
from storage.errors import BadConfig, Unavailable
from tests.conftest import emptied
from tests.support.places import elsewhere
from tests.support.postgres import fresh_database


def made(path: Path) -> str:
    url = f"sqlite:///{path}"
    engine = open_engine(url)
    migrate(engine)
    engine.dispose()
    return url


def seen(folder: Path) -> list[tuple[str, int, int]]:
    return sorted((one.name, one.stat().st_mtime_ns, one.stat().st_size) for one in folder.iterdir())


def counted(engine: Engine) -> int:
    with engine.connect() as connection:
        return int(connection.execute(text("SELECT count(*) FROM plan")).scalar_one())


def test_the_schemas_that_are_known_are_those_of_the_migrations() -> None:
    scripts = ScriptDirectory(str(MIGRATIONS))

    assert [one.revision for one in scripts.walk_revisions()] == KNOWN[::-1]
    assert scripts.get_current_head() == newest()


def test_a_process_that_has_nothing_to_migrate_does_not_import_alembic() -> None:
    asked = [
        sys.executable,
        "-c",
        "import sys, bot.process, workers.__main__; print('alembic' in sys.modules)",
    ]

    assert subprocess.run(asked, capture_output=True, text=True, check=True).stdout == "False\n"


def test_where_nothing_is_nothing_is_made(tmp_path: Path) -> None:
    with pytest.raises(BadConfig, match="There is no database at"):
        open_to_look(f"sqlite:///{tmp_path / 'deep' / 'x.db'}")

    assert list(tmp_path.iterdir()) == []


def test_a_database_that_nobody_uses_is_read_without_a_trace(tmp_path: Path) -> None:
    url = made(tmp_path / "x.db")
    before = seen(tmp_path)
    engine = open_to_look(url)
    found = counted(engine)
    engine.dispose()

    assert (found, [name for name, *_ in before]) == (0, ["x.db"])
    assert seen(tmp_path) == before


def test_a_database_in_use_is_read_as_it_is_now_and_its_log_is_left_alone(tmp_path: Path) -> None:
    url = made(tmp_path / "x.db")
    writer = open_engine(url)
    with writer.begin() as connection:
        connection.execute(
            text("INSERT INTO stop (scope, reason, by, since) VALUES ('all', 'r', 'U', '2026-01-01')")
        )
    before = [name for name, *_ in seen(tmp_path)]
    engine = open_to_look(url)
    with engine.connect() as connection:
        rows = connection.execute(text("SELECT count(*) FROM stop")).scalar_one()
    engine.dispose()

    assert (rows, before) == (1, ["x.db", "x.db-shm", "x.db-wal"])
    assert [name for name, *_ in seen(tmp_path)] == before
    writer.dispose()


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Those of pytest are closed to everybody but who runs it."""
    with tempfile.TemporaryDirectory(prefix="signoff-look-") as found:
        yield Path(found)


def test_a_folder_in_which_one_may_not_write_can_be_looked_at(open_folder: Path) -> None:
    url = made(open_folder / "x.db")
    (open_folder / "x.db").chmod(0o444)
    open_folder.chmod(0o555)

    def may_not_write() -> bool:
        return not os.access(open_folder, os.W_OK) and not os.access(open_folder / "x.db", os.W_OK)

    assert elsewhere(may_not_write, as_nobody=True)
    assert elsewhere(lambda: counted(open_to_look(url)) == 0, as_nobody=True)


def test_who_looks_cannot_write(engine: Engine) -> None:
    look = open_to_look(engine.url.render_as_string(hide_password=False))

    with pytest.raises(DBAPIError, match=r"read-?only"), look.begin() as connection:
        connection.execute(text("DELETE FROM plan"))
    look.dispose()


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def own(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return made(tmp_path / "x.db")
    url = fresh_database(emptied(request.getfixturevalue("postgres_engine")).url.set(drivername="postgresql")
                         .render_as_string(hide_password=False))  # fmt: skip
    engine = open_engine(url)
    migrate(engine)
    engine.dispose()
    return url


def set_to(url: str, version: str) -> None:
    engine = open_engine(url)
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = :v"), {"v": version})
    engine.dispose()


def test_an_older_schema_is_said_and_left_as_it_is(own: str) -> None:
    set_to(own, "0001")

    with pytest.raises(BadConfig, match=rf"of an older release \(schema 0001; this one has {newest()}\)"):
        open_to_look(own)


def test_a_newer_schema_is_said_by_who_looks_and_by_who_would_migrate(own: str) -> None:
    set_to(own, "9999")
    engine = open_engine(own)

    with pytest.raises(BadConfig, match="of a newer release"):
        open_to_look(own)
    with pytest.raises(BadConfig, match="of a newer release"):
        migrate(engine)
    engine.dispose()


@pytest.mark.postgres
def test_an_empty_or_absent_database_of_a_server_is_said(postgres_engine: Engine) -> None:
    server = postgres_engine.url.set(drivername="postgresql").render_as_string(hide_password=False)

    with pytest.raises(BadConfig, match="The database is empty"):
        open_to_look(fresh_database(server))
    with pytest.raises(Unavailable, match="does not exist"):
        open_to_look(make_url(server).set(database="none").render_as_string(hide_password=False))
