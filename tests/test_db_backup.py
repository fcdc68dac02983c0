"""A backup is whole, checked and made once per step, or it is not there."""

import hashlib
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import psycopg
import pytest

from tests.postgres import USER, fresh_database, postgres_server
from workers.base import Context, Permanent, Report, Transient
from workers.builtin.db_backup import BackupParams, DbBackup, Shelf, checksum
from workers.builtin.dumps import Contents, Damaged, Sqlite, compare
from workers.builtin.postgres import Postgres, explain

PASSWORD = "s3:cr\\et@/ pass"
NOW = datetime(2026, 11, 15, 2, 0, tzinfo=UTC)
ENGINE = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from workers.base import Context
from workers.builtin.db_backup import BackupParams, DbBackup
path, directory, scratch = sys.argv[1:]
worker = DbBackup({"databases": {"shop": {"kind": "sqlite", "path": path, "directory": directory}}})
ctx = Context(plan=1, step="s", attempt=1, key="k", scratch=Path(scratch), now=lambda: datetime.now(UTC))
print("ready", flush=True)
DbBackup.backup_database.run(worker, BackupParams(database="shop"), ctx)
"""
Damage = Callable[[Path], None]


def context(tmp_path: Path, key: str = "plan-1/step-2", **changes: Any) -> Context:
    scratch = tmp_path / "scratch"
    scratch.mkdir(exist_ok=True)
    return Context(plan=1, step="step-2", attempt=1, key=key, scratch=scratch, now=lambda: NOW, **changes)


def back_up(entry: dict[str, Any], ctx: Context, **params: Any) -> Report[Any]:
    worker = DbBackup({"databases": {"shop": entry}})
    report: Report[Any] = DbBackup.backup_database.run(worker, BackupParams(database="shop", **params), ctx)
    return report


def good_backups(directory: Path) -> list[Path]:
    return sorted(file for file in directory.iterdir() if file.suffix in (".sqlite", ".dump"))


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def garble(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2)
        file.write(hashlib.sha512(b"noise").digest())


def empty(path: Path) -> None:
    os.truncate(path, 0)


DAMAGES: list[Damage] = [truncate, garble, empty, Path.unlink]


@pytest.fixture
def shop(tmp_path: Path) -> dict[str, Any]:
    """An SQLite database in WAL mode, as its inventory entry."""
    path = tmp_path / "shop.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT UNIQUE)")
        connection.execute('CREATE TABLE "odd ""name" (id INTEGER)')
        connection.execute("CREATE VIEW latest AS SELECT max(id) FROM orders")
        connection.execute("CREATE VIRTUAL TABLE words USING fts5(text)")
        connection.execute("INSERT INTO words VALUES ('found')")
        connection.executemany(
            "INSERT INTO orders (text) VALUES (?)", [(f"order {n}" * 9,) for n in range(2000)]
        )
        connection.commit()
    return {"kind": "sqlite", "path": str(path), "directory": str(tmp_path / "backups")}


@pytest.fixture
def writer(shop: dict[str, Any]) -> Iterator[None]:
    """Somebody who adds orders all the time."""
    stop = threading.Event()

    def write() -> None:
        with closing(sqlite3.connect(shop["path"], timeout=30)) as connection:
            while not stop.is_set():
                connection.execute("INSERT INTO orders (text) VALUES (?)", (f"{time.monotonic_ns()}" * 50,))
                connection.commit()

    thread = threading.Thread(target=write)
    thread.start()
    yield
    stop.set()
    thread.join()


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with postgres_server(password="plain") as url:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"ALTER USER {USER} PASSWORD '{PASSWORD}'")
        yield url.replace(":plain@", f":{quote(PASSWORD, safe='')}@")


@pytest.fixture
def url(server: str) -> str:
    made = fresh_database(server)
    with psycopg.connect(made) as connection:
        connection.execute("CREATE TABLE orders (id serial PRIMARY KEY, text text)")
        connection.execute("INSERT INTO orders (text) SELECT md5(n::text) FROM generate_series(1, 20000) n")
        connection.execute("CREATE TABLE logs (day date) PARTITION BY RANGE (day)")
        connection.execute(
            "CREATE TABLE logs_2026 PARTITION OF logs FOR VALUES FROM ('2026-01-01') TO ('2027-01-01')"
        )
        connection.execute('CREATE SCHEMA odd; CREATE TABLE odd."TABLE DATA x" (id int)')
        connection.execute("CREATE VIEW latest AS SELECT max(id) FROM orders")
    return made


@pytest.fixture
def billing(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A PostgreSQL database, as its inventory entry."""
    monkeypatch.setenv("BILLING_URL", url)
    return {"kind": "postgres", "url_env": "BILLING_URL", "directory": str(tmp_path / "backups")}


