"""Every verb of `Store` in any order, by several hands at once: the invariants hold after each."""

import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from sqlmodel import col

from storage.contract.states import OPEN, PlanState, StepState
from storage.database.engine import migrate, open_engine
from storage.database.tables import Approval, Attempt, Event, Plan, Step, Target
from storage.errors import Conflict, NotFound
from storage.journal.chain import broken_link
from storage.steps.claims import Claim, Ending
from tests.support.fakes import (
    BACKUP,
    CONTRACTS,
    DEPLOY,
    NOW,
    READ,
    FakeClock,
    approve,
    bad,
    ok,
    plan_spec,
    propose,
    step,
    taker,
    terms,
    undo,
)
from tests.support.store import Store

WORKERS = ("w1", "w2")
WAYS = ("ask", "abort", "rollback", "continue")
LATE = (Conflict, NotFound)  # a verb that came too late, or meant something else


def diamond(way: str, made: Any) -> Any:
    """Two branches, and one that needs both; the way of the failure decides what follows."""
    a, b = step("a", READ), step("b", made, depends_on=("a",), failure_action=way)
    c, d = step("c", BACKUP, depends_on=("a",)), step("d", READ, depends_on=("b", "c"))
    return plan_spec(a, b, c, d, rollback=(undo("ub", "b"),))


