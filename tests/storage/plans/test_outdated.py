"""What has changed under a plan is kept once, and said where people decide; the new revision asks again."""

import pytest

from storage.contract.states import PlanState
from storage.errors import Conflict
from tests.support.fakes import (
    DEPLOY,
    RESTORE,
    approve,
    approved,
    fail,
    messages,
    plan_spec,
    propose,
    states,
    step,
    succeed,
    take,
    terms,
    undo,
    verbs,
)
from tests.support.store import Store

WHY, AHEAD = ["what a stands for is another thing"], ["everything is frozen"]
NEW = plan_spec(step("s1", DEPLOY, parameters={"service": "b"}))


def update(store: Store, plan_id: int, **more: str) -> None:
    after = store.view(plan_id).revision
    store.bring_up_to_date(plan_id, NEW, terms(), author="BOB", after=after, changes=WHY, **more)


def test_the_same_is_kept_once_and_the_card_is_drawn_anew(store):
    plan_id = propose(store)
    before = store.card_of(plan_id).wanted
    for _ in range(2):
        store.outdate(plan_id, 1, WHY, AHEAD)

    view = store.view(plan_id)
    assert (view.outdated, view.ahead) == ((*WHY,), (*AHEAD,))
    assert verbs(store, plan_id).count("outdate") == 1
    assert store.card_of(plan_id).wanted > before
    assert messages(store, "outdated") == []


def test_the_thread_hears_of_it_after_an_approval_and_once(store):
    plan_id = approved(store)
    store.outdate(plan_id, 1, WHY, [])
    store.outdate(plan_id, 1, WHY, AHEAD)

    assert len(messages(store, "outdated")) == 1


def test_of_an_earlier_revision_or_an_ended_plan_nothing_is_kept(store):
    plan_id = propose(store)
    store.amend(plan_id, NEW, terms(), author="ANN", after=1, changes=["service"])
    store.outdate(plan_id, 1, WHY, [])
    assert store.view(plan_id).outdated == ()
    store.reject(plan_id, 2, user="BOB", reason="no")
    store.outdate(plan_id, 2, WHY, [])

    assert store.view(plan_id).outdated == ()


def test_a_new_revision_is_not_out_of_date_by_what_was_found_before(store):
    plan_id = propose(store)
    store.outdate(plan_id, 1, WHY, AHEAD)
    store.amend(plan_id, NEW, terms(), author="ANN", after=1, changes=["service"])

    assert (store.view(plan_id).outdated, store.view(plan_id).ahead) == ((), ())


def test_the_plans_that_rest_on_something_are_those_that_are_open_and_made(store):
    proposal, running = propose(store), approved(store)
    store.request("deploy b", team="T1", user="ANN", channel="C1")
    over = propose(store)
    store.reject(over, 1, user="BOB", reason="no")

    assert store.resting() == [proposal, running]


def test_an_approved_plan_is_asked_for_again_and_runs_as_it_is_then(store):
    plan_id = approved(store)
    update(store, plan_id)

    view = store.view(plan_id)
    assert (view.state, view.revision, view.changes) == (PlanState.proposed, 2, (*WHY,))
    approve(store, plan_id)
    succeed(store, plan_id, "s1")
    assert store.view(plan_id).outcome == "succeeded"


def test_what_failed_is_born_anew_and_what_it_had_begun_is_still_undone(store):
    plan_id = approved(store, step("s1", DEPLOY), rollback=(undo("u1", "s1", RESTORE),))
    fail(store, plan_id, "s1")
    spec = plan_spec(*NEW.steps, rollback=(undo("u1", "s1", RESTORE),))
    store.bring_up_to_date(plan_id, spec, terms(), author="BOB", after=1, changes=WHY, key="s1")
    assert [e.data for e in store.events(plan_id) if e.verb == "answer"] == [
        {"step": "s1", "choice": "update"}
    ]
    approve(store, plan_id)

    assert (states(store, plan_id), store.view(plan_id).step("s1").attempt) == ({"s1": "pending"}, 1)
    fail(store, plan_id, "s1")
    store.answer(plan_id, "s1", "rollback", user="BOB")
    assert states(store, plan_id)["u1"] == "pending"


@pytest.mark.parametrize("busy", ["running", "rolled back", "another revision", "ended"])
def test_it_is_refused_while_something_runs_or_is_undone_and_where_it_is_too_late(store, busy):
    plan_id = approved(store, step("s1", DEPLOY), rollback=(undo("u1", "s1", RESTORE),))
    revision = 1
    if busy == "running":
        take(store, plan_id, "s1")
    elif busy == "rolled back":
        fail(store, plan_id, "s1")
        store.answer(plan_id, "s1", "rollback", user="BOB")
    elif busy == "ended":
        succeed(store, plan_id, "s1")
    else:
        revision = 7

    with pytest.raises(Conflict):
        store.bring_up_to_date(plan_id, NEW, terms(), author="BOB", after=revision, changes=WHY)
    assert store.view(plan_id).revision == 1