def test_an_sqlite_backup_is_read_back_and_told(shop: dict[str, Any], tmp_path: Path) -> None:
    report = back_up(shop, context(tmp_path))

    data = report.data
    assert report.status == "succeeded"
    assert report.summary.startswith("shop backed up: ")
    assert report.summary.endswith(f"{data.tables} tables, read back and checksummed (not restore-tested)")
    assert (data.verified, data.level, data.sha256) == (True, "read-verified", checksum(Path(data.path)))
    with closing(sqlite3.connect(data.path)) as copy:
        assert copy.execute("SELECT count(*) FROM orders").fetchone() == (2000,)
        assert copy.execute("SELECT text FROM words WHERE words MATCH 'found'").fetchone() == ("found",)


def test_a_backup_is_for_its_owner_only_and_nothing_else_is_left(
    shop: dict[str, Any], tmp_path: Path
) -> None:
    data = back_up(shop, context(tmp_path)).data

    files = list(Path(shop["directory"]).iterdir())
    assert {str(file) for file in files} == {data.path, f"{data.path}.json"}
    assert [file.stat().st_mode & 0o777 for file in files] == [0o600, 0o600]
    assert Path(shop["directory"]).stat().st_mode & 0o777 == 0o700


@pytest.mark.usefixtures("writer")
def test_a_busy_database_gives_no_false_alarm(shop: dict[str, Any], tmp_path: Path) -> None:
    rows = [back_up(shop, context(tmp_path, key=f"step-{n}")).data.rows for n in range(15)]

    assert rows == sorted(rows)
    assert rows[-1] > rows[0]


def test_a_schema_backup_has_the_tables_but_no_rows(shop: dict[str, Any], tmp_path: Path) -> None:
    report = back_up(shop, context(tmp_path), backup_type="schema_only")

    assert report.summary.startswith("shop backed up (schema only)")
    with closing(sqlite3.connect(report.data.path)) as copy:
        assert copy.execute("SELECT count(*) FROM orders").fetchone() == (0,)
        assert copy.execute("SELECT * FROM latest").fetchone() == (None,)


def test_the_same_key_twice_is_one_backup(shop: dict[str, Any], tmp_path: Path) -> None:
    first = back_up(shop, context(tmp_path))
    second = back_up(shop, context(tmp_path))

    assert second.data == first.data
    assert second.summary.endswith("made by an earlier attempt, checked again")
    assert len(good_backups(Path(shop["directory"]))) == 1


def test_another_key_is_another_backup(shop: dict[str, Any], tmp_path: Path) -> None:
    first = back_up(shop, context(tmp_path, key="one"))
    second = back_up(shop, context(tmp_path, key="two"))

    assert good_backups(Path(shop["directory"])) == sorted([Path(first.data.path), Path(second.data.path)])


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_backup_damaged_since_is_not_shown_again_as_good(
    shop: dict[str, Any], tmp_path: Path, damage: Damage
) -> None:
    first = back_up(shop, context(tmp_path)).data
    damage(Path(first.path))

    second = back_up(shop, context(tmp_path)).data

    assert good_backups(Path(shop["directory"])) == [Path(second.path)]
    assert checksum(Path(second.path)) == second.sha256


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_sqlite_copy_is_noticed(shop: dict[str, Any], tmp_path: Path, damage: Damage) -> None:
    source, copy = Sqlite(Path(shop["path"]), schema_only=False), tmp_path / "copy"
    wanted = source.dump(copy)
    compare(wanted, source.read(copy))
    damage(copy)

    with pytest.raises(Damaged):
        compare(wanted, source.read(copy))


