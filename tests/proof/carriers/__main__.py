"""The carriers under a public torture: python -m tests.proof.carriers.

The nine cells of a published benchmark of PostgreSQL queues, and a worker that stands still: real workers
processes, by both carriers on PostgreSQL, and what applies on SQLite. Every plan has a step that is safe to
repeat, one that is not, and one that can be probed; their effects are lines in a file. A person who reads
that file answers what is asked. Recovered means: all plans have ended, and what was approved has happened.
"""

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from storage.contract.states import PlanState, StepState
from storage.database.tables import Event
from storage.errors import Conflict, NotFound, Unavailable
from storage.journal.chain import broken_link
from storage.reading.plan_view import PlanView
from tests.proof.carriers.cells import CELLS, EVERYWHERE, Scene
from tests.soak.fleet import Fleet, fleet, patiently
from tests.soak.sometimes import RARE, Sometimes
from tests.support.fakes import lasting, plan_spec, step
from tests.support.postgres import fresh_database, postgres_server
from tests.support.store import Store

ACTIONS = {"safe": "note_safely", "once": "note_once", "probed": "note_probed"}
UNSAFE = ("once", "probed")
PATIENCE = 150.0  # seconds from the end of what went wrong to the end of the last plan
STARTING = 120.0  # seconds that processes have to come up, on a machine that has more to do
AWAY = "the database was away"


@dataclass
class Load:
    """The plans of one cell, and the bot's part of their lives."""

    fleet: Fleet
    store: Store
    least: int = 0  # plans that are open at any time, so that whatever goes wrong finds steps under way
    plans: set[int] = field(default_factory=set)

    def pump(self) -> bool:
        """Permits for what is due, an answer to what is asked, a new process for one that ended. All done?"""
        self.fleet.watch()
        with suppress(Unavailable, Conflict, NotFound):
            for due in self.store.unpermitted():
                self.store.permit(due.id, actor="bot")
            for plan_id in self._open():
                self._answer(plan_id)
            for _ in range(self.least - len(self._open())):
                self._propose(self.store.request("notes", team="T", user="ANN", channel="C1"))
            return not self._open()
        return False

    def _open(self) -> list[int]:
        found = [view.id for view in self.store.open_plans()]
        self.plans |= {*found}
        return found

    def _propose(self, plan_id: int) -> None:
        """Approved at once; one step after the other, so that some plan is inside each kind at any time."""
        contracts = {one.action: one for one in self.store.contracts()}
        named = {key: {"name": f"{key}-{plan_id}"} for key in ACTIONS}
        turn = plan_id % len(ACTIONS)
        order = [*ACTIONS][turn:] + [*ACTIONS][:turn]
        before = zip(order, [(), *((key,) for key in order)], strict=False)
        steps = [
            step(key, contracts[ACTIONS[key]], parameters=named[key], depends_on=after)
            for key, after in before
        ]
        self.store.propose(plan_id, plan_spec(*steps), lasting(needed=0), author="planner")

    def _answer(self, plan_id: int) -> None:
        view = self.store.view(plan_id)
        if view.state == PlanState.planning:  # the database went away before it was proposed
            self._propose(plan_id)
        for one in view.steps:
            if one.state == StepState.unknown and not one.probing:
                ran = f"effect {one.spec.id}-{plan_id}" in self.fleet.lines()
                self.store.resolve(plan_id, one.spec.id, "ran" if ran else "did_not", user="BOB")

    def under_way(self, least: int) -> None:
        """Until so many effects have begun."""
        until = time.monotonic() + STARTING
        while sum(line.startswith("begin") for line in self.fleet.lines()) < least:
            self.pump()
            assert time.monotonic() < until, "the workers did not begin"
            time.sleep(0.05)


@dataclass(frozen=True)
class Outcome:
    """What one cell showed."""

    cell: str
    place: str
    plans: int
    recovered: int
    doubled: int
    broken: int
    seconds: float
    left: str = ""  # where those that did not recover stand

    @property
    def good(self) -> bool:
        return self.recovered == self.plans and not self.doubled and not self.broken

    def __str__(self) -> str:
        share = 100 * self.recovered // max(1, self.plans)
        return (
            f"{self.place:<22} {self.cell:<20} plans {self.plans:>3}  recovered {share:>3} %  "
            f"doubled {self.doubled}  journals broken {self.broken}  {self.seconds:6.1f} s to recover"
            f"{self.left}"
        )


