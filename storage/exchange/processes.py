"""Signs of life of the processes."""

from datetime import timedelta

from sqlalchemy import insert, update
from sqlmodel import col

from storage.database.tables import Process
from storage.memory import Memory

FRESH = timedelta(seconds=30)  # a process that has not been seen for longer counts as gone


def alive(memory: Memory, name: str, kind: str, release: str) -> None:
    """A sign of life of one process."""
    now = memory.clock()
    with memory.write() as t:
        values = {"kind": kind, "release": release, "seen_at": now}
        if not t.execute(update(Process).where(col(Process.name) == name).values(**values)).rowcount:
            t.execute(insert(Process).values(name=name, started_at=now, **values))


def processes(memory: Memory, kind: str) -> list[Process]:
    """The processes of that kind that were seen lately."""
    with memory.read() as t:
        lately = col(Process.seen_at) > memory.clock() - FRESH
        return t.rows(Process, col(Process.kind) == kind, lately)