def test_a_copy_that_lacks_a_table_or_a_row_is_damaged() -> None:
    wanted = Contents(frozenset({"a", "b"}), {"a": 3, "b": None})

    compare(wanted, wanted)
    with pytest.raises(Damaged, match="lacks 1 tables and the rows of 1"):
        compare(wanted, Contents(frozenset({"a"}), {"a": 3}))
    with pytest.raises(Damaged, match="lacks 0 tables and the rows of 1"):
        compare(wanted, Contents(frozenset({"a", "b"}), {"a": 2, "b": None}))


@pytest.mark.crash
def test_a_killed_backup_is_never_seen_as_a_good_one(shop: dict[str, Any], tmp_path: Path) -> None:
    directory = Path(shop["directory"])
    for round_ in range(8):
        words = [sys.executable, "-c", ENGINE, shop["path"], str(directory), str(context(tmp_path).scratch)]
        with subprocess.Popen(words, stdout=subprocess.PIPE) as engine:
            assert engine.stdout is not None
            engine.stdout.readline()
            time.sleep(round_ * 0.004)
            engine.send_signal(signal.SIGKILL)
        for file in good_backups(directory) if directory.exists() else []:
            assert file.with_name(f"{file.name}.json").exists()

    report = back_up(shop, context(tmp_path, key="k"))

    assert [str(file) for file in good_backups(directory)] == [report.data.path]
    assert not list(directory.glob("*.partial*"))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"path": "/nowhere/shop.db"}, "The database file /nowhere/shop.db does not exist"),
        ({"path": __file__}, "SQLite says 'file is not a database'"),
        ({"kind": "oracle"}, "has kind 'oracle'; known: sqlite, postgres"),
        ({"kind": "postgres"}, "in signoff.toml needs 'url_env'"),
        (
            {"kind": "postgres", "url_env": "NOT_SET_ANYWHERE"},
            "NOT_SET_ANYWHERE is not set where the workers run",
        ),
        ({"directory": ""}, "in signoff.toml needs 'directory'"),
        ({"directory": "/proc/backups"}, "shop was NOT backed up: "),
    ],
)
def test_what_cannot_work_is_a_sentence(
    shop: dict[str, Any], tmp_path: Path, change: dict[str, str], sentence: str
) -> None:
    with pytest.raises(Permanent) as caught:
        back_up(shop | change, context(tmp_path))

    assert sentence in str(caught.value)


def test_too_little_room_is_noticed_before_the_work(tmp_path: Path) -> None:
    with pytest.raises(Permanent, match=r"about 1000000\.0 TB are needed\. Free some space"):
        Shelf(tmp_path, BackupParams(database="shop"), context(tmp_path)).check_room(10**18)


@pytest.mark.postgres
def test_a_postgres_backup_is_read_back_and_restores(
    billing: dict[str, Any], url: str, tmp_path: Path
) -> None:
    report = back_up(billing, context(tmp_path))

    assert report.status == "succeeded"
    assert (report.data.tables, report.data.rows, report.data.verified) == (4, None, True)
    other = fresh_database(url)
    subprocess.run(["pg_restore", "--exit-on-error", "-d", other, report.data.path], check=True)
    with psycopg.connect(other) as connection:
        assert connection.execute("SELECT count(*) FROM orders").fetchone() == (20000,)


