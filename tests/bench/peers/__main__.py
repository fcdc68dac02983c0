"""python -m tests.bench.peers: Signoff and its peers, turn about in one run, as ratios to the raw database.

Raw is two commits a step on one connection of the same database, measured just before and just after each run
of each system. A chain is the time of its steps ÷ raw's, so that less is better; plans at once are steps a
second ÷ raw's, so that more is better. Every turn is a new process on an empty database, and warms itself up.
What can be there before the clock starts is there: plans are approved, first jobs are queued.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from storage.config import RELEASE
from tests.bench.engine import say
from tests.bench.peers.environment import build, python_of, version
from tests.bench.peers.figures import Figure, absent, leads, table
from tests.bench.peers.systems import PEERS, SIGNOFF, SYSTEMS, System
from tests.bench.peers.turns import Place, Silent, Sizes, turn
from tests.support.places import ROOT
from tests.support.postgres import fresh_database, postgres_server


class Run:
    """What is measured, where, and what came of it."""

    def __init__(self, given: argparse.Namespace, home: Path, places: Sequence[Place]) -> None:
        self.given, self.home, self.places = given, home, places
        self.sizes = Sizes(given.chain, given.plans, given.steps)
        self.missing = build(given.environment, PEERS)
        self.systems = [one for one in SYSTEMS if one.name not in self.missing]
        self.found: list[Figure] = []
        self.silent: dict[tuple[str, str], str] = {}

    def python(self, system: System) -> Path:
        return Path(sys.executable) if system.ours else python_of(self.given.environment)

    def go(self) -> None:
        """Turn about; each round begins with another one."""
        turns = [(one, place) for place in self.places for one in self.systems if place.name in one.places]
        for number in range(self.given.rounds):
            first = number % len(turns)
            for one, place in [*turns[first:], *turns[:first]]:
                self._turn(number, one, place)

    def _turn(self, number: int, system: System, place: Place) -> None:
        try:
            for figure in turn(self.python(system), system, place, self.home, self.sizes):
                self.found.append(replace(figure, round=number))
                tell(f"round {number + 1}: {figure}")
        except Silent as error:
            if system.ours:
                raise
            self.silent[system.name, place.name] = str(error)

    def rows(self) -> dict[str, tuple[str, str]]:
        """Those of the table: name with version, and what each keeps; or that it is not here."""
        known = {one.name: (f"{one.name} {self.version(one)}", one.records) for one in self.systems}
        return {one.name: known.get(one.name, (one.name, "not installed")) for one in SYSTEMS}

    def version(self, system: System) -> str:
        return RELEASE if system.ours else version(self.python(system), system)


def tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def show(run: Run) -> None:
    sizes = run.sizes
    tell(
        f"\nMedians [least–most] of {run.given.rounds} rounds, ÷ raw two commits a step of the same database."
    )
    tell(f"A chain of {sizes.chain}: seconds ÷ raw's. {sizes.plans} plans of {sizes.steps}: rate ÷ raw's.")
    tell(
        f"Load of this machine in the last 15 minutes: {os.getloadavg()[2]:.1f} on {os.cpu_count()} cores.\n"
    )
    tell(table(run.rows(), run.found))
    for sentence in absent(run.missing, run.silent):
        tell(f"\n{sentence}")
    tell("\nSignoff's ratio ÷ the peer's, of the same round: name value limit ok|short.")
    for name, value, limit, least in leads(run.found, SIGNOFF.name):
        say(name, value, limit, least=least)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.peers", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--chain", type=int, default=100, help="steps in a row")
    parser.add_argument("--plans", type=int, default=100, help="plans at once")
    parser.add_argument("--steps", type=int, default=10, help="steps of each of them")
    parser.add_argument("--environment", type=Path, default=ROOT / ".venv-peers", help="where peers live")
    return parser.parse_args()


def main() -> None:
    given, here = arguments(), {"prefix": "signoff-bench-", "ignore_cleanup_errors": True}
    with tempfile.TemporaryDirectory(**here) as home, postgres_server(durable=True) as server:

        def lite() -> str:
            return f"sqlite:///{home}/{time.monotonic_ns()}.db"

        beside = Place("postgres", lambda: fresh_database(server), fresh_database(server))
        run = Run(given, Path(home), [Place("sqlite", lite, lite()), beside])
        run.go()
        show(run)


if __name__ == "__main__":
    main()
