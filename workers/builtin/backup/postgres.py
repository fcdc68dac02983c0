"""How a PostgreSQL database is copied into a file and read back, all in one snapshot of it."""

import json
import re
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from workers.base import Permanent
from workers.builtin.backup import gzip_pipe, pg_restoring
from workers.builtin.backup.dumps import Contents, Copied, Counts, Damaged, Scope, compare
from workers.builtin.backup.pg_client import (
    LOCK_WAIT,
    Client,
    Connection,
    line,
    need_tools,
    one,
    through_gzip,
)
from workers.builtin.backup.pg_server import Server, layout_of

DUMP_SECONDS, LIST_SECONDS = 1500.0, 300.0
# gzip_pipe compresses, four times as fast as pg_dump would; that pays for reading the file back meanwhile.
DUMP = ("pg_dump", "-Fc", "-Z0", "-w", f"--lock-wait-timeout={LOCK_WAIT}")
BY_HAND = "gunzip -c FILE | pg_restore --dbname=DATABASE"
TOC = re.compile(r"^\d+; \d+ (\d+) TABLE (DATA )?(?!ATTACH )", re.MULTILINE)
ABOUT = {
    "server": re.compile(r"^;\s+Dumped from database version: (.*)$", re.MULTILINE),
    "tool": re.compile(r"^;\s+Dumped by pg_dump version: (.*)$", re.MULTILINE),
}
CATALOGUE = """
    SELECT c.oid::text, n.nspname, c.relname, c.relkind = 'r', pg_table_size(c.oid)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p') AND c.relpersistence <> 't'
      AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\\_%'
      AND NOT EXISTS (SELECT FROM pg_depend d
                      WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
"""
CHILDREN = "SELECT inhparent::text, inhrelid::text FROM pg_inherits"


@dataclass(frozen=True)
class Table:
    """One table of the catalogue; `plain` ones hold rows themselves."""

    oid: str
    schema: str
    name: str
    plain: bool
    size: int

    @property
    def full(self) -> str:
        return f"{self.schema}.{self.name}"


@dataclass(frozen=True)
class Postgres:
    client: Client
    scratch: Client  # where a backup is restored for a test
    suffix: ClassVar[str] = "dump.gz"

    def size(self, scope: Scope) -> int:
        with self.client.connect() as connection:
            tables = chosen(connection, scope)
        return 0 if scope.backup_type == "schema_only" else int(sum(table.size for table in tables) * 0.6)

    def copy(self, target: Path, scope: Scope, *, count: bool) -> Copied:
        need_tools("pg_dump", "pg_restore")
        with self.client.connect() as connection:
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
            connection.execute("SET LOCAL statement_timeout = 0")
            # pg_dump works in this transaction's snapshot: what others write meanwhile is no false alarm.
            snapshot = str(one(connection, "SELECT pg_export_snapshot()"))
            tables = chosen(connection, scope)
            counts = counted(connection, tables, scope) if count else None
            layout = layout_of(connection, self.client.database)
            sha256 = self._dump(target, [*_options(scope, tables), f"--snapshot={snapshot}"])
        listing = self._list(target)
        compare(_wanted(tables, scope), contents(listing))
        return Copied(sha256, len(tables), counts, about(listing) | layout | {"restore_by_hand": BY_HAND})

    def rehearse(self, backup: Path, scope: Scope, counts: Counts, tag: str) -> None:
        with self.client.connect() as connection:
            layout = layout_of(connection, self.client.database)
        pieces = pg_restoring.PIECES if scope.backup_type == "tables" else []
        pg_restoring.rehearse(self.scratch, tag, layout, backup, pieces, counts)

    def present(self) -> bool:
        return Server(self.client).exists(self.client.database)

    def restore(self, backup: Path, copied: Copied, tag: str, *, stamp: str) -> str:
        need_tools("pg_restore")
        return pg_restoring.restore(self._restorer(), backup, copied, tag, stamp)

    def restored(self, backup: Path, tag: str) -> str | None:
        return pg_restoring.restored(self._restorer(), tag)

    def _restorer(self) -> Client:
        return replace(self.client, unharmed="The database was NOT restored and is as it was")

    def _dump(self, target: Path, options: list[str]) -> str:
        """The digest of what pg_restore read and the disk has."""
        with self.client.login() as (login, env):
            words = through_gzip("pack", target, [*DUMP, *options, f"--dbname={login}"])
            done = self.client.run(words, DUMP_SECONDS, env, on_line=self._progress)
        if done.returncode == gzip_pipe.UNREADABLE:
            raise Damaged(f"pg_restore says: {line(done.text())}")
        if done.returncode == gzip_pipe.CHANGED:
            raise Damaged("what lies on the disk is not what was written; check the disk")
        if done.returncode:
            raise self.client.explain(done.text())
        return str(json.loads(done.text().strip().splitlines()[-1])["sha256"])

    def _progress(self, said: str) -> None:
        with suppress(ValueError, TypeError, KeyError):  # whatever else pg_dump has to say is in its log
            self.client.ctx.progress(f"{int(json.loads(said)['written']) / 1e6:.0f} MB written")

    def _list(self, target: Path) -> str:
        done = self.client.run(through_gzip("feed", target, ["pg_restore", "--list"]), LIST_SECONDS, {})
        if done.returncode:
            raise Damaged(f"pg_restore says: {line(done.text())}")
        return done.log.read_text(errors="replace")


