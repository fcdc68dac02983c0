"""A change starts with a fresh permit, and without one it waits."""

from threading import Thread

import pytest
from sqlalchemy import text

from tests.support.fakes import (
    DEPLOY,
    READ,
    approved,
    claim,
    due,
    fail,
    later,
    messages,
    step,
    step_row,
    undo,
)


def test_a_changing_step_needs_a_fresh_permit_after_a_minute(store, clock):
    plan_id = approved(store)
    clock.advance(61)
    row = step_row(store, plan_id, "s1")

    assert due(store) == []
    assert claim(store, plan_id, "s1") is None
    assert [found.id for found in store.unpermitted()] == [row.id]
    store.permit(row.id, actor="bot")
    assert store.unpermitted() == []
    assert claim(store, plan_id, "s1") is not None


def test_a_permit_lasts_a_minute(store, clock):
    plan_id = approved(store)
    clock.advance(61)
    store.permit(step_row(store, plan_id, "s1").id, actor="bot")
    clock.advance(60)

    assert claim(store, plan_id, "s1") is None


def test_a_read_needs_no_permit(store, clock):
    plan_id = approved(store, step("s1", READ))
    clock.advance(hours=20)

    assert store.unpermitted() == []
    assert claim(store, plan_id, "s1") is not None


def test_an_undo_needs_no_permit(store, clock):
    plan_id = approved(store, step("s1", DEPLOY, failure_action="rollback"), rollback=(undo("u1", "s1"),))
    fail(store, plan_id, "s1")
    clock.advance(hours=20)

    assert store.unpermitted() == []
    assert claim(store, plan_id, "u1") is not None


def test_no_permit_is_asked_for_before_a_step_could_start(store, clock):
    approved(store, step("s1"), step("s2", DEPLOY, depends_on=("s1",)))
    approved(store, step("s1", DEPLOY, schedule={"not_before": later(hours=8)}))
    clock.advance(61)

    assert store.unpermitted() == []


@pytest.mark.postgres
@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
def test_a_permit_locks_the_plan_first_as_every_verb_does(store, engine):
    plan_id = approved(store)
    row = step_row(store, plan_id, "s1")
    with engine.connect() as worker, engine.connect() as watcher:
        worker.execute(text("UPDATE plan SET version = version + 1"))  # as a claim begins
        bot = Thread(target=store.permit, args=(row.id,), kwargs={"actor": "bot"})
        bot.start()
        waits = text("SELECT 1 FROM pg_locks WHERE NOT granted")
        while bot.is_alive() and not watcher.execute(waits).first():
            watcher.rollback()
        try:
            worker.execute(text("SELECT 1 FROM step FOR UPDATE NOWAIT"))
        finally:
            worker.rollback()
            bot.join()


def test_a_permit_withheld_for_the_same_reason_is_said_once_and_wakes_nobody(store, clock):
    plan_id = approved(store)
    row = step_row(store, plan_id, "s1")
    store.withhold(row.id, "he left", actor="bot")
    version = store.view(plan_id).version
    store.withhold(row.id, "he left", actor="bot")

    assert store.view(plan_id).version == version
    assert len(messages(store, "waits")) == 1


def test_what_was_looked_at_goes_on_record_with_the_permit(store, clock):
    plan_id = approved(store)
    store.permit(step_row(store, plan_id, "s1").id, actor="bot", checked={"policy": "p1"})
    event = store.events(plan_id)[-1]

    assert (event.verb, event.actor, event.data) == ("permit", "bot", {"step": "s1", "policy": "p1"})


def test_why_there_is_none_goes_on_record(store):
    plan_id = approved(store)
    store.withhold(step_row(store, plan_id, "s1").id, "a freeze", actor="bot")
    event = store.events(plan_id)[-1]

    assert (event.verb, event.actor, event.data) == ("withhold", "bot", {"step": "s1", "reason": "a freeze"})


def test_a_permit_that_ends_now_is_none(store, clock):
    plan_id = approved(store)
    clock.advance(60)

    assert [found.plan_id for found in store.unpermitted()] == [plan_id]
    assert claim(store, plan_id, "s1") is None
