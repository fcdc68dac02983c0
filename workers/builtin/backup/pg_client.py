"""How PostgreSQL is spoken to: by a connection, and by its own tools, which are told no secret."""

import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from workers.base import Context, Permanent, Transient
from workers.builtin.backup import gzip_pipe
from workers.commands import process
from workers.commands.process import Finished

LOCK_WAIT = "30s"  # then somebody else's lock is an answer: waiting without end would hold up their work too
Connection = psycopg.Connection[tuple[Any, ...]]
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
    ("permission denied to create database", Permanent, "The user may not make databases. Grant it CREATEDB"),
    ("permission denied", Permanent, "The user may not read everything. Grant it pg_read_all_data"),
    ("must be (owner|superuser|a member)", Permanent, "The user may not do that. Let the owner's role do it"),
    ("lock timeout|LOCK TABLE", Transient, "A table stayed locked by somebody else"),
    ("refused|timeout expired|translate host|starting up|closed the conn", Transient, "No server answers"),
)


class InUse(Transient):
    """A database cannot be renamed or copied while somebody is connected to it."""


@dataclass(frozen=True)
class Client:
    """One database by its URL. `unharmed` says, in every error, what state things were left in."""

    variable: str
    url: str = field(repr=False)
    ctx: Context = field(repr=False)
    unharmed: str = "No backup was made"

    @property
    def database(self) -> str:
        words = conninfo_to_dict(self.url)
        return str(words.get("dbname") or words.get("user") or "postgres")

    @contextmanager
    def connect(self, database: str = "", *, autocommit: bool = False) -> Iterator[Connection]:
        """Errors of the connection, and of what is done with it, become sentences."""
        options: dict[str, Any] = {"dbname": database} if database else {}
        try:
            with psycopg.connect(
                self.url,
                connect_timeout=10,
                application_name="signoff db-backup",
                autocommit=autocommit,
                **options,
            ) as connection:
                connection.execute(sql.SQL("SET lock_timeout = {}").format(LOCK_WAIT))
                yield connection
        except psycopg.errors.ObjectInUse as error:
            raise InUse(f"Somebody is connected. {self.unharmed}: {line(str(error))}") from None
        except psycopg.ProgrammingError as error:
            if error.sqlstate is None:  # not the server's words: they may quote the URL, and so the password
                raise Permanent(
                    f"{self.variable} holds no URL of the form postgresql://user@host/name."
                ) from None
            raise self.explain(str(error)) from None
        except psycopg.Error as error:
            raise self.explain(str(error)) from None

    @contextmanager
    def login(self, database: str = "") -> Iterator[tuple[str, dict[str, str]]]:
        """Connection words without the password, and the variable that names the file which holds it."""
        words = conninfo_to_dict(self.url)
        password = words.pop("password", None)
        words |= {"dbname": database} if database else {}
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

    def run(self, words: list[str], seconds: float, env: dict[str, str], **options: Any) -> Finished:
        done = process.run(
            words,
            cwd=self.ctx.scratch,
            env=env,
            timeout=seconds,
            scratch=self.ctx.scratch,
            key=self.ctx.key,
            cancelled=self.ctx.cancelled,
            **options,
        )
        if done.cancelled:
            raise Permanent(f"It was cancelled. {self.unharmed}.")
        if done.timed_out:
            tool = next(word for word in words if word.startswith("pg_"))
            raise Permanent(f"{tool} did not finish within {seconds:.0f} s. {self.unharmed}.")
        return done

    def explain(self, text: str) -> Transient | Permanent:
        """PostgreSQL's own words, with what they mean for the person who reads them."""
        said = line(text)
        for pattern, kind, meaning in SAYINGS:
            if re.search(pattern, text):
                return kind(f"{meaning.format(variable=self.variable)}. {self.unharmed}: {said}")
        return Permanent(f"{self.unharmed}: {said}")


def through_gzip(work: str, file: Path, words: list[str]) -> list[str]:
    """That command, with the gzip file as its output ("pack") or its input ("feed")."""
    return [sys.executable, "-I", gzip_pipe.__file__, work, str(file.absolute()), *words]


def need_tools(*names: str) -> None:
    for name in names:
        if shutil.which(name) is None:
            raise Permanent(
                f"The program '{name}' is not installed where the workers run; nothing was run. "
                "Install PostgreSQL's client tools."
            )


def one(connection: Connection, query: str, *values: object) -> Any:
    """The first value of the first row, or None."""
    found = connection.execute(query, values).fetchone()
    return found[0] if found else None


def line(text: str) -> str:
    """The one line that says what went wrong."""
    lines = [part.strip() for part in text.splitlines() if part.strip()]
    told = [part for part in lines if "error:" in part or "FATAL" in part]
    return (told or lines or ["it gave no reason"])[0][:300]