class Everything(RuleBasedStateMachine):
    """Bots, workers, people and the clock, all doing what they may at any moment."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.clock = FakeClock(NOW)
        engine = open_engine(f"sqlite:///{Path(self.folder.name) / 'signoff.db'}")
        migrate(engine)
        self.store = Store(engine, self.clock)
        self.hands = {name: taker(*CONTRACTS.values(), owner=name) for name in WORKERS}
        self.stores = {name: Store(engine, self.clock) for name in WORKERS}
        self.claims: list[Claim] = []
        self.answered: set[tuple[int, str]] = set()  # steps that a person let run again

    def teardown(self) -> None:
        self.store.engine.dispose()
        self.folder.cleanup()

    @initialize(ways=st.lists(st.sampled_from(WAYS), min_size=2, max_size=2))
    def first(self, ways: list[str]) -> None:
        for way in ways:
            self.plan(way, unsafe=True, needed=1, agreed=True)

    @rule(way=st.sampled_from(WAYS), unsafe=st.booleans(), needed=st.integers(0, 2), agreed=st.booleans())
    def plan(self, way: str, unsafe: bool, needed: int, agreed: bool) -> None:
        plan_id = propose(self.store, diamond(way, DEPLOY if unsafe else READ), needed=needed)
        for user in ("BOB", "CAROL")[:needed] if agreed else ():
            approve(self.store, plan_id, user)

    @rule(data=st.data(), user=st.sampled_from(["BOB", "CAROL"]))
    def yes(self, data: st.DataObject, user: str) -> None:
        self._try(lambda: approve(self.store, self._any(data), user))

    @rule(data=st.data(), verb=st.sampled_from(["reject", "cancel", "amend", "stall"]))
    def decide(self, data: st.DataObject, verb: str) -> None:
        plan_id = self._any(data)
        view = self.store.view(plan_id)
        acts: dict[str, Callable[[], Any]] = {
            "reject": lambda: self.store.reject(plan_id, view.revision, user="BOB", reason="no"),
            "cancel": lambda: self.store.cancel(plan_id, user="ANN", reason="no"),
            "amend": lambda: self._amend(view),
            "stall": lambda: self.store.stall(plan_id, actor="planner", reason="?"),
        }
        self._try(acts[verb])

    @rule(data=st.data(), free=st.integers(1, 4))
    def work(self, data: st.DataObject, free: int) -> None:
        """Both workers take a turn at the same moment; some attempts end, some of them twice."""
        verbs = st.sampled_from(["succeed", "succeed", "succeed", "fail", "retry"])
        some = (
            st.lists(st.sampled_from(self.claims[-6:]), min_size=1, max_size=4)
            if self.claims
            else st.just([])
        )
        self._turn([_ending(claim, data.draw(verbs)) for claim in data.draw(some)], free)

    @rule()
    def work_on(self) -> None:
        """Everything that runs succeeds, and what follows starts."""
        self._turn([_ending(claim, "succeed") for claim in self.claims], 4)

    def _turn(self, ended: list[Ending], free: int) -> None:
        def turn(name: str) -> list[Claim]:
            return self.stores[name].turn(ended, self.hands[name], free)

        with ThreadPoolExecutor(len(WORKERS)) as pool:
            found = [claim for claims in pool.map(turn, WORKERS) for claim in claims]
        assert len({(claim.step_id, claim.attempt) for claim in found}) == len(found)
        self.claims += found

    @rule(seconds=st.sampled_from([1, 20, 90]), lost=st.booleans())
    def wait(self, seconds: int, lost: bool) -> None:
        self.clock.advance(seconds)
        self.store.miss()
        self.store.expire()
        for row in self.store.lapsed(owner="w3", alone=lost):
            self._try(lambda row=row: self.store.lose(row, actor="w3", probe=False))
        for row in self.store.unpermitted():
            self.store.permit(row.id or 0, actor="bot")

    @rule(data=st.data(), choice=st.sampled_from(["retry", "skip", "abort", "rollback", "ran", "did_not"]))
    def answer(self, data: st.DataObject, choice: str) -> None:
        plan_id = self._any(data)
        for view in self.store.view(plan_id).steps:
            key = view.spec.id
            if choice in {"ran", "did_not"}:
                self._try(lambda key=key: self.store.resolve(plan_id, key, choice, user="BOB"))
            else:
                self._try(lambda key=key: self.store.answer(plan_id, key, choice, user="BOB"))
            self.answered |= {(plan_id, key)} if choice in {"retry", "did_not"} else set()

    @rule()
    def switch(self) -> None:
        """While everything is stopped, nothing starts."""
        self.store.stop("everything", user="EVE", reason="look")
        before = len(self.claims)
        self._turn([], 4)
        assert len(self.claims) == before
        self.store.resume("everything", user="EVE")

    @invariant()
    def the_rows_agree(self) -> None:
        with self.store.read() as t:
            plans = {plan.id: plan for plan in t.rows(Plan)}
            steps, attempts, targets = t.rows(Step), t.rows(Attempt), t.rows(Target)
            approvals = t.rows(Approval)
        held = {step.target for step in steps if step.state in {"running", "unknown"} and step.target}
        open_ = {(attempt.step_id, attempt.number) for attempt in attempts if not attempt.outcome}
        assert {target.name for target in targets} == held
        assert open_ >= {(step.id, step.attempt) for step in steps if step.state == StepState.running}
        for row in steps:
            self._fits(row, plans[row.plan_id], [a for a in approvals if a.plan_id == row.plan_id])
        self._never_twice(steps, attempts)

    def _fits(self, step: Step, plan: Plan, given: list[Approval]) -> None:
        """A step exists because its revision was approved, and moves only while its plan is open."""
        needed = self.store.view(plan.id or 0).needed
        assert len([a for a in given if a.revision == step.revision]) >= needed
        if step.revision == plan.revision and plan.state not in OPEN:
            assert step.state not in {"pending", "running", "unknown"}
        assert (step.due_at is None) or step.state == StepState.pending
        assert plan.state not in {PlanState.planning, PlanState.proposed} or step.revision != plan.revision

    def _never_twice(self, steps: list[Step], attempts: list[Attempt]) -> None:
        """No unsafe step was tried a second time by itself."""
        for row in steps:
            tries = [attempt for attempt in attempts if attempt.step_id == row.id]
            if row.repeat == "unsafe" and len(tries) > 1:
                assert (row.plan_id, row.key) in self.answered

    @invariant()
    def the_journal_is_whole(self) -> None:
        with self.store.read() as t:
            for plan in t.rows(Plan):
                events = t.rows(Event, col(Event.plan_id) == plan.id, order=col(Event.seq))
                assert broken_link(events) is None
                assert (len(events), events[-1].hash) == (plan.events, plan.head)

    def _amend(self, view: Any) -> None:
        self.store.amend(
            view.id, view.spec, terms(view.needed), author="ANN", after=view.revision, changes=["x"]
        )

    def _any(self, data: st.DataObject) -> int:
        return data.draw(st.sampled_from([v.id for v in self.store.open_plans()] or [1]))

    def _try(self, act: Callable[[], Any]) -> None:
        try:
            act()
        except LATE:
            return


def _ending(claim: Claim, verb: str) -> Ending:
    """As a worker would end it: only what is safe to repeat is tried again."""
    verb = "fail" if verb == "retry" and claim.repeat == "unsafe" else verb
    return Ending(claim, verb, ok() if verb == "succeed" else bad())


TestEverything = Everything.TestCase
TestEverything.settings = settings(
    max_examples=6, stateful_step_count=20, suppress_health_check=list(HealthCheck)
)
