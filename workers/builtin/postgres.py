"""How a PostgreSQL database is copied into a file and read back: pg_dump and pg_restore, told no secret."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from workers import process
from workers.base import Context, Permanent, Transient
from workers.builtin.dumps import Contents, Damaged
from workers.process import Finished

DUMP_SECONDS, READ_SECONDS = 1500.0, 300.0
TOC = re.compile(r"^\d+; \d+ (\d+) TABLE (DATA )?(?!ATTACH )", re.MULTILINE)
CATALOGUE = """
    SELECT c.oid::text, c.relkind = 'r' FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p') AND c.relpersistence <> 't'
      AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\\_%'
      AND NOT EXISTS (SELECT FROM pg_depend d
                      WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
"""
SIZE = (
    "SELECT coalesce(sum(pg_table_size(oid)), 0)::bigint FROM pg_class WHERE relkind = 'r' AND oid >= 16384"
)
# What PostgreSQL says, whether trying again can help, and what a person should know.
SAYINGS: tuple[tuple[str, type[Transient] | type[Permanent], str], ...] = (
    (
        "password authentication failed|no password supplied",
        Permanent,
        "The login was refused. Check {variable}",
    ),
    ('database ".*" does not exist', Permanent, "There is no such database. Check {variable}"),
    ('role ".*" does not exist', Permanent, "There is no such user. Check {variable}"),
    ("No space left on device", Permanent, "The disk is full. Free space in the backup directory"),
    ("version mismatch", Permanent, "pg_dump is older than the server. Install the server's client tools"),
    ("permission denied", Permanent, "The user may not read everything. Grant it pg_read_all_data"),
    ("lock timeout|LOCK TABLE", Transient, "A table stayed locked by somebody else. Nothing was changed"),
    ("refused|timeout expired|translate host|starting up|closed the conn", Transient, "No server answers"),
)


@dataclass(frozen=True)
class Postgres:
    variable: str
    url: str = field(repr=False)
    schema_only: bool
    ctx: Context = field(repr=False)
    suffix: ClassVar[str] = "dump"

    def size(self) -> int:
        with self._connect() as connection:
            tables = connection.execute(SIZE).fetchone()
        return 0 if self.schema_only or tables is None else int(tables[0] * 0.6)

    def dump(self, target: Path) -> Contents:
        options = ["-Fc", "-Z1", "-w", "--lock-wait-timeout=30s", "-f", str(target)]
        options += ["--schema-only"] if self.schema_only else []
        with self._connect() as connection, self._login() as (login, env):
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
            # pg_dump works in this transaction's snapshot: a table made meanwhile is no false alarm.
            snapshot = connection.execute("SELECT pg_export_snapshot()").fetchone() or ("",)
            rows = connection.execute(CATALOGUE).fetchall()
            words = ["pg_dump", *options, f"--snapshot={snapshot[0]}", f"--dbname={login}"]
            self._succeed(self._run(words, DUMP_SECONDS, env))
        data = [] if self.schema_only else [oid for oid, plain in rows if plain]
        return Contents(frozenset(oid for oid, _ in rows), dict.fromkeys(data))

    def read(self, target: Path) -> Contents:
        # The list alone proves nothing: it is right even when the data behind it is gone.
        whole = self._run(["pg_restore", "-f", os.devnull, str(target)], READ_SECONDS, {})
        if whole.returncode:
            raise Damaged(f"pg_restore says: {_line(whole.text())}")
        listed = self._run(["pg_restore", "--list", str(target)], READ_SECONDS, {})
        entries = TOC.findall(listed.log.read_text(errors="replace"))
        return Contents(
            frozenset(oid for oid, data in entries if not data), {oid: None for oid, data in entries if data}
        )

    def _run(self, words: list[str], seconds: float, env: dict[str, str]) -> Finished:
        done = process.run(
            words,
            cwd=self.ctx.scratch,
            env=env,
            timeout=seconds,
            scratch=self.ctx.scratch,
            key=self.ctx.key,
            cancelled=self.ctx.cancelled,
        )
        if done.cancelled:
            raise Permanent("The backup was cancelled. No backup was kept; the database is unchanged.")
        if done.timed_out:
            raise Permanent(f"{words[0]} did not finish within {seconds:.0f} s. No backup was kept.")
        return done

    def _succeed(self, done: Finished) -> None:
        if done.returncode:
            raise explain(done.text(), self.variable)

    def _connect(self) -> psycopg.Connection[tuple[Any, ...]]:
        try:
            return psycopg.connect(self.url, connect_timeout=10, application_name="signoff db-backup")
        except psycopg.OperationalError as error:
            raise explain(str(error), self.variable) from None
        except psycopg.ProgrammingError:  # its text may quote the URL, and so the password
            raise Permanent(
                f"{self.variable} holds no URL of the form postgresql://user@host/name."
            ) from None

    @contextmanager
    def _login(self) -> Iterator[tuple[str, dict[str, str]]]:
        """Connection words without the password, and the variable that names the file which holds it."""
        words = conninfo_to_dict(self.url)
        password = words.pop("password", None)
        if password is None:
            yield make_conninfo("", **words), {}
            return
        place = self.ctx.scratch.absolute() / "pgpass"
        for left in place.parent.parent.glob("*/pgpass"):  # by an earlier attempt that was killed
            left.unlink()
        try:
            with open(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                file.write("*:*:*:*:" + re.sub(r"([\\:])", r"\\\1", str(password)) + "\n")
            yield make_conninfo("", **words), {"PGPASSFILE": str(place)}
        finally:
            place.unlink(missing_ok=True)


def explain(text: str, variable: str) -> Transient | Permanent:
    """PostgreSQL's own words, with what they mean for the person who reads them."""
    said = _line(text)
    for pattern, kind, meaning in SAYINGS:
        if re.search(pattern, text):
            return kind(f"{meaning.format(variable=variable)}. No backup was made: {said}")
    return Permanent(f"No backup was made: {said}")


def _line(text: str) -> str:
    """The one line that says what went wrong."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    told = [line for line in lines if "error:" in line or "FATAL" in line]
    return (told or lines or ["it gave no reason"])[0][:300]
