"""One system's turn: a process of its own on an empty database, and raw before and after each run."""

import os
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Timer

import psycopg

from tests.bench.engine import raw
from tests.bench.peers.environment import last_line
from tests.bench.peers.figures import Figure
from tests.bench.peers.systems import System
from tests.support.places import ROOT

PATIENCE = 600.0  # seconds for one turn
NEXT = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint"  # the number of the next that writes


class Silent(Exception):
    """It did not answer."""


@dataclass
class Hand:
    """The process, and what it is told."""

    child: subprocess.Popen[str]
    log: Path

    def hear(self) -> str:
        line = self.child.stdout.readline() if self.child.stdout else ""
        if not line:
            self.child.wait()
            raise Silent(last_line(self.log.read_text(errors="replace")))
        return line

    def run(self, what: str) -> float:
        """Seconds."""
        assert self.child.stdin
        self.child.stdin.write(f"{what}\n")
        self.child.stdin.flush()
        return float(self.hear())


@contextmanager
def hand(python: Path, system: System, url: str, home: Path) -> Iterator[Hand]:
    command = [python, "-m", f"tests.bench.peers.hands.{system.hand}", url]
    env = {name: value for name, value in os.environ.items() if not name.startswith("SIGNOFF_")}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    log = home / f"{system.hand}.log"
    with (
        log.open("w") as said,
        subprocess.Popen(command, cwd=ROOT, env=env | {"TMPDIR": str(home)}, stderr=said, **pipes) as child,
    ):
        late = Timer(PATIENCE, child.kill)
        late.start()
        try:
            yield Hand(child, log)
        finally:
            late.cancel()
            child.kill()


@dataclass(frozen=True)
class Sizes:
    chain: int
    plans: int
    steps: int


@dataclass(frozen=True)
class Place:
    """A kind of database: `new` makes an empty one, `beside` is the one that raw has."""

    name: str
    new: Callable[[], str]
    beside: str


def turn(python: Path, system: System, place: Place, home: Path, sizes: Sizes) -> Iterator[Figure]:
    """A chain, then plans at once; raise Silent where it does not answer."""
    url, figure = place.new(), Figure(0, system.name, place.name, "", 0, 0)

    def floor() -> float:
        return raw(place.beside, home, sizes.chain)

    with hand(python, system, prepared(url), home) as told:
        told.hear()
        before, number = floor(), writes(url)
        step = told.run(f"chain {sizes.chain}") / sizes.chain
        wrote, between = (writes(url) - number) / sizes.chain, floor()
        yield replace(figure, kind="chain", raw=(before + between) / 2, step=step, writes=wrote)
        step = told.run(f"plans {sizes.plans} {sizes.steps}") / sizes.plans / sizes.steps
        yield replace(figure, kind="plans", raw=(between + floor()) / 2, step=step)


def prepared(url: str) -> str:
    """SQLite's file as everybody gets it: in WAL; synchronous=FULL is what SQLite does unasked."""
    if url.startswith("sqlite"):
        made = sqlite3.connect(url.removeprefix("sqlite:///"))
        made.execute("PRAGMA journal_mode=WAL")
        made.close()
    return url


def writes(url: str) -> int:
    """The transactions that have written, in the whole server; SQLite does not count them."""
    if url.startswith("sqlite"):
        return 0
    with psycopg.connect(url, autocommit=True) as connection:
        (number,) = connection.execute(NEXT).fetchone() or (0,)
    return int(number)
