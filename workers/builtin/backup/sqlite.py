"""How an SQLite database is copied into a file, read back, and put back in its place."""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from workers.base import Context, Permanent, Transient
from workers.builtin.backup.dumps import Contents, Copied, Counts, Damaged, Scope, compare, compare_counts
from workers.builtin.backup.gzip_pipe import disk_digest

OWN = "sqlite_master WHERE sql IS NOT NULL AND name NOT GLOB 'sqlite_*'"
VIRTUAL = "(sql LIKE 'CREATE VIRTUAL%')"


@dataclass(frozen=True)
class Sqlite:
    path: Path
    ctx: Context
    suffix: ClassVar[str] = "sqlite"

    def size(self, scope: Scope) -> int:
        if not self.path.is_file():
            raise Permanent(f"The database file {self.path} does not exist. Check its path in signoff.toml.")
        self._check_tables_exist(scope)
        return 0 if scope.backup_type == "schema_only" else self.path.stat().st_size

    def copy(self, target: Path, scope: Scope, *, count: bool) -> Copied:
        """Rows are always counted: it is quick here."""
        wanted = self._copy(target, scope)
        sha256 = disk_digest(target)
        compare(wanted, read(target, with_rows=scope.backup_type != "schema_only"))
        counts = {name: number for name, number in wanted.rows.items() if number is not None}
        return Copied(sha256, len(wanted.tables), counts, {"server": f"SQLite {sqlite3.sqlite_version}"})

    def rehearse(self, backup: Path, scope: Scope, counts: Counts, tag: str) -> None:
        """The restored copy is written to, as a database in use is."""
        place = self.ctx.scratch / f"rehearsal-{tag}.sqlite"
        shutil.copyfile(backup, place)
        try:
            with closing(_open(place, "mode=rw")) as scratch, _damaged():
                scratch.execute("VACUUM")
            found = read(place, with_rows=True)
        finally:
            for left in self.ctx.scratch.glob(f"{place.name}*"):
                left.unlink()
        compare_counts(counts, {name: number or 0 for name, number in found.rows.items()})

    def present(self) -> bool:
        return self.path.is_file()

    def restore(self, backup: Path, copied: Copied, tag: str, *, stamp: str) -> str:
        prepared, kept = self._prepared(tag), self.path.with_name(f"{self.path.name}.before-{stamp}-{tag}")
        for left in self._kept(tag):  # a second name of the database itself, by an attempt that was killed
            left.unlink()
        try:
            shutil.copyfile(backup, prepared)
            if disk_digest(prepared) != copied.sha256:
                raise Damaged("the copy beside the database is not the backup")
            self.ctx.hold()
            self._swap(prepared, kept)
        finally:
            prepared.unlink(missing_ok=True)
        return str(kept) if kept.exists() else ""

    def restored(self, backup: Path, tag: str) -> str | None:
        """The old one's second name is made before the swap: by itself it says only that one began."""
        for kept in self._kept(tag):
            return str(kept) if not self.present() or not kept.samefile(self.path) else None
        # The old one gets its second name first; without that, it can have happened only where none was.
        if not self.present() or self.ctx.previous.get("present", True):
            return None
        if disk_digest(self.path) == disk_digest(backup):
            return ""
        raise Permanent(f"{self.path} is there, but nothing says whether this step put it there.")

    def _copy(self, target: Path, scope: Scope) -> Contents:
        try:
            with closing(_open(self.path, "mode=ro")) as source, closing(sqlite3.connect(target)) as copy:
                source.execute("BEGIN")  # rows are counted and copied in one snapshot
                wanted = _contents(source, with_rows=scope.backup_type != "schema_only")
                if scope.backup_type == "schema_only":
                    _copy_schema(source, copy)
                    return wanted
                source.backup(copy)
                return _only(copy, wanted, scope.tables) if scope.backup_type == "tables" else wanted
        except sqlite3.DatabaseError as error:
            kind = Transient if "locked" in str(error) else Permanent
            raise kind(f"{self.path.name} was not backed up: SQLite says '{error}'.") from error

    def _check_tables_exist(self, scope: Scope) -> None:
        if scope.backup_type != "tables":
            return
        with closing(_open(self.path, "mode=ro")) as source:
            known = set(_contents(source, with_rows=True).rows)
        if unknown := sorted(set(scope.tables) - known):
            raise Permanent(f"{self.path.name} has no ordinary table {', '.join(unknown)}. Nothing was done.")

    def _swap(self, prepared: Path, kept: Path) -> None:
        """The database's name stands for a whole database at every moment."""
        os.chmod(prepared, self.path.stat().st_mode if self.present() else 0o600)
        if not self.present():
            os.link(prepared, self.path)
            return
        shutil.chown(prepared, self.path.stat().st_uid, self.path.stat().st_gid)
        try:
            with closing(_open(self.path, "mode=rw", timeout=5)) as old:
                # Leaving WAL mode needs the database alone, and puts everything into the one file.
                old.execute("PRAGMA journal_mode = DELETE")
                old.execute("BEGIN EXCLUSIVE")
                os.link(self.path, kept)
                os.replace(prepared, self.path)
        except sqlite3.OperationalError as error:
            raise Permanent(
                f"{self.path.name} is in use ('{error}'). It was NOT changed. Stop the programs that use it."
            ) from error

    def _kept(self, tag: str) -> list[Path]:
        return sorted(self.path.parent.glob(f"{self.path.name}.before-*-{tag}"))

    def _prepared(self, tag: str) -> Path:
        return self.path.with_name(f"{self.path.name}.new-{tag}")


