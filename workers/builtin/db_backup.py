"""Backs up a database; a backup is good only when it was read back and its checksum is on record."""

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
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ValidationError

from workers.base import Context, Named, Params, Permanent, Report, Worker, action, check
from workers.builtin.dumps import Contents, Damaged, Source, Sqlite, compare
from workers.builtin.postgres import Postgres

UNITS = ("bytes", "kB", "MB", "GB", "TB")


class BackupParams(Params):
    database: Annotated[str, Named("databases")]
    backup_type: Literal["full", "schema_only"] = "full"


class BackupData(BaseModel):
    """`read-verified`: the whole file was read back and holds every table; it was not restored."""

    path: str
    bytes: int
    sha256: str
    tables: int
    rows: int | None = None
    verified: bool
    level: Literal["read-verified"] = "read-verified"
    seconds: float


class Manifest(BaseModel):
    """Lies beside a backup and says what it is."""

    key: str
    database: str
    backup_type: str
    made_at: datetime
    data: BackupData


class DbBackup(Worker):
    """Backs up PostgreSQL and SQLite databases, and reads every backup back before calling it one."""

    name = "db-backup"
    aliases = ("db-manager",)

    @action(
        changes=True,
        repeat="safe",
        timeout=1900,
        typical=60,
        target="database:{database}",
        criteria={"backup_verified": (check("verified", "eq", True),)},
    )
    def backup_database(self, params: BackupParams, ctx: Context) -> Report[BackupData]:
        entry = self.entry("databases", params.database)
        shelf = Shelf(Path(_need(entry, "directory", params)).absolute(), params, ctx)
        try:
            if found := shelf.find():
                return Report.ok(
                    f"{_summary(params, found)}; made by an earlier attempt, checked again", found
                )
            data = _back_up(_source(entry, params, ctx), shelf)
        except Damaged as error:
            raise Permanent(
                f"{params.database} was NOT backed up, the copy failed its check: {error}."
            ) from error
        except OSError as error:
            raise Permanent(
                f"{params.database} was NOT backed up: {error}. Check {shelf.directory}."
            ) from error
        return Report.ok(_summary(params, data), data)


@dataclass(frozen=True)
class Shelf:
    """The directory of a database's backups. What bears its final name there is whole and has a manifest."""

    directory: Path
    params: BackupParams
    ctx: Context

    def find(self) -> BackupData | None:
        """The backup that this step already made, if its checksum still holds."""
        own = (manifest.data for manifest in self._manifests() if manifest.key == self.ctx.key)
        return next((data for data in own if checksum(Path(data.path)) == data.sha256), None)

    @contextmanager
    def partial(self, suffix: str) -> Iterator[Path]:
        """An empty file, for this user only, that is gone afterwards unless it was kept."""
        self._sweep()
        path = (
            self.directory
            / f"{self._stem()}-{self.ctx.now().astimezone(UTC):%Y%m%dT%H%M%SZ}-{self._tag()}.{suffix}.partial"
        )
        _create(path)
        try:
            yield path
        finally:
            path.unlink(missing_ok=True)

    def keep(self, partial: Path, data: BackupData) -> None:
        """Put the backup in its place; the last rename is the moment from which there is one."""
        place = partial.with_suffix("")
        draft = place.with_name(f"{place.name}.json.partial")
        manifest = Manifest(key=self.ctx.key, made_at=self.ctx.now(), data=data, **self.params.model_dump())
        _create(draft)
        draft.write_text(manifest.model_dump_json(indent=2))
        for file in (draft, partial):
            _sync(file)
            file.rename(file.with_suffix(""))
            _sync(self.directory)

    def check_room(self, size: int) -> None:
        """A full disk is better noticed before the work than after it."""
        earlier = [m for m in self._manifests() if m.backup_type == self.params.backup_type]
        last = max(earlier, key=lambda manifest: manifest.made_at).data.bytes if earlier else 0
        needed, free = max(int(1.3 * last), size), shutil.disk_usage(self.directory).free
        if free < needed:
            raise Permanent(
                f"{self.params.database} was NOT backed up: {self.directory} has {_human(free)} free and "
                f"about {_human(needed)} are needed. Free some space, then run it again."
            )

    def _manifests(self) -> Iterator[Manifest]:
        for place in self.directory.glob(f"{self._stem()}-*.json"):
            try:
                manifest = Manifest.model_validate_json(place.read_bytes())
            except ValidationError:
                continue
            if manifest.database == self.params.database and place.with_suffix("").is_file():
                yield manifest

    def _sweep(self) -> None:
        """What a crashed attempt of this step left; called only when it made no good backup."""
        self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        for left in self.directory.glob(f"{self._stem()}-*-{self._tag()}.*"):
            left.unlink()

    def _stem(self) -> str:
        return re.sub(r"[^\w.-]", "_", self.params.database)

    def _tag(self) -> str:
        return hashlib.sha256(self.ctx.key.encode()).hexdigest()[:12]


def checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _back_up(source: Source, shelf: Shelf) -> BackupData:
    began = time.monotonic()
    size = source.size()
    with shelf.partial(source.suffix) as partial:
        shelf.check_room(size)
        shelf.ctx.progress("copying")
        wanted = source.dump(partial)
        shelf.ctx.progress("reading the copy back")
        sha256 = checksum(partial)
        compare(wanted, source.read(partial))
        data = _data(partial, sha256, wanted, time.monotonic() - began)
        shelf.keep(partial, data)
    return data


def _data(partial: Path, sha256: str, wanted: Contents, seconds: float) -> BackupData:
    return BackupData(
        path=str(partial.with_suffix("")),
        bytes=partial.stat().st_size,
        sha256=sha256,
        tables=len(wanted.tables),
        rows=wanted.count(),
        verified=True,
        seconds=round(seconds, 2),
    )


def _source(entry: dict[str, Any], params: BackupParams, ctx: Context) -> Source:
    schema_only = params.backup_type == "schema_only"
    if _need(entry, "kind", params) == "sqlite":
        return Sqlite(Path(_need(entry, "path", params)), schema_only)
    if entry["kind"] != "postgres":
        raise Permanent(
            f"[inventory.databases.{params.database}] has kind '{entry['kind']}'; known: sqlite, postgres."
        )
    variable = _need(entry, "url_env", params)
    if not (url := os.environ.get(variable)):
        raise Permanent(
            f"{variable} is not set where the workers run; it must hold the URL of {params.database}."
        )
    return Postgres(variable, url, schema_only, ctx)


def _need(entry: dict[str, Any], word: str, params: BackupParams) -> str:
    if not entry.get(word):
        raise Permanent(f"[inventory.databases.{params.database}] in signoff.toml needs '{word}'.")
    return str(entry[word])


def _summary(params: BackupParams, data: BackupData) -> str:
    what = "backed up" if params.backup_type == "full" else "backed up (schema only)"
    tables = "1 table" if data.tables == 1 else f"{data.tables} tables"
    return (
        f"{params.database} {what}: {_human(data.bytes)}, {tables}, "
        "read back and checksummed (not restore-tested)"
    )


def _human(size: int) -> str:
    power = min((len(str(size)) - 1) // 3, len(UNITS) - 1)
    return f"{size / 1000**power:.1f} {UNITS[power]}" if power else f"{size} bytes"


def _create(path: Path) -> None:
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