def torture(
    cell: Callable[[Scene], None], place: "Place", home: Path, count: int, rare: Sometimes
) -> Outcome:
    """One cell: plans under way, what goes wrong, and how long until all of them have ended."""
    with fleet(home, place.url()) as (made, store):
        for number in range(1 if place.lite else 2):
            made.add(f"workers-{number + 1}", "workers", SIGNOFF_CARRIER=place.carrier, WITNESS_PACE="0.4",
                     SIGNOFF_SLOTS="8")  # fmt: skip
        load = Load(made, store)
        published(load)
        load.least = count
        load.under_way(3)
        cell(Scene(made, store, place.server, load.pump, random.Random(3)))  # noqa: S311 # the same each time
        load.least, began = 0, time.monotonic()
        while not load.pump() and time.monotonic() - began < PATIENCE:
            time.sleep(0.05)
        return judged(cell.__name__, place, load, time.monotonic() - began, rare)


def published(load: Load) -> None:
    """Until the workers have said what they can do."""
    until = time.monotonic() + STARTING
    while len(load.store.contracts()) < len(ACTIONS):
        load.fleet.watch()
        assert time.monotonic() < until, "the workers did not start"
        time.sleep(0.05)


def judged(cell: str, place: "Place", load: Load, seconds: float, rare: Sometimes) -> Outcome:
    lines, store = Counter(load.fleet.lines()), load.store
    views = [patiently(partial(store.view, plan_id)) for plan_id in sorted(load.plans)]
    events = {plan_id: store.events(plan_id) for plan_id in load.plans}
    happened = {
        view.id for view in views
        if all(lines[f"effect {key}-{view.id}"] for key in ACTIONS)
    }  # fmt: skip
    ended = [v for v in views if (v.state, v.outcome) == (PlanState.done, "succeeded") and v.id in happened]
    names = [f"effect {key}-{plan_id}" for plan_id in load.plans for key in UNSAFE]
    doubled = sum(lines[name] > 1 for name in names)
    broken = sum(broken_link(found) is not None for found in events.values())
    tell(rare, load, events)
    left = "".join(standing(view) for view in views if view not in ended)
    return Outcome(cell, place.name, len(views), len(ended), doubled, broken, seconds, left)


def standing(view: PlanView) -> str:
    steps = ", ".join(f"{one.spec.id} {one.state}" for one in view.steps)
    return f"\n  plan {view.id}: {view.state} {view.outcome or ''} ({steps})"


def tell(rare: Sometimes, load: Load, events: dict[int, list[Event]]) -> None:
    rare.saw(event.verb for found in events.values() for event in found)
    rare.reached(AWAY, load.fleet.said("does not answer"))


@dataclass(frozen=True)
class Place:
    """A database and a carrier."""

    carrier: str
    server: str = ""
    home: Path = Path()

    @property
    def lite(self) -> bool:
        return not self.server

    @property
    def name(self) -> str:
        return f"{'sqlite' if self.lite else 'postgres'}-{self.carrier}"

    def url(self) -> str:
        return (
            f"sqlite:///{self.home / f'{time.monotonic_ns()}.db'}"
            if self.lite
            else fresh_database(self.server)
        )


@contextmanager
def places(home: Path, only: str) -> Iterator[list[Place]]:
    with postgres_server(home) as server:
        all_ = [Place("local", server), Place("procrastinate", server), Place("local", "", home)]
        yield [place for place in all_ if only in place.name]


def main() -> int:
    given = arguments()
    rare, outcomes = Sometimes(*RARE.values(), AWAY), list[Outcome]()
    with (
        tempfile.TemporaryDirectory(prefix="signoff-carriers-") as top,
        places(Path(top), given.place) as found,
    ):
        for number, (place, cell) in enumerate((p, c) for p in found for c in CELLS):
            if (place.lite and cell not in EVERYWHERE) or (given.cell and cell.__name__ not in given.cell):
                continue
            home = (given.keep or Path(top)) / str(number)
            home.mkdir(parents=True)
            outcomes.append(torture(cell, place, home, given.plans, rare))
            sys.stdout.write(f"{outcomes[-1]}\n")
            sys.stdout.flush()
    bad = [one for one in outcomes if not one.good]
    slowest = max(one.seconds for one in outcomes)
    sys.stdout.write(
        f"proof_carriers: {len(outcomes)} cells, {len(bad)} bad, slowest {slowest:.1f} s\n{rare}\n"
    )
    return 1 if bad or (rare.never() and not given.cell and not given.place) else 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.proof.carriers", description=__doc__)
    parser.add_argument("--plans", type=int, default=30, help="that are open at any time")
    parser.add_argument("--cell", action="append", help="only this one", choices=[c.__name__ for c in CELLS])
    parser.add_argument("--place", default="", help="only where this stands in its name")
    parser.add_argument("--keep", type=Path, help="where the logs stay")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
