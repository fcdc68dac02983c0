"""What tests, bench and proof of db-backup share: two databases to back up, and ways to damage a file."""

import hashlib
import os
import shutil
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.support.postgres import fresh_database
from workers.base import Context, Preview, Report, Verdict
from workers.builtin.backup.data import BackupParams, ListParams, PruneParams, RestoreParams
from workers.builtin.backup.db_backup import DbBackup

NOW = datetime(2026, 11, 15, 2, 0, tzinfo=UTC)
PARAMS = {
    "backup_database": BackupParams,
    "list_backups": ListParams,
    "prune_backups": PruneParams,
    "restore_database": RestoreParams,
}
Damage = Callable[[Path], object]


def context(tmp_path: Path, key: str = "plan-1/step-2", *, later: float = 0.0, **changes: Any) -> Context:
    """As the engine makes one; `later` is in days."""
    scratch = tmp_path / "scratch"
    scratch.mkdir(exist_ok=True)
    now = NOW + timedelta(days=later)
    return Context(plan=1, step="step-2", attempt=1, key=key, place=scratch, now=lambda: now, **changes)


def filled(server: str) -> str:
    """A new database on this server, with something in it."""
    url = fresh_database(server)
    fill(url)
    return url


def entry_of(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """This PostgreSQL database, as its inventory entry."""
    monkeypatch.setenv("BILLING_URL", url)
    return {"kind": "postgres", "url_env": "BILLING_URL", "directory": str(tmp_path / "backups")}


def act(action: str, entry: dict[str, Any], ctx: Context, **params: Any) -> Report[Any]:
    worker = DbBackup({"databases": {"shop": entry}})
    report: Report[Any] = getattr(DbBackup, action).run(
        worker, PARAMS[action](database="shop", **params), ctx
    )
    return report


def back_up(entry: dict[str, Any], ctx: Context, **params: Any) -> Report[Any]:
    return act("backup_database", entry, ctx, **params)


def preview(action: str, entry: dict[str, Any], ctx: Context, **params: Any) -> Preview:
    return hook("preview", action, entry, ctx, **params)


def probe(action: str, entry: dict[str, Any], ctx: Context, **params: Any) -> Report[Any] | Verdict:
    found: Report[Any] | Verdict = hook("probe", action, entry, ctx, **params)
    return found


def hook(name: str, action: str, entry: dict[str, Any], ctx: Context, **params: Any) -> Any:
    worker = DbBackup({"databases": {"shop": entry}})
    return getattr(DbBackup, action).hooks[name](worker, PARAMS[action](database="shop", **params), ctx)


def good_backups(directory: Path) -> list[Path]:
    return sorted(file for file in directory.iterdir() if file.suffix in (".sqlite", ".gz"))


def make_shop(home: Path) -> dict[str, Any]:
    """An SQLite database in WAL mode, as its inventory entry."""
    path = home / "shop.db"
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
    return {"kind": "sqlite", "path": str(path), "directory": str(home / "backups")}


def fill(url: str, rows: int = 20000) -> None:
    """Tables, partitions, a view, an odd name, a foreign key."""
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE orders (id serial PRIMARY KEY, text text)")
        connection.execute(
            "INSERT INTO orders (text) SELECT md5(n::text) FROM generate_series(1, %s) n", (rows,)
        )
        connection.execute("CREATE TABLE logs (day date) PARTITION BY RANGE (day)")
        connection.execute(
            "CREATE TABLE logs_2026 PARTITION OF logs FOR VALUES FROM ('2026-01-01') TO ('2027-01-01')"
        )
        connection.execute("INSERT INTO logs VALUES ('2026-11-15'), ('2026-11-16')")
        connection.execute('CREATE SCHEMA odd; CREATE TABLE odd."TABLE DATA *" (id int REFERENCES orders)')
        connection.execute('INSERT INTO odd."TABLE DATA *" VALUES (1)')
        connection.execute("CREATE VIEW latest AS SELECT max(id) FROM orders")


def instead_of(program: str, home: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a shell script before a program on the PATH; `$REAL` is the program."""
    place = home / "bin" / program
    place.parent.mkdir(exist_ok=True)
    place.write_text(f"#!/bin/sh\nREAL={shutil.which(program)}\n{script}\n")
    place.chmod(place.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{place.parent}:{os.environ['PATH']}")


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def garble(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2)
        file.write(hashlib.sha512(b"noise").digest())


def flip_a_bit(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2)
        (byte,) = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte ^ 1]))


def empty(path: Path) -> None:
    os.truncate(path, 0)
