"""What people read of backups. Pure: data in, sentences out; outcome first, then the state things are in."""

from pathlib import Path

from workers.base import Report
from workers.builtin.backup.data import (
    BackupParams,
    BackupReport,
    ListData,
    ListParams,
    PruneData,
    RestoreData,
)
from workers.builtin.backup.directory import Manifest, human

SHOWN = 10
KINDS = {"full": "", "schema_only": " (schema only)", "tables": " (only the named tables)"}
LEVELS = {
    "read-verified": "read back and checksummed (not restore-tested)",
    "restore-tested": "read back, checksummed and restore-tested",
}


def backed_up(params: BackupParams, data: BackupReport) -> Report[BackupReport]:
    change = _change(data)
    removed = f"; retention removed {plural(len(data.removed), 'older backup')}" if data.removed else ""
    file = f"{Path(data.path).name}, sha256 {data.sha256[:12]}"
    summary = (
        f"{_outcome(params, data)} in {data.seconds:.1f} s; {file}; {human(data.free_bytes)} free{removed}"
    )
    odd = change is not None and abs(change) > 50
    advice = f"{params.database}: {change:+.0f} % in size against the last backup. Look why." if odd else ""
    return Report(status="succeeded", summary=summary, data=data, recommendations=(advice,) if advice else ())


def again(params: BackupParams, data: BackupReport) -> Report[BackupReport]:
    return Report.ok(f"{_outcome(params, data)}; made by an earlier attempt, checked again", data)


def _outcome(params: BackupParams, data: BackupReport) -> str:
    change = _change(data)
    size = human(data.bytes) + (f" ({_beside(change)} the last)" if change is not None else "")
    rows = f" with {plural(data.rows, 'row')}" if data.rows is not None else ""
    tables = plural(data.tables, "table")
    what = f"{params.database} backed up{KINDS[params.backup_type]}"
    return f"{what}: {size}, {tables}{rows}, {LEVELS[data.level]}"


def _change(data: BackupReport) -> float | None:
    """In per cent."""
    return (data.bytes / data.previous_bytes - 1) * 100 if data.previous_bytes else None


def estimated(size: int, free: int, directory: Path) -> str:
    short = " Too little: it would be refused." if free < size else ""
    return f"About {human(size)} into {directory}, which has {human(free)} free.{short}"


def verdicts(size: int, free: int) -> tuple[str, ...]:
    """The same for the card."""
    return f"{human(size)} backup", *([f"!only {human(free)} free"] if free < size else [])


def no_room(database: str, needed: int, free: int, directory: Path) -> str:
    return (
        f"{database} was NOT backed up: {directory} has {human(free)} free and about {human(needed)} are "
        "needed. Free some space, then run it again."
    )


def listed(params: ListParams, data: ListData) -> Report[ListData]:
    how = "checksums compared" if params.check else "sizes compared, checksums not"
    damaged = [found.backup for found in data.backups if not found.sound]
    bad = f"; DAMAGED: {cut(damaged)}" if damaged else ""
    newest = f"; newest good: {data.newest}" if data.newest else "; NONE is good"
    count = plural(len(data.backups), "backup")
    return Report.ok(f"{params.database} has {count}, {human(data.bytes)} ({how}){newest}{bad}", data)


def pruned(database: str, data: PruneData) -> Report[PruneData]:
    freed = f", {human(data.bytes)} freed" if data.removed else ""
    summary = f"{plural(len(data.removed), 'backup')} of {database} removed{freed}; {data.kept} kept"
    return Report.ok(summary, data)


def would_go(gone: list[Manifest], left: int) -> str:
    if not gone:
        return f"Would remove nothing; all {left} stay."
    size = human(sum(manifest.data.bytes for manifest in gone))
    names = cut([manifest.file.name for manifest in gone])
    return f"Would remove {len(gone)} ({size}) and keep {left}: {names}"


def would_swap(database: str, manifest: Manifest, present: bool) -> str:
    old = "The database there now is kept under another name; its connections end." if present else ""
    since, data = f"{manifest.made_at:%Y-%m-%d %H:%M} UTC", manifest.data
    return (
        f"{database} would be as it was on {since} ({manifest.file.name}, {human(data.bytes)}, "
        f"sha256 {data.sha256[:12]}, {data.level}). What was written since is not in it. {old}"
    ).rstrip()


def restored(database: str, data: RestoreData) -> Report[RestoreData]:
    old = f"the database before is kept as {data.kept_as}" if data.kept_as else "there was none before"
    took = f" in {data.seconds:.1f} s" if data.seconds else ""
    rows = f" with {plural(data.rows, 'row')}" if data.rows is not None else ""
    tables = plural(data.tables, "table")
    return Report(
        status="succeeded",
        summary=f"{database} restored from {data.backup}: {tables}{rows}{took}; {old}",
        data=data,
        recommendations=(f"Remove {data.kept_as} by hand when nobody needs it.",) if data.kept_as else (),
    )


def plural(number: int, word: str) -> str:
    return f"1 {word}" if number == 1 else f"{number} {word}s"


def cut(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def _beside(change: float) -> str:
    return f"{change:+.0f} % against" if abs(change) >= 0.5 else "as large as"
