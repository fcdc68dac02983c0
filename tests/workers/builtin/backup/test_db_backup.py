"""A backup is whole, checked and made once per step, or it is not there."""

import os
import sqlite3
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import psycopg
import pytest

from tests.support.backup_site import (
    Damage,
    back_up,
    context,
    empty,
    flip_a_bit,
    garble,
    good_backups,
    instead_of,
    preview,
    truncate,
)
from tests.support.postgres import USER, fresh_database, postgres_server
from workers.base import Permanent, Transient
from workers.builtin.backup import pg_client
from workers.builtin.backup.directory import checksum
from workers.builtin.backup.dumps import Scope
from workers.builtin.backup.pg_client import Client
from workers.builtin.backup.postgres import Postgres

PASSWORD = "s3:cr\\et@/ pass"
DAMAGES: list[Damage] = [truncate, garble, flip_a_bit, empty, Path.unlink]


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


def test_an_sqlite_backup_is_read_back_and_told(shop: dict[str, Any], tmp_path: Path) -> None:
    report = back_up(shop, context(tmp_path))

    data = report.data
    assert report.status == "succeeded"
    assert report.summary.startswith("shop backed up: ")
    assert f"{data.tables} tables with {data.rows} rows, read back and checksummed (not " in report.summary
    assert f"{Path(data.path).name}, sha256 {data.sha256[:12]}; " in report.summary
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

    assert (second.data.path, second.data.sha256) == (first.data.path, first.data.sha256)
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


def test_too_little_room_is_noticed_before_the_work(shop: dict[str, Any], tmp_path: Path) -> None:
    os.truncate(shop["path"], 10**13)  # a file of ten terabytes that are not there

    assert "Too little: it would be refused." in preview("backup_database", shop, context(tmp_path)).text
    with pytest.raises(Permanent, match=r"about 10\.0 TB are needed\. Free some space"):
        back_up(shop, context(tmp_path))
    assert not Path(shop["directory"]).exists()


@pytest.mark.postgres
def test_a_postgres_backup_is_read_back_and_restores(
    billing: dict[str, Any], url: str, tmp_path: Path
) -> None:
    report = back_up(billing, context(tmp_path))

    assert report.status == "succeeded"
    assert (report.data.tables, report.data.rows, report.data.verified) == (4, None, True)
    other = fresh_database(url)
    by_hand = f"gunzip -c {report.data.path} | pg_restore --exit-on-error -d '{other}'"
    subprocess.run(["sh", "-c", by_hand], check=True)
    with psycopg.connect(other) as connection:
        assert connection.execute("SELECT count(*) FROM orders").fetchone() == (20000,)


@pytest.mark.postgres
def test_relative_directories_are_those_of_the_engine(
    billing: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    report = back_up(billing | {"directory": "backups"}, context(Path()))

    assert Path(report.data.path).parent == tmp_path / "backups"
    assert Path(report.data.path).stat().st_mode & 0o777 == 0o600


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

    assert (second.path, second.sha256) == (first.path, first.sha256)
    assert len(good_backups(Path(billing["directory"]))) == 1


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
    client = Client("BILLING_URL", url, context(tmp_path))

    with pytest.raises(Permanent, match="The disk is full"):
        Postgres(client, client).copy(Path("/dev/full"), Scope(), count=False)


@pytest.mark.postgres
def test_a_missing_pg_dump_is_a_sentence(
    billing: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(Permanent, match="The program 'pg_dump' is not installed where the workers run"):
        back_up(billing, context(tmp_path))

    assert not list(Path(billing["directory"]).iterdir())


@pytest.mark.postgres
def test_a_long_dump_says_how_far_it_is(
    billing: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    instead_of("pg_dump", tmp_path, '"$REAL" "$@" | (head -c 100000; sleep 2.1; cat)', monkeypatch)
    said: list[str] = []
    back_up(billing, context(tmp_path, progress=said.append))

    assert said == ["copying and reading back", "0 MB written"]


@pytest.mark.postgres
def test_a_cancelled_backup_keeps_nothing(billing: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(Permanent, match=r"It was cancelled. No backup was made."):
        back_up(billing, context(tmp_path, cancelled=lambda: True))

    assert not list(Path(billing["directory"]).iterdir())
    assert not (tmp_path / "scratch" / "pgpass").exists()


@pytest.mark.postgres
def test_a_table_that_stays_locked_is_not_waited_for(
    billing: dict[str, Any], url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pg_client, "LOCK_WAIT", "200ms")

    with psycopg.connect(url) as somebody:
        somebody.execute("LOCK TABLE orders IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(Transient, match=r"A table stayed locked by somebody else\. No backup was made"):
            back_up(billing, context(tmp_path))
    assert back_up(billing, context(tmp_path)).status == "succeeded"


def test_a_lock_of_somebody_else_may_go_away(tmp_path: Path) -> None:
    said = "pg_dump: error: query failed: ERROR:  canceling statement due to lock timeout"

    client = Client("BILLING_URL", "", context(tmp_path))

    assert isinstance(client.explain(said), Transient)
    assert isinstance(
        client.explain("pg_dump: error: aborting because of server version mismatch"), Permanent
    )
