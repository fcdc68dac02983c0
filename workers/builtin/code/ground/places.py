"""A folder for each agent, and none that a dead one left behind."""

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
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
    _clear(home)
    home.mkdir(parents=True)
    (home / MARK).write_text(engine())
    try:
        yield home
    finally:
        _clear(home)


def sweep_places(entry: Entry) -> int:
    """Remove what killed processes left; how many folders that were."""
    left = [home for home in (entry.pool / "work").glob("*") if _left(home)]
    for home in left:
        _clear(home)
    for index in entry.pool.glob("index-*"):
        if gone(index_owner(index.name)) or not _recent(index):
            index.unlink(missing_ok=True)
    return len(left)


def _left(home: Path) -> bool:
    """Whether nobody works there any more. Who has just made a folder has yet to put its mark into it."""
    whose = _text(home / MARK)
    return gone(whose) if whose else not _recent(home)


def _clear(home: Path) -> None:
    """The mark goes last: who is killed at it leaves a folder that says whose it was."""
    with suppress(OSError):  # others clear what a dead one left, too
        for child in [child for child in home.iterdir() if child.name != MARK]:
            shutil.rmtree(child, ignore_errors=True)
    shutil.rmtree(home, ignore_errors=True)


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