@contextmanager
def _damaged() -> Iterator[None]:
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise Damaged(f"SQLite says: {error}") from error


def read(target: Path, *, with_rows: bool) -> Contents:
    """Read the whole copy; what is in it."""
    with _damaged(), closing(_open(target, "mode=ro&immutable=1")) as copy:
        said = [row[0] for row in copy.execute("PRAGMA integrity_check(5)")]
        if said != ["ok"]:
            raise Damaged(f"SQLite's integrity check says: {'; '.join(said)}")
        return _contents(copy, with_rows=with_rows)


def _open(path: Path, options: str, timeout: float = 30) -> sqlite3.Connection:
    address = f"{path.resolve().as_uri()}?{options}"
    return sqlite3.connect(address, uri=True, timeout=timeout, isolation_level=None)


def _contents(connection: sqlite3.Connection, *, with_rows: bool) -> Contents:
    found = connection.execute(f"SELECT name, {VIRTUAL} FROM {OWN} AND type = 'table'").fetchall()  # noqa: S608 # constants
    # A virtual table keeps its rows in ordinary ones beside it, and its module may be missing here.
    counted = [name for name, virtual in found if with_rows and not virtual]
    return Contents(frozenset(name for name, _ in found), {name: _rows(connection, name) for name in counted})


def _rows(connection: sqlite3.Connection, table: str) -> int:
    number: int = connection.execute(f"SELECT count(*) FROM {_quoted(table)}").fetchone()[0]  # noqa: S608 # quoted
    return number


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _copy_schema(source: sqlite3.Connection, copy: sqlite3.Connection) -> None:
    """Virtual tables first: they make tables of their own, which must not be made again."""
    order = f"NOT {VIRTUAL}, type <> 'table', rowid"
    for name, made in source.execute(f"SELECT name, sql FROM {OWN} ORDER BY {order}"):  # noqa: S608 # constants
        if not copy.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (name,)).fetchone():
            copy.execute(made)
    copy.commit()


def _only(copy: sqlite3.Connection, whole: Contents, tables: tuple[str, ...]) -> Contents:
    """Take everything but those tables out of the copy, and their bytes too."""
    order = f"type <> 'view', NOT {VIRTUAL}"
    for kind, name in copy.execute(f"SELECT type, name FROM {OWN} ORDER BY {order}").fetchall():  # noqa: S608 # constants
        if kind in ("table", "view") and name not in tables:
            copy.execute(f"DROP {kind} IF EXISTS {_quoted(name)}")
    copy.commit()
    copy.execute("VACUUM")
    return Contents(frozenset(tables), {name: whole.rows[name] for name in tables})
