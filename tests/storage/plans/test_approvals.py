"""A yes counts once, for exactly what was shown, and at quorum the steps are born."""

from functools import partial

import pytest

from storage.contract.states import PlanState, StepState
from storage.errors import Conflict
from storage.journal.chain import broken_link
from tests.support.fakes import (
    DEPLOY,
    approve,
    plan_spec,
    propose,
    step,
    step_row,
    strangers,
    terms,
    together,
    verbs,
)


def test_of_two_people_who_approve_at_once_one_is_first_and_the_other_hears_who(store):
    for _ in range(20):
        plan_id = propose(store)
        one, two = strangers(store, 2)
        results = together([partial(approve, one, plan_id, "BOB"), partial(approve, two, plan_id, "CAROL")])
        refused = next(found for found in results if found is not True)
        winner = store.view(plan_id).approved_by

        assert True in results
        assert isinstance(refused, Conflict)
        assert len(winner) == 1
        assert f"<@{winner[0]}> was first" in str(refused)
        assert verbs(store, plan_id).count("approve") == 1


def test_two_approvals_need_two_people(store):
    plan_id = propose(store, needed=2)

    assert approve(store, plan_id, "BOB") is False
    with pytest.raises(Conflict, match="approved this revision already"):
        approve(store, plan_id, "BOB")
    assert store.view(plan_id).state == PlanState.proposed
    assert approve(store, plan_id, "CAROL") is True
    assert store.view(plan_id).approved_by == ("BOB", "CAROL")


def test_steps_exist_only_after_the_last_approval(store):
    plan_id = propose(store, needed=2)
    approve(store, plan_id, "BOB")
    with store.read() as t:
        early = t.steps(t.plan(plan_id))
    approve(store, plan_id, "CAROL")

    assert early == []
    assert step_row(store, plan_id, "s1").state == StepState.pending


def test_an_old_button_decides_nothing(store):
    plan_id = propose(store)
    old = store.view(plan_id)
    store.amend(plan_id, plan_spec(step("other")), terms(), author="BOB", after=1, changes=["x"])

    with pytest.raises(Conflict, match="belongs to revision 1; meanwhile there is revision 2"):
        store.approve(plan_id, 1, old.digest, team="T1", user="CAROL", policy="p")
    with pytest.raises(Conflict, match="belongs to revision 1"):
        store.reject(plan_id, 1, user="CAROL", reason="no")
    assert store.view(plan_id).state == PlanState.proposed


def test_a_digest_that_is_not_the_plans_decides_nothing(store):
    plan_id = propose(store)

    with pytest.raises(Conflict, match="not the one on that card"):
        store.approve(plan_id, 1, "0" * 64, team="T1", user="BOB", policy="p")
    assert store.view(plan_id).approved_by == ()


def test_an_amendment_voids_what_was_approved_before(store):
    plan_id = propose(store, needed=2)
    approve(store, plan_id, "BOB")
    store.amend(plan_id, plan_spec(step("other")), terms(2), author="CAROL", after=1, changes=["x"])

    assert store.view(plan_id).approved_by == ()
    assert approve(store, plan_id, "BOB") is False


def test_an_amendment_that_is_taken_back_does_not_bring_old_approvals_back(store):
    plan_id = propose(store, needed=2)
    approve(store, plan_id, "BOB")
    store.amend(plan_id, plan_spec(step("other")), terms(2), author="X", after=1, changes=["x"])
    store.amend(plan_id, plan_spec(), terms(2), author="X", after=2, changes=["y"])

    assert approve(store, plan_id, "CAROL") is False


def test_a_proposal_cannot_be_approved_after_its_time(store, clock):
    plan_id = propose(store)
    clock.advance(hours=25)

    with pytest.raises(Conflict, match="expired"):
        approve(store, plan_id)


def test_what_a_worker_no_longer_promises_cannot_be_approved(store):
    plan_id = propose(store)
    store.publish([DEPLOY.model_copy(update={"timeout": 1.0})])

    with pytest.raises(Conflict, match="has changed since this was proposed"):
        approve(store, plan_id)
    assert store.view(plan_id).state == PlanState.proposed
    assert store.view(plan_id).approved_by == ()


def test_eight_threads_lose_nothing(store):
    people = [f"U{n}" for n in range(8)]
    for _ in range(5):
        plan_id = propose(store, needed=8)
        calls = [
            partial(approve, mine, plan_id, user)
            for mine, user in zip(strangers(store, 8), people, strict=True)
        ]
        results = together(calls)
        events = store.events(plan_id)

        assert sorted(map(str, results)) == ["False"] * 7 + ["True"]
        assert sorted(store.view(plan_id).approved_by) == people
        assert sorted(e.data["given"] for e in events if e.verb == "approve") == list(range(1, 9))
        assert broken_link(events) is None
