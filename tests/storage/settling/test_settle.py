"""What follows from the steps as they are: questions and rollbacks."""

from storage.contract.states import PlanState
from tests.support.fakes import (
    DEPLOY,
    RESTORE,
    approved,
    bad,
    claim,
    due,
    fail,
    ok,
    states,
    step,
    succeed,
    take,
    undo,
)
from tests.support.samples.plans import failed_plan, rollback_plan


def test_a_rollback_undoes_what_started_last_first(store):
    plan_id = rollback_plan(store)

    assert states(store, plan_id) == {
        "one": "succeeded", "two": "failed", "three": "skipped", "undo-two": "pending", "undo-one": "pending",
    }  # fmt: skip
    assert claim(store, plan_id, "undo-one") is None
    taken = take(store, plan_id, "undo-two")
    assert taken.previous == {"version": "2.1.3"}
    store.succeed(taken, ok(), actor="w1")
    succeed(store, plan_id, "undo-one")
    view = store.view(plan_id)
    assert (view.state, view.outcome) == (PlanState.done, "rolled_back")


def test_a_failed_rollback_stalls_until_a_person_answers(store):
    plan_id = rollback_plan(store)
    fail(store, plan_id, "undo-two")
    view = store.view(plan_id)

    assert view.state == PlanState.stalled
    assert view.step("undo-two").choices == ("retry", "take_over", "abort")
    assert due(store) == []
    store.answer(plan_id, "undo-two", "retry", user="BOB")
    succeed(store, plan_id, "undo-two")
    succeed(store, plan_id, "undo-one")
    assert store.view(plan_id).outcome == "rolled_back"


def test_a_rollback_that_can_no_longer_be_made_keeps_the_report_and_asks(store):
    plan_id = approved(store, step("s1", DEPLOY, failure_action="rollback"), rollback=(undo("u1", "s1"),))
    taken = take(store, plan_id, "s1")
    store.publish([RESTORE.model_copy(update={"timeout": 601.0})])

    assert store.fail(taken, bad(), actor="w1") is True
    assert store.view(plan_id).state == PlanState.stalled
    assert states(store, plan_id)["s1"] == "failed"


def test_a_failure_asks_and_nothing_runs_until_somebody_answers(store):
    plan_id = failed_plan(store)
    view = store.view(plan_id)

    assert (view.state, view.reason) == (PlanState.stalled, "step s1 failed")
    assert view.step("s1").choices == ("retry", "skip", "take_over", "abort")
    assert due(store) == []
    assert claim(store, plan_id, "s2") is None
