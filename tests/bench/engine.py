"""python -m tests.bench.engine: the engine beside the raw database. Per figure: name value limit ok|short.

Raw is two commits per step on the same database and nothing else, measured in the same run, turn about.
"""

import argparse
import math
import os
import shutil
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from statistics import mean, median
from typing import Any

import psycopg
from pydantic import BaseModel
from sqlalchemy import Select, func, insert, select
from sqlmodel import col

from storage.clock import wall
from storage.contract.spec import PlanSpec, StepSpec
from storage.contract.states import PlanState
from storage.database.engine import migrate, open_engine
from storage.database.tables import Plan, Step
from tests.bench.say import say
from tests.support.fakes import lasting
from tests.support.postgres import fresh_database, postgres_server
from tests.support.store import Store
from workers.base import Context, Params, Report, Worker, action
from workers.engine.attempt import Attempts
from workers.engine.carrier import LocalCarrier
from workers.engine.clock import Clock
from workers.engine.turn import Crew
from workers.registry import Registry

# Of a chain its time, of 100 plans at once their rate, ÷ those of two commits a step and nothing else.
CHAIN = {"sqlite": 1.5, "postgres": 1.7}
PLANS = {"sqlite": 1.2, "postgres": 1.0}
UPDATE = "UPDATE step SET status = {0}, fence = fence + 1 WHERE n = {0} AND status = {0}"


class Nothing(Params):
    """No parameters."""


class Data(BaseModel):
    """No data."""


class Began(BaseModel):
    """When the action began, in seconds since 1970."""

    at: float


class Bench(Worker):
    """Does nothing, or sleeps."""

    name = "bench"
    starts: list[float]

    @action(changes=False, repeat="safe")
    def nothing(self, params: Nothing, ctx: Context) -> Report[Data]:
        """Does nothing."""
        self.starts.append(time.time())
        return Report.ok("done", Data())

    @action(changes=False, repeat="safe")
    def sleep(self, params: Nothing, ctx: Context) -> Report[Began]:
        """Sleeps for a second."""
        began = Began(at=time.time())
        time.sleep(1)
        return Report.ok("done", began)

    @action(changes=False, repeat="safe", timeout=3600)
    def linger(self, params: Nothing, ctx: Context) -> Report[Data]:
        """Runs until it is killed."""
        time.sleep(3600)
        return Report.ok("done", Data())


class Engine:
    """A workers process's loop in this process, over one database; `store` is the bot's, as in its own."""

    def __init__(self, url: str, home: Path, slots: int = 16, *, alone: bool = True) -> None:
        self.worker = Bench({})
        self.worker.starts = []
        registry = Registry([self.worker])
        bots, workers = open_engine(url), open_engine(url)  # deaf to itself, not to the other
        migrate(bots)
        self.store = Store(bots, wall)
        self.store.publish(registry.contracts())
        self.attempts = Attempts(Store(workers, wall), registry, f"bench-{os.getpid()}", home / "attempts")
        self.crew = Crew(slots)
        carrier = LocalCarrier(self.attempts, self.crew)
        self.clock = Clock(self.attempts, self.crew, carrier, alone=alone, alive=lambda: None)

    @contextmanager
    def running(self) -> Iterator[None]:
        thread = threading.Thread(target=self.clock.run)
        thread.start()
        try:
            yield
        finally:
            self.clock.stop()
            thread.join()

    def steps(self, count: int, action: str, *, chained: bool, **fields: Any) -> PlanSpec:
        contract = self.attempts.registry.contract("bench", action)
        promise = {"contract": contract.hash(), "binding": contract.binding({}), **fields}
        after = [(f"s{n - 1}",) if chained and n else () for n in range(count)]
        made = [
            StepSpec(id=f"s{n}", worker="bench", action=action, depends_on=after[n], **promise)
            for n in range(count)
        ]
        return PlanSpec(goal="bench", steps=tuple(made))

    def plan(self, spec: PlanSpec) -> int:
        plan_id = self.store.request("bench", team="T", user="U", channel="C")
        self.store.propose(plan_id, spec, lasting(needed=0), author="bench")
        return plan_id

    def until_done(self, *plans: int, patience: float = math.inf) -> None:
        """Until all of them have ended, or patience has."""
        done = select(func.count()).where(col(Plan.id).in_(plans), col(Plan.state) != PlanState.done)
        until = time.monotonic() + patience
        while self._count(done) and time.monotonic() < until:
            time.sleep(0.1)  # seldom and cheap: it shares a process, and so a lock, with the engine

    def done(self, *plans: int) -> float:
        """When the last of them ended."""
        self.until_done(*plans)
        ended = [step.ended_at for plan_id in plans for step in self.store.view(plan_id).steps]
        return max(moment.timestamp() for moment in ended if moment)

    def _count(self, query: Select[tuple[int]]) -> int:
        with self.store.engine.begin() as connection:
            return connection.execute(query).scalar_one()

    def span(self, plan_id: int) -> float:
        """From the first start to the last end, by the rows."""
        steps = self.store.view(plan_id).steps
        return (max(s.ended_at for s in steps) - min(s.started_at for s in steps)).total_seconds()  # type: ignore[type-var, operator] # they ran

    def chain(self, count: int) -> float:
        """Seconds for so many steps, one after the other."""
        plan_id = self.plan(self.steps(count, "nothing", chained=True))
        self.done(plan_id)
        return self.span(plan_id)

    def ready(self, plans: int, steps: int) -> list[int]:
        """So many plans, approved; none of them starts before `go`."""
        self.store.stop("everything", reason="get ready", user="bench")
        return [self.plan(self.steps(steps, "nothing", chained=True)) for _ in range(plans)]

    def go(self) -> float:
        """When they were let go."""
        began = time.time()
        self.store.resume("everything", user="bench")
        return began

    def rush(self, plans: int, steps: int) -> float:
        """Seconds for so many plans at once."""
        made = self.ready(plans, steps)
        began = self.go()
        return self.done(*made) - began


