"""What a copy of a database must contain; and how an SQLite database is copied into a file and read back."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol

from workers.base import Permanent, Transient

OWN = "sqlite_master WHERE sql IS NOT NULL AND name NOT GLOB 'sqlite_*'"
VIRTUAL = "(sql LIKE 'CREATE VIRTUAL%')"


class Damaged(Exception):
    """The copy cannot be read back as what was copied."""


@dataclass(frozen=True)
class Contents:
    """Which tables there are, and of which of them the rows too; None when those were not counted."""

    tables: frozenset[str]
    rows: dict[str, int | None]

    def count(self) -> int | None:
        counted = [number for number in self.rows.values() if number is not None]
        return sum(counted) if len(counted) == len(self.rows) else None


class Source(Protocol):
    suffix: ClassVar[str]

    def size(self) -> int:
        """About how many bytes a copy may take."""

    def dump(self, target: Path) -> Contents:
        """Write the copy into that file; what was in the database at that moment."""

    def read(self, target: Path) -> Contents:
        """Read the whole copy; what is in it. Damaged when it cannot be read."""


def compare(wanted: Contents, found: Contents) -> None:
    """Damaged when the copy lacks something that was in the database."""
    lacking = sorted(wanted.tables - found.tables)
    differing = sorted(name for name, number in wanted.rows.items() if found.rows.get(name, -1) != number)
    if lacking or differing:
        raise Damaged(f"the copy lacks {len(lacking)} tables and the rows of {len(differing)}")


@dataclass(frozen=True)
class Sqlite:
    path: Path
    schema_only: bool
    suffix: ClassVar[str] = "sqlite"

    def size(self) -> int:
        if not self.path.is_file():
            raise Permanent(f"The database file {self.path} does not exist. Check its path in signoff.toml.")
        return self.path.stat().st_size

    def dump(self, target: Path) -> Contents:
        try:
            with closing(_open(self.path, "mode=ro")) as source, closing(sqlite3.connect(target)) as copy:
                source.execute("BEGIN")  # rows are counted and copied in one snapshot
                wanted = _sqlite_contents(source, with_rows=not self.schema_only)
                _copy_schema(source, copy) if self.schema_only else source.backup(copy)
        except sqlite3.DatabaseError as error:
            kind = Transient if "locked" in str(error) else Permanent
            raise kind(f"{self.path.name} was not backed up: SQLite says '{error}'.") from error
        return wanted

    def read(self, target: Path) -> Contents:
        try:
            with closing(_open(target, "mode=ro&immutable=1")) as copy:
                said = [row[0] for row in copy.execute("PRAGMA integrity_check(5)")]
                if said != ["ok"]:
                    raise Damaged(f"SQLite's integrity check says: {'; '.join(said)}")
                return _sqlite_contents(copy, with_rows=not self.schema_only)
        except sqlite3.DatabaseError as error:
            raise Damaged(f"SQLite says: {error}") from error


def _open(path: Path, options: str) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.resolve().as_uri()}?{options}", uri=True, timeout=30, isolation_level=None)


def _sqlite_contents(connection: sqlite3.Connection, *, with_rows: bool) -> Contents:
    found = connection.execute(f"SELECT name, {VIRTUAL} FROM {OWN} AND type = 'table'").fetchall()  # noqa: S608 # constants
    # A virtual table keeps its rows in ordinary ones beside it, and its module may be missing here.
    counted = [name for name, virtual in found if with_rows and not virtual]
    return Contents(frozenset(name for name, _ in found), {name: _rows(connection, name) for name in counted})


def _rows(connection: sqlite3.Connection, table: str) -> int:
    quoted = table.replace('"', '""')
    number: int = connection.execute(f'SELECT count(*) FROM "{quoted}"').fetchone()[0]  # noqa: S608 # quoted
    return number


def _copy_schema(source: sqlite3.Connection, copy: sqlite3.Connection) -> None:
    """Virtual tables first: they make tables of their own, which must not be made again."""
    order = f"NOT {VIRTUAL}, type <> 'table', rowid"
    for name, made in source.execute(f"SELECT name, sql FROM {OWN} ORDER BY {order}"):  # noqa: S608 # constants
        if not copy.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (name,)).fetchone():
            copy.execute(made)
    copy.commit()
