"""python -m tests.bench.weight.million: what is looked at over a million finished plans / over a thousand.

Turn about in one process: the home tab, the list of plans, what is due, the start of a plan, the figures of a
monitor. And the peak memory of `signoff stats` over the million. name value limit ok|short.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from sqlalchemy import select, text
from sqlmodel import col

from bot.inbox.home import listed
from bot.process import homes
from storage.contract.states import PlanState
from storage.database.tables import Plan
from storage.monitoring.ended import Ended
from storage.monitoring.metrics import figures, told
from storage.steps.turn import due
from tests.bench.board import tell_all
from tests.bench.engine import Engine
from tests.bench.growth import grow
from tests.bench.say import say
from tests.support.places import ROOT
from tests.support.postgres import fresh_database, postgres_server
from tests.support.room import Room

FEW = 1000
LIMIT, STATS = 1.3, 150  # of the ratios; MB
PEAK = (
    "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL); "
    "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
)


@dataclass
class Place:
    """A database with its plans, and who looks at them."""

    url: str
    engine: Engine
    room: Room

    def acts(self) -> Mapping[str, Callable[[], object]]:
        store, bot = self.engine.store, self.room.bot
        draw = homes(store, self.room.config, bot.runbooks, bot.people)
        taker, ended = self.engine.attempts.taker, Ended()
        return {
            "home": lambda: draw("ANN", "D1"),
            "list": lambda: listed(bot, "ANN", 0),
            "due": lambda: due(store, taker, 16),
            "metrics": lambda: told(figures(store, ended)),
            "start": self.start,
        }

    def start(self) -> None:
        """From the wish to the end of its one step."""
        plan_id = self.engine.plan(self.engine.steps(1, "nothing", chained=False))
        state = select(col(Plan.state)).where(col(Plan.id) == plan_id)
        while True:
            with self.engine.store.read() as t:
                if t.execute(state).scalar_one() == PlanState.done:
                    return
            time.sleep(0.001)


@contextmanager
def grown(url: str, home: Path, count: int) -> Iterator[Place]:
    """So many finished plans, and workers that wait for more."""
    engine = Engine(url, home)
    with engine.running():
        grow(engine, count)
        tell_all(engine)
        if url.startswith("postgres"):  # which does so by itself before long; nobody does it on SQLite
            with engine.store.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as c:
                c.execute(text("VACUUM ANALYZE"))
        yield Place(url, engine, Room(engine.store))


def took(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


def ratios(few: Place, many: Place, rounds: int) -> Iterator[tuple[str, float, float]]:
    """Each act, turn about: the ratio, and its milliseconds over the many."""
    small, large = few.acts(), many.acts()
    for name in small:
        small[name](), large[name]()  # what is read and compiled at first
        pairs = [(took(small[name]), took(large[name])) for _ in range(rounds)]
        yield name, median(b / a for a, b in pairs), 1000 * median(b for _, b in pairs)


def stats(url: str, home: Path) -> float:
    """MB that `signoff stats` takes at most."""
    (home / "signoff.toml").write_text('[people]\napprovers = ["U0BOB"]\n')
    ours = {"SIGNOFF_STATE": str(home), "SIGNOFF_CONFIG": str(home / "signoff.toml")}
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SIGNOFF_", "SLACK_"))}
    words = [sys.executable, "-c", PEAK, sys.executable, "-P", "-m", "bot", "stats"]
    env = kept | ours | {"SIGNOFF_DATABASE_URL": url}
    ran = subprocess.run(words, cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    return int(ran.stdout) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plans", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=41)
    parser.add_argument("--only", choices=["sqlite", "postgres"])
    given = parser.parse_args()
    for name in [given.only] if given.only else ["sqlite", "postgres"]:
        home = Path(tempfile.mkdtemp(prefix="signoff-bench-"))
        try:
            if name == "sqlite":
                measure(name, lambda: f"sqlite:///{home / f'{time.monotonic_ns()}.db'}", home, given)  # noqa: B023
                continue
            with postgres_server(durable=True) as postgres:
                measure(name, lambda: fresh_database(postgres), home, given)
        finally:
            shutil.rmtree(home, ignore_errors=True)


def measure(name: str, place: Callable[[], str], home: Path, given: argparse.Namespace) -> None:
    with grown(place(), home, FEW) as few, grown(place(), home, given.plans) as many:
        for act, ratio, ms in ratios(few, many, given.rounds):
            say(f"{act}_{given.plans}_{name}_ms", ms)
            say(f"{act}_{given.plans}_{name}_ratio", ratio, LIMIT)
        say(f"stats_{given.plans}_{name}_peak_mb", stats(many.url, home), STATS)


if __name__ == "__main__":
    main()
