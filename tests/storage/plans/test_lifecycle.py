"""A plan from wish to end, and what ends it before: amendments, cancelling, refusals."""

import pytest

from storage.contract.states import PlanState
from storage.errors import Conflict, NotFound
from storage.journal.chain import broken_link
from tests.support.fakes import (
    DEPLOY,
    approved,
    bad,
    chain,
    claim,
    due,
    keeps,
    ok,
    plan_spec,
    propose,
    states,
    step,
    step_row,
    succeed,
    take,
    terms,
    verbs,
)


def test_a_plan_runs_from_wish_to_summary(store):
    plan_id = approved(store, step("test"), step("deploy", DEPLOY, depends_on=("test",)))
    succeed(store, plan_id, "test", failed=0)
    succeed(store, plan_id, "deploy", version="2")
    view = store.view(plan_id)

    assert (view.state, view.outcome) == (PlanState.done, "succeeded")
    assert states(store, plan_id) == {"test": "succeeded", "deploy": "succeeded"}
    assert verbs(store, plan_id) == [
        "request", "propose", "approve", "claim", "succeed", "claim", "succeed", "finish",
    ]  # fmt: skip
    assert broken_link(store.events(plan_id)) is None


def test_a_plan_that_needs_nobody_is_approved_by_policy(store):
    plan_id = propose(store, plan_spec(step("s1")), needed=0)

    assert store.view(plan_id).state == PlanState.approved
    assert store.events(plan_id)[-1].actor == "policy"


def test_there_is_no_plan_without_a_request(store):
    with pytest.raises(NotFound, match="There is no plan 99"):
        store.view(99)
    with pytest.raises(NotFound):
        store.cancel(99, user="ANN", reason="")


def test_of_two_amendments_of_one_revision_only_the_first_counts(store):
    plan_id = propose(store)
    store.amend(plan_id, plan_spec(step("one")), terms(), author="BOB", after=1, changes=["x"])

    with pytest.raises(Conflict, match="Revision 2 was made meanwhile; yours was based on 1"):
        store.amend(plan_id, plan_spec(step("two")), terms(), author="CAROL", after=1, changes=["y"])
    assert store.view(plan_id).spec == plan_spec(step("one"))


def test_an_approved_plan_can_be_cancelled_before_it_runs(store):
    plan_id = approved(store)
    store.cancel(plan_id, user="ANN", reason="changed my mind")

    assert store.view(plan_id).state == PlanState.cancelled
    assert states(store, plan_id) == {"s1": "skipped"}
    assert due(store) == []


def test_cancelling_a_plan_that_runs_tells_its_steps_to_stop_and_starts_nothing_more(store):
    plan_id = approved(store, step("s1"), step("s2"), step("s3", depends_on=("s2",)))
    running = take(store, plan_id, "s1")

    assert store.cancel(plan_id, user="ANN", reason="stop") is False
    assert claim(store, plan_id, "s2") is None
    assert not keeps(store, running)
    assert store.view(plan_id).state == PlanState.approved
    with pytest.raises(Conflict, match="cancelling plan"):
        store.cancel(plan_id, user="BOB", reason="stop")

    store.fail(running, bad("cancelled after 3 s"), actor="w1")

    assert store.view(plan_id).state == PlanState.cancelled
    assert states(store, plan_id) == {"s1": "cancelled", "s2": "skipped", "s3": "skipped"}
    assert [(e.verb, e.actor) for e in store.events(plan_id)][-1] == ("cancel", "ANN")


def test_what_succeeded_while_it_was_cancelled_has_succeeded(store):
    plan_id = approved(store, *chain("s1", "s2"))
    running = take(store, plan_id, "s1")
    store.cancel(plan_id, user="ANN", reason="stop")
    store.succeed(running, ok(), actor="w1")

    assert store.view(plan_id).state == PlanState.cancelled
    assert states(store, plan_id) == {"s1": "succeeded", "s2": "skipped"}


def test_a_plan_is_not_cancelled_while_a_step_is_unknown(store):
    plan_id = approved(store)
    take(store, plan_id, "s1")
    store.lose(step_row(store, plan_id, "s1"), actor="w2", probe=False)

    with pytest.raises(Conflict, match="Nobody knows whether step s1 ran"):
        store.cancel(plan_id, user="ANN", reason="stop")


def test_a_refusal_is_on_record_with_the_answer_to_it_or_not_at_all(store):
    plan_id = propose(store)
    store.deliver("click:2", "click", {"value": "x"})
    with store.handling("click:2"):
        store.refuse(plan_id, "approve", user="GUS", reason="a guest")
    assert "refuse" not in verbs(store, plan_id)

    with store.handling("click:2"):
        store.refuse(plan_id, "approve", user="GUS", reason="a guest")
        store.refuse(0, "stop", user="GUS", reason="a guest")
        store.whisper("answer:click:2", channel="C", user="GUS", text="No.")

    assert store.events(plan_id)[-1].data == {"verb": "approve", "reason": "a guest", "via": "click"}
    assert [event.actor for event in store.events(0)] == ["GUS"]
    assert broken_link(store.events(plan_id)) is None
    assert store.unhandled() == []