def contents(listing: str) -> Contents:
    """What pg_restore lists. Alone it proves nothing: it is right even when the data behind it is gone."""
    entries = TOC.findall(listing)
    return Contents(
        frozenset(oid for oid, data in entries if not data), {oid: None for oid, data in entries if data}
    )


def about(listing: str) -> dict[str, str]:
    found = {word: pattern.search(listing) for word, pattern in ABOUT.items()}
    return {word: match[1].strip() for word, match in found.items() if match}


def chosen(connection: Connection, scope: Scope) -> list[Table]:
    """The tables in that scope. A name must mean one table; a partitioned one brings its partitions."""
    known = {table.oid: table for table in (Table(*row) for row in connection.execute(CATALOGUE))}
    if scope.backup_type != "tables":
        return [*known.values()]
    children: dict[str, list[str]] = {}
    for parent, child in connection.execute(CHILDREN):
        children.setdefault(parent, []).append(child)
    found: dict[str, Table] = {}
    waiting = [pick(word, [*known.values()]).oid for word in scope.tables]
    while waiting:
        oid = waiting.pop()
        if oid in known and oid not in found:
            found[oid] = known[oid]
            waiting += children.get(oid, [])
    return [*found.values()]


def pick(word: str, known: list[Table]) -> Table:
    """The one table that a word means: schema.name, or a name that only one schema has."""
    exact = [table for table in known if table.full == word]
    found = exact or [table for table in known if table.name == word]
    if len(found) == 1:
        return found[0]
    if found:
        raise Permanent(f"'{word}' may be {' or '.join(sorted(table.full for table in found))}: say which.")
    raise Permanent(f"There is no table '{word}' that can be backed up. Nothing was done.")


def counted(connection: Connection, tables: list[Table], scope: Scope) -> Counts:
    plain = [(table.schema, table.name) for table in tables if table.plain]
    if scope.backup_type == "schema_only":
        return dict.fromkeys((".".join(names) for names in plain), 0)
    return pg_restoring.counts(connection, plain)


def _options(scope: Scope, tables: list[Table]) -> list[str]:
    if scope.backup_type == "schema_only":
        return ["--schema-only"]
    if scope.backup_type == "tables":
        return [f"--table={_exactly(table.schema)}.{_exactly(table.name)}" for table in tables]
    return []


def _exactly(word: str) -> str:
    """A pattern that matches only this: quoted, nothing in it is a wildcard."""
    return '"' + word.replace('"', '""') + '"'


def _wanted(tables: list[Table], scope: Scope) -> Contents:
    data = [] if scope.backup_type == "schema_only" else [table.oid for table in tables if table.plain]
    return Contents(frozenset(table.oid for table in tables), dict.fromkeys(data))
