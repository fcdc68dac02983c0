"""A restore makes a new database and swaps it in; what was there before stays, under a name that is told."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest

from tests.support.backup_site import act, back_up, context, preview, probe
from workers.base import Permanent, Report, Verdict
from workers.builtin.backup import pg_restoring
from workers.builtin.backup.directory import tag
from workers.builtin.backup.pg_client import Client


def value(url: str, query: str) -> Any:
    with psycopg.connect(url) as connection:
        (found,) = connection.execute(query).fetchone() or (None,)
    return found


def orders(path: str | Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        (number,) = connection.execute("SELECT count(*) FROM orders").fetchone()
    return int(number)


def spoil(path: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DELETE FROM orders WHERE id > 5")
        connection.commit()


def named(url: str, database: str) -> str:
    return urlsplit(url)._replace(path=f"/{database}").geturl()


@contextmanager
def busy(url: str) -> Iterator[None]:
    """An application that writes all the time, and connects again when it is thrown out."""
    over, connected = threading.Event(), threading.Event()

    def work() -> None:
        while not over.is_set():
            with suppress(psycopg.Error), psycopg.connect(url, autocommit=True) as connection:
                while not over.is_set():
                    connection.execute("INSERT INTO orders (text) VALUES ('busy')")
                    connected.set()

    thread = threading.Thread(target=work)
    thread.start()
    connected.wait(30)
    try:
        yield
    finally:
        over.set()
        thread.join()


@pytest.mark.postgres
def test_a_restore_test_counts_the_rows_of_the_dumps_own_moment(
    billing: dict[str, Any], url: str, tmp_path: Path
) -> None:
    with busy(url):
        report = back_up(billing, context(tmp_path), restore_test=True)

    assert report.data.level == "restore-tested"
    assert 20003 < report.data.rows < value(url, "SELECT count(*) FROM orders") + 3
    assert "checksummed and restore-tested" in report.summary
    assert value(url, "SELECT count(*) FROM pg_database WHERE datname LIKE 'signoff%'") == 0


@pytest.mark.postgres
def test_a_restored_database_takes_the_old_ones_place_and_the_old_one_stays(
    billing: dict[str, Any], url: str, tmp_path: Path
) -> None:
    made = back_up(billing, context(tmp_path, "backup"), restore_test=True).data
    database = urlsplit(url).path[1:]
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute('DELETE FROM odd."TABLE DATA *"; DELETE FROM orders WHERE id > 5')
        connection.execute(f"ALTER DATABASE {database} SET search_path TO odd, public")
        connection.execute(f"REVOKE CONNECT ON DATABASE {database} FROM PUBLIC")

    name = Path(made.path).name
    with busy(url):
        report = act("restore_database", billing, context(tmp_path, "restore"), backup=name)

    kept = report.data.kept_as
    assert kept.startswith(f"{database[:26]}_before_20261115T020000Z_")
    assert f"the database before is kept as {kept}" in report.summary
    assert value(url, "SELECT count(*) FROM orders WHERE text <> 'busy'") == 20000
    assert value(named(url, kept), "SELECT count(*) FROM orders WHERE text <> 'busy'") == 5
    assert value(url, "SHOW search_path") == "odd, public"
    rights = "SELECT has_database_privilege('pg_monitor', current_database(), 'CONNECT')"
    assert value(url, rights) is False
    assert value(url, "SELECT count(*) FROM pg_database WHERE datname LIKE '%\\_new\\_%'") == 0


@pytest.mark.postgres
def test_a_probe_knows_on_which_side_of_the_swap_it_ended(
    billing: dict[str, Any], url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = Path(back_up(billing, context(tmp_path, "backup")).data.path).name
    ctx = context(tmp_path, "restore")
    never = probe("restore_database", billing, ctx, backup=name)
    with monkeypatch.context() as patch:  # it ends after the new database is filled, and before the swap
        patch.setattr(pg_restoring, "_swap", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            act("restore_database", billing, ctx, backup=name)
    before = probe("restore_database", billing, ctx, backup=name)
    done = act("restore_database", billing, ctx, backup=name)
    after = probe("restore_database", billing, ctx, backup=name)
    other = probe("restore_database", billing, context(tmp_path, "another"), backup=name)

    assert (never, before, other) == (Verdict.did_not_run, Verdict.did_not_run, Verdict.did_not_run)
    assert isinstance(after, Report)
    assert after.data.kept_as == done.data.kept_as


@pytest.mark.postgres
def test_a_database_that_is_gone_can_be_restored(
    billing: dict[str, Any], url: str, postgres: str, tmp_path: Path
) -> None:
    name = Path(back_up(billing, context(tmp_path, "backup")).data.path).name
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {urlsplit(url).path[1:]}")
    shown = preview("restore_database", billing, context(tmp_path), backup=name)
    report = act("restore_database", billing, context(tmp_path), backup=name)

    assert shown.basis["present"] is False
    assert report.data.kept_as == ""
    assert value(url, "SELECT count(*) FROM orders") == 20000


@pytest.mark.postgres
def test_what_a_killed_restore_left_goes_and_what_only_looks_like_it_stays(
    billing: dict[str, Any], url: str, tmp_path: Path
) -> None:
    name = Path(back_up(billing, context(tmp_path, "backup")).data.path).name
    start = f"{urlsplit(url).path[1:]}_new_"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {start}left")
        connection.execute(f"COMMENT ON DATABASE {start}left IS '{pg_restoring.DRAFT}'")
        connection.execute(f"CREATE DATABASE {start}features")
    act("restore_database", billing, context(tmp_path), backup=name)

    with psycopg.connect(url) as connection:
        query = "SELECT datname FROM pg_database WHERE starts_with(datname, %s)"
        assert connection.execute(query, (start,)).fetchall() == [(f"{start}features",)]
        connection.rollback()
        connection.autocommit = True
        connection.execute(f"DROP DATABASE {start}features")


@pytest.mark.postgres
def test_a_backup_that_does_not_restore_changes_nothing(
    billing: dict[str, Any], url: str, tmp_path: Path
) -> None:
    with psycopg.connect(url) as connection:
        connection.execute("CREATE ROLE clerk; ALTER TABLE orders OWNER TO clerk")
    name = Path(back_up(billing, context(tmp_path, "backup")).data.path).name
    with psycopg.connect(url) as connection:
        connection.execute("REASSIGN OWNED BY clerk TO signoff; DROP ROLE clerk")
    oid = value(url, "SELECT oid FROM pg_database WHERE datname = current_database()")

    with pytest.raises(Permanent, match=r"shop was NOT restored and is as it was.*role \"clerk\" does not"):
        act("restore_database", billing, context(tmp_path), backup=name)
    assert value(url, "SELECT oid FROM pg_database WHERE datname = current_database()") == oid
    assert value(url, "SELECT count(*) FROM pg_database WHERE datname LIKE '%\\_new\\_%'") == 0


@pytest.mark.postgres
def test_some_tables_are_backed_up_with_their_partitions_and_tested(
    billing: dict[str, Any], url: str, tmp_path: Path
) -> None:
    wanted = ("logs", "odd.TABLE DATA *")
    report = back_up(billing, context(tmp_path), backup_type="tables", tables=wanted, restore_test=True)

    assert (report.data.tables, report.data.rows, report.data.level) == (3, 3, "restore-tested")
    assert report.summary.startswith("shop backed up (only the named tables): ")
    with pytest.raises(Permanent, match="only a full one can be swapped in"):
        act("restore_database", billing, context(tmp_path), backup=Path(report.data.path).name)


@pytest.mark.postgres
def test_a_table_must_be_known_and_mean_one(billing: dict[str, Any], url: str, tmp_path: Path) -> None:
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE odd.orders (id int)")

    with pytest.raises(Permanent, match=r"'orders' may be odd\.orders or public\.orders: say which"):
        back_up(billing, context(tmp_path), backup_type="tables", tables=("orders",))
    with pytest.raises(Permanent, match=r"There is no table 'ord\*' that can be backed up"):
        back_up(billing, context(tmp_path), backup_type="tables", tables=("ord*",))


@pytest.mark.postgres
def test_the_old_name_of_a_long_one_fits(postgres: str, tmp_path: Path) -> None:
    client = Client("X", named(postgres, "a" * 63), context(tmp_path))

    name = pg_restoring.old_name(client.database, "20261115T020000Z", tag("key"))
    assert len(name) <= 63
    assert name.endswith(tag("key"))


def test_an_sqlite_restore_swaps_files_and_keeps_the_old_one(shop: dict[str, Any], tmp_path: Path) -> None:
    name = Path(back_up(shop, context(tmp_path, "backup"), restore_test=True).data.path).name
    spoil(shop["path"])
    shown = preview("restore_database", shop, context(tmp_path), backup=name)
    before = probe("restore_database", shop, context(tmp_path, "restore"), backup=name)
    report = act("restore_database", shop, context(tmp_path, "restore"), backup=name)
    after = probe("restore_database", shop, context(tmp_path, "restore"), backup=name)

    assert "What was written since is not in it. The database there now is kept" in shown.text
    assert (orders(shop["path"]), orders(report.data.kept_as)) == (2000, 5)
    assert before is Verdict.did_not_run
    assert isinstance(after, Report)
    assert after.data.kept_as == report.data.kept_as
    assert not list(tmp_path.glob("shop.db.new*"))


def test_an_sqlite_database_in_use_is_not_swapped_away(shop: dict[str, Any], tmp_path: Path) -> None:
    name = Path(back_up(shop, context(tmp_path, "backup")).data.path).name
    inode = Path(shop["path"]).stat().st_ino

    with closing(sqlite3.connect(shop["path"])) as user:
        user.execute("SELECT count(*) FROM orders").fetchone()
        with pytest.raises(Permanent, match=r"shop\.db is in use .*It was NOT changed"):
            act("restore_database", shop, context(tmp_path), backup=name)
    assert Path(shop["path"]).stat().st_ino == inode
    assert probe("restore_database", shop, context(tmp_path), backup=name) is Verdict.did_not_run


def test_an_sqlite_database_that_is_gone_can_be_restored(shop: dict[str, Any], tmp_path: Path) -> None:
    name = Path(back_up(shop, context(tmp_path, "backup")).data.path).name
    Path(shop["path"]).unlink()
    report = act("restore_database", shop, context(tmp_path), backup=name)
    ctx = context(tmp_path, previous={"present": False})
    after = probe("restore_database", shop, ctx, backup=name)
    spoil(shop["path"])

    assert report.data.kept_as == ""
    assert isinstance(after, Report)
    with pytest.raises(Permanent, match="nothing says whether this step put it there"):
        probe("restore_database", shop, ctx, backup=name)


def test_some_sqlite_tables_are_backed_up_alone(shop: dict[str, Any], tmp_path: Path) -> None:
    report = back_up(shop, context(tmp_path), backup_type="tables", tables=("orders",), restore_test=True)

    assert (report.data.tables, report.data.rows, report.data.level) == (1, 2000, "restore-tested")
    with closing(sqlite3.connect(report.data.path)) as copy:
        names = copy.execute("SELECT name FROM sqlite_master WHERE name NOT GLOB 'sqlite_*'").fetchall()
    assert names == [("orders",)]
    with pytest.raises(Permanent, match="has no ordinary table nothing"):
        back_up(shop, context(tmp_path, "other"), backup_type="tables", tables=("nothing",))