def raw(url: str, home: Path, count: int) -> float:
    """Seconds per step of two commits, and nothing else."""
    connection: Any
    if url.startswith("sqlite"):
        connection = sqlite3.connect(home / f"raw-{time.monotonic_ns()}.db", isolation_level=None)
        for pragma in ("journal_mode=WAL", "synchronous=FULL"):
            connection.execute(f"PRAGMA {pragma}")
        mark, begin = "?", "BEGIN IMMEDIATE"
    else:
        connection, mark, begin = psycopg.connect(url, autocommit=True), "%s", "BEGIN"
        connection.execute("DROP TABLE IF EXISTS step_raw")
    table = "step" if mark == "?" else "step_raw"
    connection.execute(f"CREATE TABLE {table} (n int PRIMARY KEY, status text, fence int DEFAULT 0)")
    for n in range(count):
        connection.execute(f"INSERT INTO {table} (n, status) VALUES ({n}, 'ready')")  # noqa: S608 # numbers
    update = UPDATE.format(mark).replace("step", table)
    began = time.perf_counter()
    for n in range(count):
        for old, new in (("ready", "running"), ("running", "done")):
            connection.execute(begin)
            connection.execute(update, (new, n, old))
            connection.execute("COMMIT")
    took = time.perf_counter() - began
    connection.close()
    return took / count


def chain(url: str, home: Path, rounds: int) -> float:
    engine, ratios = Engine(url, home), []
    with engine.running():
        for _ in range(rounds):
            before, step = raw(url, home, 100), engine.chain(100) / 100
            ratios.append(step / mean((before, raw(url, home, 100))))
    return median(ratios)


def many(url: str, home: Path, rounds: int) -> float:
    engine, ratios = Engine(url, home), []
    with engine.running():
        for _ in range(rounds):
            before, step = raw(url, home, 200), engine.rush(100, 10) / 1000
            ratios.append(mean((before, raw(url, home, 200))) / step)
    return median(ratios)


def sleepers(url: str, home: Path, count: int) -> float:
    engine = Engine(url, home, slots=count)
    spec = engine.steps(min(count, 100), "sleep", chained=False)
    engine.store.stop("everything", reason="get ready", user="bench")
    plans = [engine.plan(spec) for _ in range(max(1, count // 100))]
    with engine.running():
        began = time.time()
        engine.store.resume("everything", user="bench")
        return engine.done(*plans) - began


def crowd(url: str, home: Path, count: int) -> float:
    """Steps due in the same second: how late the last one starts."""
    engine = Engine(url, home, slots=256)
    due = wall() + timedelta(seconds=count / 100 + 5)
    schedule = {"schedule": {"not_before": due, "not_after": due + timedelta(hours=2)}}
    spec = engine.steps(100, "nothing", chained=False, **schedule)
    plans = [engine.plan(spec) for _ in range(count // 100)]
    time.sleep(max(0.0, (due - wall()).total_seconds() - 1))
    with engine.running():
        engine.done(*plans)
    return max(engine.worker.starts) - due.timestamp()


def restart(url: str, home: Path, count: int) -> float:
    """Until a new process knows what is due, with that many plans waiting."""
    engine = Engine(url, home)
    later = {"schedule": {"not_before": wall() + timedelta(days=1)}}
    engine.plan(engine.steps(1, "nothing", chained=False, **later))
    with engine.store.write() as t:
        (row,) = t.steps(t.plan(1))
        facts = {k: v for k, v in row.model_dump(warnings=False).items() if k not in {"id", "key"}}
        t.execute(insert(Step), [{**facts, "key": f"x{n}"} for n in range(count)])
    fresh = Engine(url, home)
    began = time.perf_counter()
    fresh.store.miss()
    fresh.store.turn([], fresh.attempts.taker, 16)
    fresh.store.soonest(wall())
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--crowd", type=int, default=10_000)
    given = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="signoff-bench-"))

    def lite() -> str:
        return f"sqlite:///{home / f'{time.monotonic_ns()}.db'}"

    with postgres_server(durable=True) as postgres:
        places: dict[str, Callable[[], str]] = {"sqlite": lite, "postgres": lambda: fresh_database(postgres)}
        for name, place in places.items():
            say(f"chain_{name}_per_raw", chain(place(), home, given.rounds), CHAIN[name])
            say(f"plans_{name}_per_raw", many(place(), home, given.rounds), PLANS[name], least=True)
            say(f"sleepers_100_{name}_s", sleepers(place(), home, 100), 1.5)
            say(f"sleepers_1000_{name}_s", sleepers(place(), home, 1000), 4.0)
            say(f"restart_10000_{name}_s", restart(place(), home, 10_000), 0.5)
            say(f"crowd_{given.crowd}_{name}_late_s", crowd(place(), home, given.crowd), 5.0)
    shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
