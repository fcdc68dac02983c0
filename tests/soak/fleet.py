"""Real processes over one database, started again whenever they end; and what can befall them."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import psycopg

from storage.clock import wall
from storage.database.engine import migrate, open_engine
from storage.errors import Unavailable
from tests.support.doors.monitor import get
from tests.support.places import ROOT
from tests.support.ports import ports
from tests.support.store import Store
from tests.support.world import WITNESS, environment

Found = TypeVar("Found")
CONFIG = """
zone = "UTC"
workers = ["witness"]
runbooks = ["{home}/runbooks"]
[people]
approvers = ["U0BOB"]
admins = ["U0BOB"]
[policy.limits]
plans_per_hour = 0
plans_per_target = 0
"""


@dataclass
class Member:
    """One process of the fleet, whoever runs as it now."""

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    log: Path
    process: subprocess.Popen[bytes] | None = None
    frozen: bool = False
    exits: int = 0  # by itself, with an error
    starts: int = 0
    port: int = 0  # where it says whether it is ready

    def watch(self) -> None:
        """Start it, if it does not run."""
        if self.process and self.process.poll() is None:
            return
        if self.process and self.process.returncode > 0:
            self.exits += 1
        with self.log.open("ab") as out:
            command = [sys.executable, "-P", "-m", *self.argv]
            self.process = subprocess.Popen(command, env=dict(self.env), stdout=out, stderr=out)
        self.starts += 1

    def ready(self) -> bool:
        with suppress(OSError):
            return get(f"http://127.0.0.1:{self.port}/readyz")[0] == 200
        return False

    def send(self, number: signal.Signals) -> None:
        if self.process and self.process.poll() is None:
            self.frozen = number == signal.SIGSTOP or (self.frozen and number != signal.SIGCONT)
            os.kill(self.process.pid, number)

    def end(self) -> None:
        if self.process:
            self.process.kill()
            self.process.wait()


@dataclass
class Fleet:
    """The processes, by name."""

    home: Path
    url: str
    members: dict[str, Member] = field(default_factory=dict)

    def add(self, name: str, *argv: str, **env: str) -> Member:
        given = {"SIGNOFF_DATABASE_URL": self.url, "SIGNOFF_LOG_LEVEL": "WARNING"} | env
        # This tree's code, wherever another one is installed; and nobody outlives us.
        given |= {"PYTHONPATH": f"{ROOT}:{WITNESS}", "SIGNOFF_PARENT": str(os.getpid())}
        given |= {"WITNESS_PLACE": str(self.home)}
        port = ports(2)
        given["SIGNOFF_HEALTH_PORT"] = str(port if argv[0] == "bot" else port - 1)  # beside a bot, the next
        one = Member(name, argv, environment(self.home, **given), self.home / f"{name}.log", port=port)
        self.members[name] = one
        return one

    def watch(self) -> None:
        for member in self.members.values():
            member.watch()

    def lines(self) -> list[str]:
        """What the witness has written."""
        path = self.home / "lines"
        return path.read_text().splitlines() if path.exists() else []

    def said(self, words: str) -> int:
        """How often the processes' logs say so."""
        return sum(log.read_text(errors="replace").count(words) for log in self.home.glob("*.log"))

    def exits(self) -> int:
        return sum(member.exits for member in self.members.values())


@contextmanager
def fleet(home: Path, url: str) -> Iterator[tuple[Fleet, Store]]:
    """None of them started; all gone afterwards."""
    (home / "runbooks").mkdir()
    (home / "signoff.toml").write_text(CONFIG.format(home=home))
    engine = open_engine(url)
    migrate(engine)
    made = Fleet(home, url)
    try:
        yield made, Store(engine, wall)
    finally:
        for member in made.members.values():
            member.end()
        engine.dispose()


def patiently(work: Callable[[], Found], patience: float = 60.0) -> Found:
    """The same, again while the database is away."""
    until = time.monotonic() + patience
    while True:
        try:
            return work()
        except (Unavailable, psycopg.OperationalError):
            if time.monotonic() > until:
                raise
            time.sleep(0.1)
