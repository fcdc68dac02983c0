"""Workers processes as threads of the test: real clocks, a real carrier, a worker that notes what it did."""

import time
from collections.abc import Callable
from contextlib import ExitStack
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from threading import Event, Thread
from typing import Any

from pydantic import BaseModel

from storage.clock import wall
from storage.contract.spec import StepSpec
from storage.contract.states import StepState
from tests.support.fakes import approve, plan_spec, step, terms
from tests.support.store import Store
from workers.__main__ import choose_carrier
from workers.base import Context, Params, Report, Transient, Worker, action
from workers.engine.attempt import Attempts
from workers.engine.clock import Clock
from workers.engine.turn import Crew
from workers.registry import Registry


class Shifted:
    """The wall clock, which the test may move on."""

    shift = timedelta()

    def __call__(self) -> datetime:
        return wall() + self.shift


class Named(Params):
    name: str


class Data(BaseModel):
    name: str = ""


class Ops(Worker):
    """Notes who did what when; `hold` waits until the test opens the gate, or until it is told to stop."""

    name = "ops"
    seen: list[tuple[str, str, float]]
    gate: Event

    def note(self, params: Named, ctx: Context) -> Report[Data]:
        self.seen.append((params.name, ctx.step, time.monotonic()))
        return Report[Data].ok("noted", Data(name=params.name))

    @action(changes=False, repeat="safe")
    def read(self, params: Named, ctx: Context) -> Report[Data]:
        return self.note(params, ctx)

    @action(changes=True, timeout=60)
    def change(self, params: Named, ctx: Context) -> Report[Data]:
        return self.note(params, ctx)

    @action(changes=False, repeat="safe")
    def stumble(self, params: Named, ctx: Context) -> Report[Data]:
        self.note(params, ctx)
        if ctx.attempt == 1:
            raise Transient("busy", after=0.5)
        return Report[Data].ok("up again", Data())

    @action(changes=False, repeat="safe", timeout=60)
    def hold(self, params: Named, ctx: Context) -> Report[Data]:
        self.note(params, ctx)
        while not self.gate.wait(0.01):
            if ctx.cancelled():
                return Report[Data].failed("told to stop")
        return Report[Data].ok("let go", Data())


class Other(Ops):
    """The same, by another name."""

    name = "other"


class Site:
    """One database, one carrier, and the workers processes that the test starts on them."""

    def __init__(self, store: Store, carrier: str, home: Path) -> None:
        self.store, self.carrier, self.home = store, carrier, home
        self.worker, self.other = Ops({}), Other({})
        for made in (self.worker, self.other):
            made.seen, made.gate = [], Event()
        self.registry = Registry([self.worker, self.other])
        store.publish(self.registry.contracts())
        self._ends = ExitStack()

    def process(self, owner: str = "w1", *, size: int = 4, workers: list[Worker] | None = None) -> Clock:
        """A workers process; at the end of the test it is drained."""
        store = Store(self.store.engine, self.store.clock)
        attempts = Attempts(store, Registry(workers or [self.worker]), owner, self.home)
        crew = Crew(size)
        alone = self.store.engine.dialect.name == "sqlite"
        clock = Clock(
            attempts,
            crew,
            choose_carrier(self.carrier, attempts, crew),
            alone=alone,
            alive=lambda: None,
            patience=5,
        )
        thread = Thread(target=clock.run, name=owner)
        thread.start()
        self._ends.callback(clock._commits.close)  # what a process leaves to its own end
        self._ends.callback(partial(thread.join, 20))
        self._ends.callback(clock.stop)
        return clock

    def close(self) -> None:
        self.worker.gate.set()
        self._ends.close()

    def step(self, key: str, action: str = "read", worker: str = "ops", **fields: Any) -> StepSpec:
        made = self.registry.contract(worker, action)
        return step(key, made, parameters={"name": key}, **fields)

    def approved(self, *steps: StepSpec) -> int:
        plan_id = self.store.request("x", team="T1", user="ANN", channel="C1")
        later = terms(expires_at=self.store.clock() + timedelta(hours=1))
        self.store.propose(plan_id, plan_spec(*steps), later, author="planner")
        approve(self.store, plan_id)
        return plan_id

    def seen(self) -> list[str]:
        return [key for _, key, _ in [*self.worker.seen]]

    def state(self, plan_id: int, key: str) -> StepState:
        return self.store.view(plan_id).step(key).state

    def done(self, plan_id: int) -> None:
        until(lambda: self.store.view(plan_id).state == "done", f"plan {plan_id} to end")


def until(look: Callable[[], object], what: str, patience: float = 30.0) -> None:
    end = time.monotonic() + patience
    while not look():
        assert time.monotonic() < end, f"waited {patience:g} s for {what}"
        time.sleep(0.01)
