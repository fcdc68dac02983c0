"""A folder for each agent, and none that a dead one left behind."""

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from os import cpu_count
from pathlib import Path
from threading import BoundedSemaphore

from workers.base import Context, fingerprint
from workers.builtin.code.ground.git import index_owner
from workers.builtin.code.ground.repository import Entry
from workers.commands.leftovers import engine, gone, sweep

MARK = "engine"
BORN = time.time()  # of this process
MOMENT, OLD = 5.0, 120.0  # seconds that a lock may live which is older than this process; which is not
tests_at_once = BoundedSemaphore(max(cpu_count() or 1, 1))  # an agent waits; its tests compute


@contextmanager
def place_of(entry: Entry, ctx: Context) -> Iterator[Path]:
    """A folder of this attempt alone, removed at its end."""
    sweep_places(entry)
    sweep_locks(entry.pool.absolute() / "clone.git")
    home = entry.pool.absolute() / "work" / fingerprint(ctx.key)[:16]
    sweep(ctx.key)
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    (home / MARK).write_text(engine())
    try:
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)


def sweep_places(entry: Entry) -> int:
    """Remove what killed processes left; how many folders that were."""
    left = [mark.parent for mark in (entry.pool / "work").glob(f"*/{MARK}") if gone(_text(mark))]
    for home in left:
        shutil.rmtree(home, ignore_errors=True)
    for index in entry.pool.glob("index-*"):
        if gone(index_owner(index.name)) or not _recent(index):
            index.unlink(missing_ok=True)
    return len(left)


def sweep_locks(clone: Path) -> None:
    """Remove what git left locked when it was killed: it holds a lock for moments, a dead one for ever."""
    for lock in (*clone.glob("*.lock"), *(clone / "refs").rglob("*.lock")):
        age = _age(lock)
        if age > OLD or (age > MOMENT and time.time() - age < BORN):
            lock.unlink(missing_ok=True)


def _recent(file: Path) -> bool:
    return _age(file) < 600


def _age(file: Path) -> float:
    """Seconds since it was written; 0 for what is gone."""
    try:
        return max(time.time() - file.stat().st_mtime, 0.0)
    except OSError:
        return 0.0


def _text(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:
        return ""
