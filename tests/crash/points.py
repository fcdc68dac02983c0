"""Points: where a process can die. They are found by hooks on commits and outside calls, never listed."""

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, event

from storage.database import leases
from storage.database.fair_lock import FairLock
from storage.journal.events import Chain, Note
from storage.transaction import Transaction
from tests.support.store import Store


class Points:
    """Every point that a process reaches is written down; at its target it dies, or stands still."""

    def __init__(self, trace: Path) -> None:
        self.trace, self.target, self.how = trace, "", signal.SIGKILL
        self._here = threading.local()
        self.writer = FairLock()  # the store's own, in a child

    def reach(self, *labels: str) -> None:
        with self.trace.open("a") as file:
            file.write("".join(f"{label}\n" for label in labels))
        if self.target in labels:
            self.target = ""
            # Who stands still inside a transaction holds everybody. A commit's own thread has the lock.
            outside = self.how == signal.SIGSTOP and not labels[0].startswith("after commit")
            with self.writer.turn() if outside else nullcontext():
                os.kill(os.getpid(), self.how)
                time.sleep(0.05)  # another thread may take the signal; this one must not go on before

    def reached(self) -> list[str]:
        return self.trace.read_text().splitlines() if self.trace.exists() else []

    def watch(self, engine: Engine) -> None:
        """Make a point before and after each commit that writes or claims, named after what it carries."""
        commit, here = engine.dialect.do_commit, self._here

        def begun(connection: Connection) -> None:
            here.moves, here.names = [], ()

        def committing(connection: Connection) -> None:
            if connection.get_execution_options().get("writes"):
                here.names = here.moves or [verb()]
            elif found := leasing():
                here.names = [found]

        def do_commit(connection: Any) -> None:
            names, here.names = getattr(here, "names", ()), ()
            if names:
                self.reach(*(f"before commit {name}" for name in names))
            commit(connection)
            if names:
                self.reach(*(f"after commit {name}" for name in names))

        event.listen(engine, "begin", begun)
        event.listen(engine, "commit", committing)
        engine.dialect.do_commit = do_commit  # type: ignore[method-assign] # no event comes after a commit

    def moved(self, notes: Sequence[Note]) -> None:
        self._here.moves += [f"{note.verb} {note.data.get('step', '')}".strip() for note in notes]


class WatchedStore(Store):
    """A store whose commits know which moves they carry."""

    points: Points

    @contextmanager
    def write(self, **how: Any) -> Iterator[Transaction]:
        with super().write(**how) as t:
            link = t._link

            def watched(notes: Sequence[Note], known: Mapping[int, Chain]) -> dict[int, Chain]:
                self.points.moved(notes)
                return link(notes, known)

            t._link = watched  # type: ignore[method-assign] # looked at, and done as ever
            yield t


def leasing() -> str:
    """What is done to claims in the commit that is being made, if it is about them."""
    frame = sys._getframe()
    while frame.f_back:
        frame = frame.f_back
        if frame.f_globals["__name__"] == leases.__name__:
            return f"{frame.f_code.co_name} leases"
    return ""


def verb() -> str:
    """The verb of the store that is being committed: what a commit without a journal event is named after."""
    frame = sys._getframe()
    while frame.f_back:
        frame = frame.f_back
        name = frame.f_code.co_name
        own = frame.f_locals.get("memory", frame.f_locals.get("self"))
        if isinstance(getattr(own, "_memory", own), Store) and name != "write" and name[0] != "_":
            return name
    return "outside a verb"
