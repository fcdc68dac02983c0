"""Every verb in every state: it moves along the table, or changes nothing."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select

from storage.contract.postponing import moved
from storage.contract.states import PLAN_MOVES, STEP_MOVES, PlanState, StepState
from storage.database.statements import table
from storage.database.tables import Approval, Attempt, Event, Message, Plan, Revision, Step, Target
from storage.errors import Conflict
from tests.support.fakes import (
    DEPLOY,
    NOW,
    approved,
    bad,
    claim,
    fail,
    ok,
    plan_spec,
    propose,
    step,
    step_row,
    take,
    tamper,
    terms,
)
from tests.support.store import Store

S = StepState
TONIGHT = {"not_before": NOW + timedelta(hours=12), "not_after": NOW + timedelta(hours=14)}
LATER = NOW + timedelta(hours=36)


def everything(store: Store) -> list[Any]:
    """All rows that a verb could change; `version` is a counter, not a fact."""
    with store.read() as t:
        found = []
        for model in (Plan, Revision, Approval, Step, Attempt, Target, Event, Message):
            rows = [dict(row._mapping) for row in t.execute(select(table(model)))]
            found.append([{k: v for k, v in row.items() if k != "version"} for row in rows])
        return found


def plan_in(store: Store, state: PlanState) -> int:
    plan_id = propose(store)
    tamper(store, "UPDATE plan SET state = :state", state=state)
    return plan_id


def moves(store: Store, plan_id: int) -> dict[str, Any]:
    """Each verb of a plan, as its caller says it."""
    spec, digest = plan_spec(), plan_spec().digest()
    return {
        "propose": lambda: store.propose(plan_id, spec, terms(), author="planner"),
        "amend": lambda: store.amend(plan_id, spec, terms(), author="ANN", after=1, changes=["x"]),
        "approve": lambda: store.approve(plan_id, 1, digest, team="T1", user="BOB", policy="p"),
        "reject": lambda: store.reject(plan_id, 1, user="BOB", reason="no"),
        "stall": lambda: store.stall(plan_id, actor="planner", reason="no idea"),
        "cancel": lambda: store.cancel(plan_id, user="ANN", reason="no more"),
    }


def postponed(store: Store, plan_id: int) -> int:
    spec, pending = plan_spec(step("s1", DEPLOY, schedule=TONIGHT)), {"s1"}
    new = moved(spec, pending, "s1", LATER)
    return store.postpone(plan_id, new, user="ANN", after=1, wait=timedelta(days=7), changes=["x"])


@pytest.mark.parametrize("state", PlanState)
def test_only_an_approved_plan_is_postponed(lite, state):
    plan_id = approved(lite, step("s1", DEPLOY, schedule=TONIGHT))
    tamper(lite, "UPDATE plan SET state = :state", state=state)
    was = everything(lite)

    if state == PlanState.approved:
        postponed(lite, plan_id)

        assert lite.view(plan_id).state == PlanState.approved
    else:
        with pytest.raises(Conflict):
            postponed(lite, plan_id)

        assert everything(lite) == was


@pytest.mark.parametrize("state", PlanState)
@pytest.mark.parametrize("verb", PLAN_MOVES)
def test_a_plan_moves_only_along_its_table(lite, state, verb):
    plan_id = plan_in(lite, state)
    before, after = PLAN_MOVES[verb]
    was = everything(lite)

    if state in before:
        with lite.write() as t:
            moved = t.move(plan_id, verb, actor="test")

        assert moved.state == after
        assert lite.view(plan_id).state == after
        assert lite.events(plan_id)[-1].verb == verb
    else:
        with pytest.raises(Conflict, match=f"is {state}"), lite.write() as t:
            t.move(plan_id, verb, actor="test")

        assert everything(lite) == was


@pytest.mark.parametrize("state", PlanState)
@pytest.mark.parametrize("verb", ["propose", "amend", "approve", "reject", "stall", "cancel"])
def test_a_verb_of_the_store_obeys_the_table(lite, state, verb):
    plan_id = plan_in(lite, state)
    before, after = PLAN_MOVES[verb]
    was = everything(lite)

    if state in before:
        moves(lite, plan_id)[verb]()

        assert lite.view(plan_id).state == after
    else:
        with pytest.raises(Conflict):
            moves(lite, plan_id)[verb]()

        assert everything(lite) == was


@pytest.mark.parametrize("state", PlanState)
def test_only_a_proposed_plan_expires(lite, clock, state):
    plan_id = plan_in(lite, state)
    clock.advance(hours=25)

    assert lite.expire() == ([plan_id] if state == PlanState.proposed else [])


@pytest.mark.parametrize("state", PlanState)
@pytest.mark.parametrize("choice", ["retry", "skip", "abort", "rollback"])
def test_only_a_stalled_plan_takes_an_answer(lite, state, choice):
    plan_id = approved(lite, step("s1"))
    fail(lite, plan_id, "s1")
    tamper(lite, "UPDATE plan SET state = :state", state=state)
    was = everything(lite)

    if state == PlanState.stalled:
        lite.answer(plan_id, "s1", choice, user="ANN")

        assert lite.view(plan_id).state in {PlanState.approved, PlanState.done}
    else:
        with pytest.raises(Conflict):
            lite.answer(plan_id, "s1", choice, user="ANN")

        assert everything(lite) == was


@pytest.mark.parametrize("state", StepState)
@pytest.mark.parametrize("verb", STEP_MOVES)
def test_a_step_moves_only_along_its_table(lite, state, verb):
    plan_id = approved(lite, step("s1"))
    tamper(lite, "UPDATE step SET state = :state", state=state)
    before, after = STEP_MOVES[verb]
    row, was = step_row(lite, plan_id, "s1"), everything(lite)

    if state in before:
        with lite.write() as t:
            t.move_step(row, verb)

        assert step_row(lite, plan_id, "s1").state == after
    else:
        with pytest.raises(Conflict, match="moved on"), lite.write() as t:
            t.move_step(row, verb)

        assert everything(lite) == was


@pytest.mark.parametrize("verb", STEP_MOVES)
def test_a_step_does_not_move_for_an_older_attempt(lite, verb):
    plan_id = approved(lite, step("s1"))
    row = step_row(lite, plan_id, "s1")
    tamper(lite, "UPDATE step SET attempt = 7, state = :state", state=next(iter(STEP_MOVES[verb][0])))

    with pytest.raises(Conflict, match="moved on"), lite.write() as t:
        t.move_step(row, verb)


@pytest.mark.parametrize("state", StepState)
def test_only_a_pending_step_is_claimed(lite, state):
    plan_id = approved(lite, step("s1"))
    tamper(lite, "UPDATE step SET state = :state", state=state)

    assert bool(claim(lite, plan_id, "s1")) is (state == S.pending)
    assert step_row(lite, plan_id, "s1").state == (S.running if state == S.pending else state)


@pytest.mark.parametrize("state", StepState)
@pytest.mark.parametrize("verb", ["succeed", "fail", "retry"])
def test_a_report_counts_only_while_its_attempt_is_open(lite, state, verb):
    plan_id = approved(lite, step("s1"))
    taken = take(lite, plan_id, "s1")
    tamper(lite, "UPDATE step SET state = :state", state=state)
    say = {
        "succeed": lambda: lite.succeed(taken, ok(), actor="w1"),
        "fail": lambda: lite.fail(taken, bad(), actor="w1"),
        "retry": lambda: lite.retry(taken, bad(), actor="w1", wait=1),
    }
    open_ = state in {S.running, S.unknown}

    assert say[verb]() is open_
    assert step_row(lite, plan_id, "s1").state == (STEP_MOVES[verb][1] if open_ else state)


@pytest.mark.parametrize("state", StepState)
@pytest.mark.parametrize("verb", ["lose", "ran", "did_not", "look"])
def test_only_a_running_step_is_lost_and_only_an_unknown_one_resolved(lite, state, verb):
    plan_id = approved(lite, step("s1", DEPLOY))
    take(lite, plan_id, "s1")
    tamper(lite, "UPDATE step SET state = :state", state=state)
    row, was = step_row(lite, plan_id, "s1"), everything(lite)

    def act() -> None:
        if verb == "lose":
            lite.lose(row, actor="w2", probe=False)
        else:
            lite.resolve(plan_id, "s1", verb, user="BOB")

    if state == (S.running if verb == "lose" else S.unknown):
        act()

        assert everything(lite) != was
    else:
        with pytest.raises(Conflict):
            act()

        assert everything(lite) == was
