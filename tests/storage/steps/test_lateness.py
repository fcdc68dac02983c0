"""What time does to steps: overrun windows, and clocks that jump either way."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import update
from sqlmodel import col

from bot.cards.thread import message
from storage.contract.states import PlanState, StepState
from storage.database.tables import Plan
from storage.errors import Conflict
from storage.transaction import Transaction
from tests.support.fakes import (
    BACKUP,
    DEPLOY,
    NOW,
    READ,
    approve,
    approved,
    due,
    keeps,
    later,
    messages,
    ok,
    plan_spec,
    propose,
    states,
    step,
    step_row,
    take,
    verbs,
)
from tests.support.store import Store

HOUR = timedelta(hours=1)


def running(store: Store, overrun: str = "finish", made: Any = DEPLOY) -> tuple[int, Any]:
    """A plan whose one step runs, in a window that closes an hour from now."""
    schedule = {"not_before": NOW, "not_after": NOW + HOUR, "overrun": overrun}
    plan_id = approved(store, step("s1", made, schedule=schedule))
    return plan_id, take(store, plan_id, "s1")


@pytest.mark.parametrize(
    ("overrun", "said"), [("finish", "left to finish"), ("ask", "shall it go on"), ("stop", "told to stop")]
)
def test_work_that_outlasts_its_window_is_said_once_and_treated_as_approved(store, clock, overrun, said):
    plan_id, claim = running(store, overrun)
    store.overrun()
    assert "overrun" not in verbs(store, plan_id)

    clock.advance(hours=1, seconds=1)
    store.overrun()
    store.overrun()

    assert verbs(store, plan_id).count("overrun") == 1
    event = next(e for e in store.events(plan_id) if e.verb == "overrun")
    assert said in message("overrun", store.view(plan_id), event, clock.now)[0]
    assert len(messages(store, "overrun")) == 1
    assert keeps(store, claim) == (overrun != "stop")
    store.succeed(claim, ok(), actor="w1")
    assert store.view(plan_id).state == (PlanState.cancelled if overrun == "stop" else PlanState.done)


def test_how_an_overrun_is_met_is_part_of_what_is_approved():
    usual, strict = (step("s1", schedule={"overrun": how}) for how in ("finish", "stop"))

    assert usual.digest() == step("s1").digest()
    assert strict.digest() != usual.digest()


def test_a_rollback_has_no_window_to_overrun(store, clock):
    plan_id, _ = running(store)
    with store.write() as t:
        t.connection.exec_driver_sql("UPDATE step SET undo = true")
    clock.advance(hours=2)
    store.overrun()

    assert "overrun" not in verbs(store, plan_id)


def test_a_clock_that_jumps_past_a_window_makes_a_question_not_a_late_run(store, clock):
    schedule = {"not_before": NOW + HOUR, "not_after": NOW + 3 * HOUR}
    plan_id = approved(store, step("s1", DEPLOY, schedule=schedule))
    clock.advance(hours=30)
    store.miss()

    assert store.view(plan_id).state == PlanState.stalled
    assert "its approved time has passed" in store.view(plan_id).steps[0].report.summary
    assert "retry" not in store.view(plan_id).steps[0].choices


@pytest.mark.parametrize(("seconds", "late"), [(0, False), (1, True)])
def test_work_is_late_only_after_its_window_has_closed(store, clock, seconds, late):
    plan_id, _ = running(store)
    clock.advance(hours=1, seconds=seconds)
    store.overrun()

    assert ("overrun" in verbs(store, plan_id)) is late


@pytest.mark.parametrize("overrun", ["finish", "stop"])
def test_the_journal_tells_which_step_outlasted_its_window_and_that_nobody_but_the_clock_said_so(
    store, clock, overrun
):
    plan_id, _ = running(store, overrun)
    clock.advance(hours=2)
    store.overrun()

    late = [event for event in store.events(plan_id) if event.verb in {"overrun", "halt"}]
    assert late[0].data == {"step": "s1", "then": overrun}
    assert {event.actor for event in late} == {"clock"}
    assert [event.verb for event in late] == ["overrun", *(["halt"] if overrun == "stop" else [])]


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (3001, "it could no longer end before its approved time does"),
        (3600, "it could no longer end before its approved time does"),
        (3601, "its approved time has passed"),
    ],
)
def test_a_step_that_misses_its_time_says_which_way(store, clock, seconds, said):
    """Its timeout is 600 seconds, and its window an hour."""
    schedule = {"not_before": NOW, "not_after": NOW + HOUR}
    plan_id = approved(store, step("s1", schedule=schedule))
    clock.advance(seconds)
    store.miss()

    assert said in store.view(plan_id).step("s1").report.summary


def test_a_step_of_a_plan_that_was_ended_meanwhile_is_not_failed(store, clock, monkeypatch):
    """Whoever looks for late steps finds it, and somebody cancels the plan before it can be touched."""
    plan_id = approved(store, step("s1", schedule={"not_before": NOW, "not_after": NOW + HOUR}))
    clock.advance(hours=2)
    touch = Transaction.touch

    def slow(t, number):
        monkeypatch.setattr(Transaction, "touch", touch)
        t.execute(update(Plan).where(col(Plan.id) == plan_id).values(state=PlanState.stalled))
        return touch(t, number)

    monkeypatch.setattr(Transaction, "touch", slow)
    store.miss()

    assert states(store, plan_id) == {"s1": "pending"}
    assert "fail" not in verbs(store, plan_id)


def test_a_clock_that_jumps_back_makes_a_due_step_wait_again(store, clock):
    schedule = {"not_before": NOW + HOUR, "not_after": NOW + 3 * HOUR}
    plan_id = propose(store, plan_spec(step("s1", BACKUP, schedule=schedule)))
    approve(store, plan_id)
    clock.advance(hours=1)
    assert store.scheduled() == []
    clock.advance(minutes=-30)

    assert [one.at for one in store.scheduled()] == [NOW + HOUR]
    assert states(store, plan_id) == {"s1": "pending"}


@pytest.mark.parametrize("hours", [-5, 5])
def test_a_jump_of_the_clock_never_runs_an_unsafe_step_twice(store, clock, hours):
    plan_id, claim = running(store)
    clock.advance(hours=hours)
    for lost in store.lapsed(owner="w2", alone=False):
        store.lose(lost, actor="w2", probe=False)
    row = step_row(store, plan_id, "s1")

    assert row.state == ("unknown" if hours > 0 else "running")
    assert row.attempt == claim.attempt == 1
    store.succeed(claim, ok(), actor="w1")
    assert states(store, plan_id) == {"s1": "unknown" if hours > 0 else "succeeded"}


def test_a_missed_window_asks_and_never_runs_late(store, clock):
    when = {"not_before": NOW, "not_after": later(hours=1)}
    plan_id = approved(store, step("s1", schedule=when, failure_action="abort"))
    clock.advance(hours=1, seconds=1)
    store.miss()
    view = store.view(plan_id)

    assert (view.state, view.step("s1").state) == (PlanState.stalled, StepState.failed)
    assert "its approved time has passed" in view.step("s1").report.summary
    assert "retry" not in view.step("s1").choices
    with pytest.raises(Conflict, match="another time is another plan"):
        store.answer(plan_id, "s1", "retry", user="ANN")
    assert due(store) == []


@pytest.mark.parametrize(("seconds", "state"), [(0, PlanState.approved), (1, PlanState.stalled)])
def test_a_step_is_missed_when_it_can_no_longer_end_in_time(store, clock, seconds, state):
    plan_id = approved(store, step("s1", schedule={"not_before": NOW, "not_after": later(hours=1)}))
    clock.advance(3600 - READ.timeout + seconds)
    store.miss()

    assert store.view(plan_id).state == state


def test_a_step_that_runs_past_the_end_is_not_missed(store, clock):
    plan_id = approved(store, step("s1", schedule={"not_before": NOW, "not_after": later(hours=1)}))
    take(store, plan_id, "s1")
    clock.advance(hours=2)
    store.miss()

    assert states(store, plan_id) == {"s1": "running"}


def test_a_missed_step_of_a_plan_that_was_cancelled_meanwhile_stops_nobody(lite, clock, monkeypatch):
    plan_id = approved(
        lite, step("s1", DEPLOY, schedule={"not_before": later(hours=1), "not_after": later(hours=2)})
    )
    clock.advance(hours=3)
    touch = Transaction.touch

    def beaten(t, number):
        t.connection.exec_driver_sql("UPDATE plan SET state = 'cancelled'")
        t.connection.exec_driver_sql("UPDATE step SET state = 'skipped'")
        return touch(t, number)

    monkeypatch.setattr(Transaction, "touch", beaten)
    lite.miss()

    assert lite.view(plan_id).state == PlanState.cancelled
