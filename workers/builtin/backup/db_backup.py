"""Backs up databases and restores them; a backup is good only when it was read back and is on record."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from workers.base import Context, Permanent, Preview, Report, Verdict, Worker, action, check
from workers.builtin.backup import sentences
from workers.builtin.backup.data import (
    BackupParams,
    BackupReport,
    ListData,
    Listed,
    ListParams,
    PruneData,
    PruneParams,
    RestoreData,
    RestoreParams,
)
from workers.builtin.backup.directory import (
    BackupData,
    BackupDirectory,
    Manifest,
    complete,
    stamp,
    tag,
    whole,
)
from workers.builtin.backup.dumps import Copied, Damaged, Source
from workers.builtin.backup.retention import Keep, expendable, trusted
from workers.builtin.backup.sqlite import Sqlite

if TYPE_CHECKING:  # with its driver, 9 MB
    from workers.builtin.backup.pg_client import Client


class DbBackup(Worker):
    """Backs up PostgreSQL and SQLite databases, proves each backup, and restores them."""

    name = "db-backup"
    aliases = ("db-manager",)

    @action(
        changes=True,
        repeat="safe",
        timeout=1900,
        typical=60,
        target="database:{database}",
        criteria={
            "backup_verified": (check("verified", "eq", True),),
            "restore_tested": (check("level", "eq", "restore-tested"),),
        },
        says="*Back up {database}*",
        leaves="{database} is backed up",
    )
    def backup_database(self, params: BackupParams, ctx: Context) -> Report[BackupReport]:
        """Back up a database, all of it, its schema or some tables, and read the backup back."""
        backups, keep = self._directory(params.database), self._keep(params.database)
        with told(f"{params.database} was NOT backed up", backups):
            if found := backups.find(ctx.key):
                return sentences.again(params, BackupReport.of(found, None, [], backups.free()))
            last = backups.last(params)
            made = _back_up(self._source(params.database, ctx), backups, params, ctx)
            same = [manifest for manifest in backups.manifests() if manifest.kind == made.kind]
            gone = expendable(trusted(same, {made.file}), keep, ctx.now())
            for manifest in gone:
                backups.remove(manifest)
        return sentences.backed_up(params, BackupReport.of(made, last, gone, backups.free()))

    @backup_database.preview
    def estimate(self, params: BackupParams, ctx: Context) -> Preview:
        """How big it may be and where it would go; only for information, so it has no basis."""
        backups = self._directory(params.database)
        with told(f"{params.database} cannot be backed up", backups):
            size = backups.needed(params, self._source(params.database, ctx).size(params))
            free = backups.free()
        found = sentences.verdicts(size, free)
        return Preview(sentences.estimated(size, free, backups.directory), found=found)

    @action(
        changes=False,
        repeat="safe",
        timeout=900,
        typical=2,
        says="*List the backups* of {database}",
        planning=True,
    )
    def list_backups(self, params: ListParams, ctx: Context) -> Report[ListData]:
        """List the backups of a database, newest first, and say which are damaged."""
        backups = self._directory(params.database)
        sound = whole if params.check else complete
        with told(f"The backups of {params.database} could not be listed", backups):
            listed = [Listed.of(manifest, sound=sound(manifest)) for manifest in backups.manifests()]
        return sentences.listed(params, ListData.of(listed))

    @action(
        changes=True,
        repeat="safe",
        timeout=900,
        typical=5,
        target="database:{database}",
        says="*Remove old backups* of {database}[, keeping the last {keep_last}]",
        leaves="old backups of {database} are removed",
    )
    def prune_backups(self, params: PruneParams, ctx: Context) -> Report[PruneData]:
        """Remove the backups that the retention rule lets go; the newest good one always stays."""
        backups = self._directory(params.database)
        with told(f"The backups of {params.database} were not all pruned", backups):
            gone = self._gone(params, backups, ctx)
            for manifest in gone:
                backups.remove(manifest)
            data = PruneData.of(gone, kept=len(backups.manifests()))
        return sentences.pruned(params.database, data)

    @prune_backups.preview
    def show_what_would_go(self, params: PruneParams, ctx: Context) -> Preview:
        backups = self._directory(params.database)
        with told(f"The backups of {params.database} could not be read", backups):
            gone = self._gone(params, backups, ctx)
            left = len(backups.manifests()) - len(gone)
        text, names = sentences.would_go(gone, left), [manifest.file.name for manifest in gone]
        return Preview(text, [*names], (f"{len(gone)} of {len(gone) + left} go",))

    @action(
        changes=True,
        repeat="unsafe",
        timeout=3600,
        typical=300,
        target="database:{database}",
        criteria={"database_restored": (check("restored", "eq", True),)},
        says="*Restore* {database} from *{backup}*",
        leaves="{database} is what {backup} holds",
    )
    def restore_database(self, params: RestoreParams, ctx: Context) -> Report[RestoreData]:
        """Restore a backup into a new database and swap it in; the old one is kept under another name."""
        began, backups = time.monotonic(), self._directory(params.database)
        with told(f"{params.database} was NOT restored and is as it was", backups):
            manifest = _restorable(backups, params.backup)
            ctx.progress("restoring beside the database")
            copied = Copied(manifest.data.sha256, manifest.data.tables, manifest.counts, about=manifest.about)
            source = self._source(params.database, ctx)
            kept = source.restore(manifest.file, copied, tag(ctx.key), stamp=stamp(ctx.now()))
        return sentences.restored(params.database, RestoreData.of(manifest, kept, time.monotonic() - began))

    @restore_database.preview
    def show_the_swap(self, params: RestoreParams, ctx: Context) -> Preview:
        backups = self._directory(params.database)
        with told(f"{params.database} cannot be restored", backups):
            manifest = _restorable(backups, params.backup)
            present = self._source(params.database, ctx).present()
        text = sentences.would_swap(params.database, manifest, present)
        found = ("backup readable", "!replaces what is there" if present else "nothing is there yet")
        return Preview(text, {"sha256": manifest.data.sha256, "present": present}, found)

    @restore_database.before
    def note_whether_there_is_one(self, params: RestoreParams, ctx: Context) -> dict[str, Any]:
        return {"present": self._source(params.database, ctx).present()}

    @restore_database.probe
    def find_out(self, params: RestoreParams, ctx: Context) -> Report[RestoreData] | Verdict:
        """The swap is one moment: before it nothing happened, after it everything did."""
        backups = self._directory(params.database)
        with told("It is not known whether the restore happened", backups):
            manifest = backups.named(params.backup)
            kept = self._source(params.database, ctx).restored(manifest.file, tag(ctx.key))
        if kept is None:
            return Verdict.did_not_run
        return sentences.restored(params.database, RestoreData.of(manifest, kept, 0.0))

    def needs(self) -> Iterator[tuple[str, Callable[[], object]]]:
        """Each database can be reached, and its folder written to."""
        for name in self.inventory.get("databases", {}):
            yield f"database {name}", partial(self._reach, name)
            yield f"backups of {name}", partial(self._write_to, name)

    def _reach(self, database: str) -> None:
        ctx = Context(0, "doctor", 0, "doctor", Path(), partial(datetime.now, UTC))
        if self._need(database, "kind") == "postgres":
            from workers.builtin.backup.pg_client import need_tools

            need_tools("pg_dump", "pg_restore")
        self._source(database, ctx).size(BackupParams(database=database))

    def _write_to(self, database: str) -> None:
        folder = self._directory(database).directory
        there = next(place for place in (folder, *folder.parents) if place.exists())
        if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
            raise Permanent(f"The workers may not write to {there}.")

    def _directory(self, database: str) -> BackupDirectory:
        return BackupDirectory(Path(self._need(database, "directory")).absolute(), database)

    def _keep(self, database: str) -> Keep:
        try:
            return Keep.model_validate(self.entry("databases", database).get("keep") or {})
        except ValidationError as error:
            wrong = error.errors()[0]
            where = ".".join(str(part) for part in ("keep", *wrong["loc"]))
            raise Permanent(
                f"[inventory.databases.{database}] has a wrong {where}: {wrong['msg']}."
            ) from None

    def _gone(self, params: PruneParams, backups: BackupDirectory, ctx: Context) -> list[Manifest]:
        keep = Keep(last=params.keep_last) if params.keep_last else self._keep(params.database)
        if keep.asks_nothing():
            raise Permanent(
                f"Nothing says which backups of {params.database} may go. Give keep_last, or write "
                f"keep = {{ last = 7, days = 30 }} into [inventory.databases.{params.database}]."
            )
        return expendable(trusted(backups.manifests()), keep, ctx.now())

    def _source(self, database: str, ctx: Context) -> Source:
        kind = self._need(database, "kind")
        if kind == "sqlite":
            return Sqlite(Path(self._need(database, "path")), ctx)
        if kind != "postgres":
            raise Permanent(f"[inventory.databases.{database}] has kind '{kind}'; known: sqlite, postgres.")
        from workers.builtin.backup.postgres import Postgres

        client = self._client(database, "url_env", ctx)
        beside = bool(self.entry("databases", database).get("scratch_url_env"))
        return Postgres(client, self._client(database, "scratch_url_env", ctx) if beside else client)

    def _client(self, database: str, word: str, ctx: Context) -> "Client":
        from workers.builtin.backup.pg_client import Client

        variable = self._need(database, word)
        if not (url := os.environ.get(variable)):
            raise Permanent(
                f"{variable} is not set where the workers run; it must hold the URL of {database}."
            )
        return Client(variable, url, ctx)

    def _need(self, database: str, word: str) -> str:
        entry: dict[str, Any] = self.entry("databases", database)
        if not entry.get(word):
            raise Permanent(f"[inventory.databases.{database}] in signoff.toml needs '{word}'.")
        return str(entry[word])


@contextmanager
def told(outcome: str, backups: BackupDirectory) -> Iterator[None]:
    """What state things were left in, first; then why."""
    try:
        yield
    except Damaged as error:
        raise Permanent(f"{outcome}, the copy failed its check: {error}.") from error
    except OSError as error:
        raise Permanent(f"{outcome}: {error}. Check {backups.directory}.") from error


def _back_up(source: Source, backups: BackupDirectory, params: BackupParams, ctx: Context) -> Manifest:
    """Made, read back, perhaps restored for a test, and only then put in its place."""
    began = time.monotonic()
    needed, free = backups.needed(params, source.size(params)), backups.free()
    if free < needed:
        raise Permanent(sentences.no_room(params.database, needed, free, backups.directory))
    with backups.partial(ctx.key, ctx.now(), source.suffix) as partial:
        ctx.progress("copying and reading back")
        copied = source.copy(partial, params, count=params.restore_test)
        if params.restore_test:
            ctx.progress("restoring it into a scratch database")
            source.rehearse(partial, params, copied.counts or {}, tag(ctx.key))
        made = _manifest(partial, copied, params, ctx, time.monotonic() - began)
        backups.keep(partial, made)
    return made


def _manifest(partial: Path, copied: Copied, params: BackupParams, ctx: Context, seconds: float) -> Manifest:
    place = partial.with_suffix("")
    data = BackupData(
        path=str(place),
        bytes=partial.stat().st_size,
        sha256=copied.sha256,
        tables=copied.tables,
        rows=None if copied.counts is None else sum(copied.counts.values()),
        verified=True,
        level="restore-tested" if params.restore_test else "read-verified",
        seconds=round(seconds, 2),
    )
    return Manifest(
        key=ctx.key,
        made_at=ctx.now(),
        about=copied.about,
        counts=copied.counts,
        data=data,
        file=place,
        **params.model_dump(include={"database", "backup_type", "tables"}),
    )


def _restorable(backups: BackupDirectory, name: str) -> Manifest:
    """Only the whole of a database can take its place."""
    manifest = backups.named(name)
    if manifest.backup_type != "full":
        raise Permanent(
            f"'{name}' is a backup of type {manifest.backup_type}; only a full one can be swapped in."
        )
    if not whole(manifest):
        raise Damaged(f"'{name}' is not what was verified on {manifest.made_at:%Y-%m-%d %H:%M} UTC")
    return manifest
