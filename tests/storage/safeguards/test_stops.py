"""The kill switch: what is stopped does not start, whatever was approved."""

import pytest
from sqlalchemy import insert

from storage.contract.states import PlanState
from storage.database.tables import Stop
from storage.errors import Conflict
from storage.journal.chain import broken_link
from tests.support.fakes import DEPLOY, READ, approved, bad, claim, due, ok, step, take, undo


@pytest.mark.parametrize(
    "scope", ["everything", "environment production", "plan {}", "an unknown scope", "all changes",
              "changes in production", "all changes in production", "changes"],
)  # fmt: skip
def test_what_is_stopped_does_not_start_until_it_is_resumed(store, scope):
    plan_id = approved(store, step("s1", DEPLOY))
    scope = scope.format(plan_id)
    store.stop(scope, reason="smoke", user="CAROL")

    assert due(store) == []
    assert claim(store, plan_id, "s1") is None
    assert "smoke" in store.view(plan_id).step("s1").stopped
    store.resume(scope, user="CAROL")
    assert claim(store, plan_id, "s1") is not None


@pytest.mark.parametrize("scope", ["environment staging", "plan 999", "changes in staging", "changes in "])
def test_another_scope_holds_nothing(store, scope):
    plan_id = approved(store, step("s1", DEPLOY))
    store.stop(scope, reason="smoke", user="CAROL")

    assert claim(store, plan_id, "s1") is not None


def test_what_runs_goes_on_and_reports(store):
    plan_id = approved(store, step("s1"))
    taken = take(store, plan_id, "s1")
    store.stop("everything", reason="smoke", user="CAROL")
    store.succeed(taken, ok(), actor="w1")

    assert store.view(plan_id).state == PlanState.done


def test_a_stop_is_made_and_lifted_once_and_both_are_in_the_journal(store):
    store.stop("everything", reason="smoke", user="CAROL")
    with pytest.raises(Conflict, match="stopped already"):
        store.stop("everything", reason="again", user="BOB")
    store.resume("everything", user="CAROL")
    with pytest.raises(Conflict, match="Stopped now: nothing"):
        store.resume("everything", user="CAROL")
    events = store.events(0)

    assert [event.verb for event in events] == ["stop", "resume"]
    assert broken_link(events) is None
    assert store.head(0) == (2, events[-1].hash)


def test_the_channel_hears_of_a_stop_and_the_cards_are_redrawn(store):
    approved(store, step("s1", DEPLOY))
    for message in store.unsent():
        store.note_shown(message, "1.0", next_at=store.clock())
    store.stop("everything", reason="smoke", user="CAROL", channel="C1")

    assert [message.kind for message in store.unsent()] == ["card", "stop"]


def test_a_rollback_is_held_too(store):
    plan_id = approved(store, step("s1", DEPLOY, failure_action="rollback"), rollback=(undo("u1", "s1"),))
    store.fail(take(store, plan_id, "s1"), bad(), actor="w1")
    store.stop("everything", reason="smoke", user="CAROL")

    assert claim(store, plan_id, "u1") is None
    assert store.view(plan_id).state == PlanState.approved


@pytest.mark.parametrize(
    "scope", ["everything", "plan 1", "plan 9", "plan x", "environment production", "environment x", "?",
              "all changes", "changes in production", "changes in x", "changes", "all changes now"],
)  # fmt: skip
@pytest.mark.parametrize("made", [READ, DEPLOY], ids=["reads", "changes"])
def test_what_the_card_says_of_a_stop_is_what_holds_the_step(store, scope, made):
    plan_id = approved(store, step("s1", made))
    with store.write() as t:
        t.execute(insert(Stop).values(scope=scope, reason="look", by="EVE", since=store.clock()))

    assert bool(store.view(plan_id).step("s1").stopped) == (due(store) == [])