@pytest.mark.postgres
def test_relative_directories_are_those_of_the_engine(
    billing: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    report = back_up(billing | {"directory": "backups"}, context(Path()))

    assert Path(report.data.path).parent == tmp_path / "backups"


@pytest.mark.postgres
def test_a_password_that_a_killed_attempt_left_is_removed(billing: dict[str, Any], tmp_path: Path) -> None:
    left = tmp_path / "earlier" / "pgpass"
    left.parent.mkdir()
    left.write_text("*:*:*:*:old")

    back_up(billing, context(tmp_path))

    assert not left.exists()


@pytest.mark.postgres
def test_a_postgres_schema_backup_is_verified_too(billing: dict[str, Any], tmp_path: Path) -> None:
    full = back_up(billing, context(tmp_path, key="full")).data
    schema = back_up(billing, context(tmp_path, key="schema"), backup_type="schema_only").data

    assert schema.tables == full.tables == 4
    assert schema.bytes < full.bytes / 10


@pytest.mark.postgres
def test_the_same_key_twice_is_one_postgres_backup(billing: dict[str, Any], tmp_path: Path) -> None:
    first = back_up(billing, context(tmp_path)).data
    second = back_up(billing, context(tmp_path)).data

    assert second == first
    assert len(good_backups(Path(billing["directory"]))) == 1


@pytest.mark.postgres
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_postgres_copy_is_noticed(url: str, tmp_path: Path, damage: Damage) -> None:
    source, copy = Postgres("BILLING_URL", url, False, context(tmp_path)), tmp_path / "copy"
    wanted = source.dump(copy)
    compare(wanted, source.read(copy))
    damage(copy)

    with pytest.raises(Damaged):
        compare(wanted, source.read(copy))


@pytest.mark.postgres
def test_a_copy_without_one_table_is_noticed(url: str, tmp_path: Path) -> None:
    source = Postgres("BILLING_URL", url, False, context(tmp_path))
    wanted = source.dump(tmp_path / "copy")
    subprocess.run(["pg_dump", "-Fc", "-T", "orders", "-f", tmp_path / "less", url], check=True)

    with pytest.raises(Damaged, match="lacks 1 tables and the rows of 1"):
        compare(wanted, source.read(tmp_path / "less"))


@pytest.mark.postgres
def test_the_password_is_nowhere(billing: dict[str, Any], tmp_path: Path) -> None:
    seen: set[bytes] = set()
    done = threading.Event()

    def watch() -> None:
        while not done.is_set():
            seen.update(command_lines())

    watcher = threading.Thread(target=watch)
    watcher.start()
    report = back_up(billing, context(tmp_path))
    done.set()
    watcher.join()

    kept = [file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()]
    told = report.model_dump_json().encode()
    assert any(b"pg_dump" in line for line in seen)
    for secret in (
        PASSWORD.encode(),
        PASSWORD.replace("\\", "\\\\").encode(),
        quote(PASSWORD, safe="").encode(),
    ):
        assert not any(secret in text for text in [*kept, *seen, told])
    assert not (tmp_path / "scratch" / "pgpass").exists()


def command_lines() -> set[bytes]:
    found = set()
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.add(place.read_bytes())
        except OSError:
            continue
    return found


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("old", "new", "kind", "sentence"),
    [
        (quote(PASSWORD, safe=""), "wrong", Permanent, "The login was refused. Check BILLING_URL."),
        ("/t_", "/u_", Permanent, "There is no such database. Check BILLING_URL."),
        ("127.0.0.1", "127.0.0.2", Transient, "No server answers."),
        ("postgresql://", "mysql://", Permanent, "BILLING_URL holds no URL of the form postgresql://"),
    ],
    ids=["wrong password", "no such database", "no server", "no URL"],
)
def test_a_wrong_address_is_a_sentence_without_the_password(
    billing: dict[str, Any],
    url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    old: str,
    new: str,
    kind: type[Exception],
    sentence: str,
) -> None:
    monkeypatch.setenv("BILLING_URL", url.replace(old, new))

    with pytest.raises(kind) as caught:
        back_up(billing, context(tmp_path))

    assert str(caught.value).startswith(sentence)
    assert urlsplit(url).password not in str(caught.value)
    assert not Path(billing["directory"]).exists()


@pytest.mark.postgres
def test_a_full_disk_is_a_sentence(url: str, tmp_path: Path) -> None:
    with pytest.raises(Permanent, match="The disk is full"):
        Postgres("BILLING_URL", url, False, context(tmp_path)).dump(Path("/dev/full"))


@pytest.mark.postgres
def test_a_missing_pg_dump_is_a_sentence(
    billing: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(Permanent, match="The program 'pg_dump' is not installed where the workers run"):
        back_up(billing, context(tmp_path))

    assert not list(Path(billing["directory"]).iterdir())


@pytest.mark.postgres
def test_a_cancelled_backup_keeps_nothing(billing: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(Permanent, match="The backup was cancelled"):
        back_up(billing, context(tmp_path, cancelled=lambda: True))

    assert not list(Path(billing["directory"]).iterdir())
    assert not (tmp_path / "scratch" / "pgpass").exists()


def test_a_lock_of_somebody_else_may_go_away() -> None:
    said = "pg_dump: error: query failed: ERROR:  canceling statement due to lock timeout"

    assert isinstance(explain(said, "BILLING_URL"), Transient)
    assert isinstance(explain("pg_dump: error: aborting because of server version mismatch", "X"), Permanent)
