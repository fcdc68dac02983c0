"""The directory of a database's backups. What bears its final name there is whole and has a manifest."""

import hashlib
import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field, ValidationError

from workers.base import Permanent
from workers.builtin.backup.dumps import BackupType, Counts, Scope
from workers.builtin.backup.gzip_pipe import sync

UNITS = ("bytes", "kB", "MB", "GB", "TB")
STALE = 24 * 3600.0  # longer than any backup may run


class BackupData(BaseModel):
    """`read-verified`: pg_restore or SQLite read all of it, and the disk has that; it was not restored."""

    path: str
    bytes: int
    sha256: str
    tables: int
    rows: int | None = None
    verified: bool
    level: Literal["read-verified", "restore-tested"] = "read-verified"
    seconds: float


class Manifest(BaseModel):
    """Lies beside a backup and says what it is. `file` is where it was read from, never what it says."""

    key: str
    database: str
    backup_type: BackupType
    tables: tuple[str, ...] = ()
    made_at: datetime
    about: dict[str, str] = Field(default_factory=dict)
    counts: Counts | None = None
    data: BackupData
    file: Path = Field(Path(), exclude=True)

    @property
    def kind(self) -> tuple[str, ...]:
        """Backups of one kind can stand for each other."""
        return (self.backup_type, *self.tables)


@dataclass(frozen=True)
class BackupDirectory:
    directory: Path
    database: str

    def manifests(self) -> list[Manifest]:
        """Newest first; those whose file is there."""
        found = [self._manifest(place) for place in self.directory.glob(f"{self._stem()}-*.json")]
        mine = [m for m in found if m and m.database == self.database and m.file.is_file()]
        return sorted(mine, key=lambda manifest: manifest.made_at, reverse=True)

    def named(self, name: str) -> Manifest:
        """The backup of that file name; a kind error when there is none."""
        for manifest in self.manifests():
            if manifest.file.name == name:
                return manifest
        raise Permanent(
            f"{self.directory} has no backup '{name}' of {self.database}. list_backups says which there are."
        )

    def find(self, key: str) -> Manifest | None:
        """The backup that this step already made, if it is still whole."""
        return next((m for m in self.manifests() if m.key == key and whole(m)), None)

    @contextmanager
    def partial(self, key: str, now: datetime, suffix: str) -> Iterator[Path]:
        """An empty file, for this user only, that is gone afterwards unless it was kept."""
        self._sweep(key)
        path = self.directory / f"{self._stem()}-{stamp(now)}-{tag(key)}.{suffix}.partial"
        _create(path)
        try:
            yield path
        finally:
            path.unlink(missing_ok=True)

    def keep(self, partial: Path, manifest: Manifest) -> None:
        """Put the backup in its place; the last rename is the moment from which there is one."""
        place = partial.with_suffix("")
        draft = place.with_name(f"{place.name}.json.partial")
        _create(draft)
        draft.write_text(manifest.model_dump_json(indent=2))
        for file in (draft, partial):
            sync(file)
            file.rename(file.with_suffix(""))
            sync(self.directory)

    def remove(self, manifest: Manifest) -> None:
        """The backup first: a manifest alone is no backup, but a backup alone would look like one."""
        manifest.file.unlink(missing_ok=True)
        _manifest_of(manifest.file).unlink(missing_ok=True)

    def last(self, scope: Scope) -> Manifest | None:
        kind = (scope.backup_type, *scope.tables)
        return next((manifest for manifest in self.manifests() if manifest.kind == kind), None)

    def needed(self, scope: Scope, size: int) -> int:
        """How many bytes must be free: a full disk is better noticed before the work than after it."""
        last = self.last(scope)
        return max(int(1.3 * last.data.bytes) if last else 0, size)

    def free(self) -> int:
        place = next(p for p in (self.directory, *self.directory.parents) if p.exists())
        return shutil.disk_usage(place).free

    def _manifest(self, place: Path) -> Manifest | None:
        try:
            found = Manifest.model_validate_json(place.read_bytes())
        except (ValidationError, FileNotFoundError):
            return None
        return found.model_copy(update={"file": place.with_suffix("")})

    def _sweep(self, key: str) -> None:
        """What a crashed attempt of this step left (it made no good backup), and what is older than a run."""
        self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        for left in self.directory.glob(f"{self._stem()}-*-{tag(key)}.*"):
            left.unlink()
        alone = (p for p in self.directory.glob(f"{self._stem()}-*.json") if not p.with_suffix("").exists())
        for left in (*self.directory.glob(f"{self._stem()}-*.partial"), *alone):
            if time.time() - left.stat().st_mtime > STALE:  # the file system's clock, not the plan's
                left.unlink(missing_ok=True)

    def _stem(self) -> str:
        return re.sub(r"[^\w.-]", "_", self.database)


def whole(manifest: Manifest) -> bool:
    """Whether the file still is what was verified, to the bit."""
    return complete(manifest) and checksum(manifest.file) == manifest.data.sha256


def complete(manifest: Manifest) -> bool:
    """The quick look: whether the file has its size."""
    return manifest.file.stat().st_size == manifest.data.bytes


def checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def tag(key: str) -> str:
    """A step's key as part of a name."""
    return hashlib.sha256(key.encode()).hexdigest()[:12]


def stamp(now: datetime) -> str:
    return f"{now.astimezone(UTC):%Y%m%dT%H%M%SZ}"


def human(size: int) -> str:
    power = min((len(str(size)) - 1) // 3, len(UNITS) - 1)
    return f"{size / 1000**power:.1f} {UNITS[power]}" if power else f"{size} bytes"


def _manifest_of(file: Path) -> Path:
    return file.with_name(f"{file.name}.json")


def _create(path: Path) -> None:
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
