"""What a person says to a failed step: retry, skip, roll back, abort; each counts once."""

from functools import partial

import pytest

from storage.contract.states import PlanState
from storage.errors import Conflict
from tests.support.fakes import (
    DEPLOY,
    READ,
    approved,
    attempts,
    bad,
    fail,
    states,
    step,
    step_row,
    strangers,
    succeed,
    take,
    taker,
    together,
    undo,
    verbs,
)
from tests.support.samples.plans import failed_plan, rollback_plan


def test_giving_up_a_rollback_is_a_failure(store):
    plan_id = rollback_plan(store)
    fail(store, plan_id, "undo-two")
    store.answer(plan_id, "undo-two", "abort", user="BOB")
    view = store.view(plan_id)

    assert (view.state, view.outcome) == (PlanState.done, "failed")
    assert states(store, plan_id)["undo-one"] == "skipped"


def test_an_undo_cannot_be_skipped(store):
    plan_id = rollback_plan(store)
    fail(store, plan_id, "undo-two")

    with pytest.raises(Conflict):
        store.answer(plan_id, "undo-two", "skip", user="BOB")


@pytest.mark.parametrize("choice", ["retry", "rollback", "abort"])
def test_what_is_being_rolled_back_is_not_asked_about_once_more(store, choice):
    plan_id = rollback_plan(store)
    fail(store, plan_id, "undo-two")
    view = store.view(plan_id)

    assert (view.step("two").state, view.step("two").choices) == ("failed", ())
    assert view.step("undo-two").choices == ("retry", "take_over", "abort")
    with pytest.raises(Conflict, match="not waiting"):
        store.answer(plan_id, "two", choice, user="BOB")
    with pytest.raises(Conflict, match="not waiting"):
        store.take_over(plan_id, "two", user="BOB", text="did it", data={})


def test_retry_runs_it_again(store):
    plan_id = failed_plan(store)
    store.answer(plan_id, "s1", "retry", user="ANN")
    succeed(store, plan_id, "s1")
    succeed(store, plan_id, "s2")

    assert store.view(plan_id).outcome == "succeeded"
    assert [found.number for found in attempts(store)] == [1, 2, 1]


def test_skip_goes_on_without_it(store):
    plan_id = failed_plan(store)
    store.answer(plan_id, "s1", "skip", user="ANN")
    succeed(store, plan_id, "s2")

    assert store.view(plan_id).outcome == "incomplete"
    assert states(store, plan_id) == {"s1": "skipped", "s2": "succeeded"}


def test_abort_ends_it(store):
    plan_id = failed_plan(store)
    store.answer(plan_id, "s1", "abort", user="ANN")

    assert store.view(plan_id).outcome == "failed"
    assert states(store, plan_id) == {"s1": "failed", "s2": "skipped"}


def test_a_person_may_roll_back_instead(store):
    plan_id = approved(store, step("s1", DEPLOY), rollback=(undo("u1", "s1"),))
    fail(store, plan_id, "s1")
    assert "rollback" in store.view(plan_id).step("s1").choices
    store.answer(plan_id, "s1", "rollback", user="ANN")
    succeed(store, plan_id, "u1")

    assert store.view(plan_id).outcome == "rolled_back"


def test_what_a_later_change_relies_on_cannot_be_skipped(store):
    plan_id = approved(store, step("backup"), step("deploy", DEPLOY, depends_on=("backup",)))
    fail(store, plan_id, "backup")

    with pytest.raises(Conflict, match="relies on backup"):
        store.answer(plan_id, "backup", "skip", user="ANN")
    assert store.view(plan_id).state == PlanState.stalled


@pytest.mark.parametrize(("key", "choice"), [("s1", "explode"), ("s2", "retry"), ("nothing", "retry")])
def test_an_answer_to_another_question_is_refused(store, key, choice):
    plan_id = failed_plan(store)

    with pytest.raises(Conflict):
        store.answer(plan_id, key, choice, user="ANN")
    assert store.view(plan_id).state == PlanState.stalled


def test_an_answer_counts_once(store):
    plan_id = failed_plan(store)
    one, two = strangers(store, 2)
    found = together([partial(mine.answer, plan_id, "s1", "retry", user="X") for mine in (one, two)])

    assert sorted(type(result).__name__ for result in found) == ["Conflict", "NoneType"]
    assert verbs(store, plan_id).count("answer") == 1


def test_two_failed_branches_are_answered_one_after_the_other(store):
    plan_id = approved(store, step("a"), step("b"))
    one, two = take(store, plan_id, "a"), take(store, plan_id, "b")
    store.fail(one, bad(), actor="w1")
    assert store.view(plan_id).state == PlanState.approved
    store.fail(two, bad(), actor="w1")
    store.answer(plan_id, "a", "retry", user="ANN")
    assert store.view(plan_id).state == PlanState.stalled
    store.answer(plan_id, "b", "skip", user="ANN")
    succeed(store, plan_id, "a")

    assert store.view(plan_id).outcome == "incomplete"


def test_a_step_that_was_retried_fails_as_approved(store, clock):
    plan_id = approved(store, step("s1", failure_action="abort"))
    changed = READ.model_copy(update={"timeout": 601.0})
    store.claim(step_row(store, plan_id, "s1").id, taker(changed))
    store.answer(plan_id, "s1", "retry", user="ANN")
    fail(store, plan_id, "s1")

    assert (store.view(plan_id).state, store.view(plan_id).outcome) == (PlanState.done, "failed")
