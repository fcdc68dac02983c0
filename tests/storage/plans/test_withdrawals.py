"""A change of a plan on its way that nobody wants: what was done is not forgotten, and can be undone."""

import json
from typing import Any

import pytest

from bot.cards.thread import message
from bot.plans.permits import permit
from storage.contract.states import PlanState
from storage.errors import Conflict
from tests.support.fakes import (
    BACKUP,
    CONTRACTS,
    DEPLOY,
    NOW,
    READ,
    approve,
    approved,
    claim,
    later,
    messages,
    propose,
    states,
    step,
    succeed,
    undo,
    verbs,
)
from tests.support.room import think
from tests.support.samples.review import advice, bot, broke
from tests.support.store import Store

UNDO = undo("undo", "deploy")
MEND = step("mend", DEPLOY, parameters={"service": "b"})


def on_its_way(store: Store, **fields: Any) -> int:
    """Deployed, then a look failed, and the planner proposes another way; a last step has not begun."""
    look = step("look", READ, depends_on=("deploy",))
    last = step("last", BACKUP, depends_on=("look",))
    plan_id = approved(store, step("deploy", DEPLOY), look, last, **{"rollback": (UNDO,)} | fields)
    succeed(store, plan_id, "deploy")
    broke(store, plan_id, "look", "permanent")
    think(bot(store, advice("alternative", MEND, drop="last")))
    assert (store.view(plan_id).state, store.view(plan_id).revision) == (PlanState.proposed, 2)
    return plan_id


def rejected(store: Store, plan_id: int) -> None:
    store.reject(plan_id, store.view(plan_id).revision, user="BOB", reason="not that way")


def asked(store: Store, plan_id: int, kind: str = "outcome") -> str:
    """The newest message of that kind in the thread, as it stands now: a failed step's has the question."""
    row = messages(store, kind)[-1]
    return json.dumps(message(kind, store.view(plan_id), store.event(plan_id, row.seq), NOW))


def test_a_rejected_change_leaves_what_was_approved_and_offers_to_roll_back(lite):
    plan_id = on_its_way(lite)
    rejected(lite, plan_id)

    view = lite.view(plan_id)
    assert (view.state, view.reason, view.approved_by) == (PlanState.stalled, "not that way", ("BOB",))
    assert states(lite, plan_id) == {"deploy": "succeeded", "look": "failed", "last": "pending"}
    assert claim(lite, plan_id, "last") is None
    assert "answer_rollback" in asked(lite, plan_id)
    assert lite.to_review() == [], "the planner does not ask for the same again"
    assert verbs(lite, plan_id)[-4:] == ["withdraw", "revise", "stall", "decide"]

    lite.answer(plan_id, "look", "rollback", user="ANN")
    succeed(lite, plan_id, "undo")
    assert lite.view(plan_id).outcome == "rolled_back"


def test_after_a_rejected_change_the_plan_can_go_on_as_it_was_approved(lite):
    plan_id = on_its_way(lite)
    rejected(lite, plan_id)
    lite.answer(plan_id, "look", "retry", user="ANN")
    succeed(lite, plan_id, "look")
    permit(bot(lite))
    succeed(lite, plan_id, "last")

    assert lite.view(plan_id).outcome == "succeeded"


def test_a_change_that_nobody_decided_in_time_asks_the_same(lite, clock):
    plan_id = on_its_way(lite)
    clock.advance(hours=25)
    lite.expire()

    assert (lite.view(plan_id).state, lite.view(plan_id).reason) == ("stalled", "nobody decided in time")
    assert "answer_rollback" in asked(lite, plan_id)


def test_where_nothing_failed_the_whole_plan_is_rolled_back_or_ended(lite):
    plan_id = approved(lite, step("deploy", DEPLOY), rollback=(UNDO,), continues=True)
    succeed(lite, plan_id, "deploy")
    think(bot(lite, advice("amend", MEND, key="")))
    rejected(lite, plan_id)

    assert lite.view(plan_id).state == PlanState.stalled
    assert {"answer_rollback", "answer_abort"} <= {*asked(lite, plan_id, "review").split('"')}
    lite.answer(plan_id, "", "rollback", user="ANN")
    with pytest.raises(Conflict):
        lite.answer(plan_id, "", "rollback", user="ANN")
    succeed(lite, plan_id, "undo")
    assert lite.view(plan_id).outcome == "rolled_back"


def test_where_nothing_can_be_undone_a_rejection_is_the_end(lite):
    plan_id = on_its_way(lite, rollback=())
    rejected(lite, plan_id)

    assert lite.view(plan_id).state == PlanState.rejected


def test_a_worker_that_promises_something_else_by_now_keeps_nobody_from_rolling_back(lite):
    plan_id = on_its_way(lite)
    lite.publish([c.model_copy(update={"timeout": 7.0}) if c is BACKUP else c for c in CONTRACTS.values()])
    rejected(lite, plan_id)

    assert states(lite, plan_id) == {"deploy": "succeeded", "look": "failed", "last": "skipped"}
    lite.answer(plan_id, "look", "rollback", user="ANN")
    succeed(lite, plan_id, "undo")
    assert lite.view(plan_id).outcome == "rolled_back"


def test_what_was_said_to_the_rejected_change_counts_for_nothing_else(lite):
    plan_id = on_its_way(lite)
    view = lite.view(plan_id)
    rejected(lite, plan_id)

    with pytest.raises(Conflict):
        approve(lite, plan_id)
    with pytest.raises(Conflict):
        lite.approve(plan_id, 2, view.digest, team="T1", user="CAROL", policy="p1")
    assert claim(lite, plan_id, "last") is None


def test_a_rejection_keeps_its_reason(store):
    plan_id = propose(store)
    store.reject(plan_id, 1, user="BOB", reason="not on a Friday")
    view = store.view(plan_id)

    assert (view.state, view.reason) == (PlanState.rejected, "not on a Friday")
    with pytest.raises(Conflict, match="already rejected"):
        approve(store, plan_id)


def test_a_proposal_that_nobody_decides_expires(store, clock):
    plan_id, other = propose(store), propose(store, expires_at=later(hours=48))
    clock.advance(hours=24)

    assert store.expire() == [plan_id]
    assert store.expire() == []
    assert store.view(plan_id).state == PlanState.expired
    assert store.view(other).state == PlanState.proposed
