"""What a copy of a database must contain, and what a kind of database must be able to do."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal, Protocol

from pydantic import Field

from workers.base import Params

BackupType = Literal["full", "schema_only", "tables"]
Counts = dict[str, int]


class Damaged(Exception):
    """The copy cannot be read back as what was copied."""


class Scope(Params):
    """What of a database is copied: all of it, its schema, or some tables."""

    backup_type: BackupType = "full"
    tables: tuple[str, ...] = Field(
        (), max_length=500, description="only with backup_type tables: their names, or schema.name"
    )


@dataclass(frozen=True)
class Contents:
    """Which tables there are, and of which of them the rows too; None when those were not counted."""

    tables: frozenset[str]
    rows: dict[str, int | None]


@dataclass(frozen=True)
class Copied:
    """A copy that was read back. `counts`: the rows of each table at the moment it was taken, if counted."""

    sha256: str
    tables: int
    counts: Counts | None = None
    about: dict[str, str] = field(default_factory=dict)


class Source(Protocol):
    """One database, whatever its kind."""

    suffix: ClassVar[str]

    def size(self, scope: Scope) -> int:
        """About how many bytes a copy may take."""

    def copy(self, target: Path, scope: Scope, *, count: bool) -> Copied:
        """Write the copy into that file and read it back. Damaged when that is not what was copied."""

    def rehearse(self, backup: Path, scope: Scope, counts: Counts, tag: str) -> None:
        """Restore it beside everything else and count. Damaged when rows or tables are missing."""

    def present(self) -> bool:
        """Whether there is such a database now."""

    def restore(self, backup: Path, copied: Copied, tag: str, *, stamp: str) -> str:
        """Put the backup in the database's place; the name under which the old one is kept, or ""."""

    def restored(self, backup: Path, tag: str) -> str | None:
        """The name that the restore of that tag gave the old one ("" for none); None if it did not happen."""


def compare(wanted: Contents, found: Contents) -> None:
    """Damaged when the copy lacks something that was in the database."""
    lacking = sorted(wanted.tables - found.tables)
    differing = sorted(name for name, number in wanted.rows.items() if found.rows.get(name, -1) != number)
    if lacking or differing:
        raise Damaged(f"the copy lacks {len(lacking)} tables and the rows of {len(differing)}")


def compare_counts(wanted: Counts, found: Counts) -> None:
    """Damaged when a restored table has other rows than the database had; the first few are named."""
    wrong = [
        f"{name} has {found.get(name, 'no')} rows instead of {number}"
        for name, number in sorted(wanted.items())
        if found.get(name) != number
    ]
    if wrong:
        more = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        raise Damaged(f"restored, {'; '.join(wrong[:3])}{more}")
