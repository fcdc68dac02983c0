"""Claims: who still holds a step, and what its end leaves in the rows and in the journal."""

import hashlib
from types import SimpleNamespace
from typing import Any

import pytest

from storage.contract.report import AnyReport
from storage.database.tables import Event
from storage.settling.frames import Frame, read_frames
from storage.steps.claims import Claim, Ending, as_wanted, opened, report_hash, still_held
from tests.support.fakes import (
    DEPLOY,
    LEASE,
    READ,
    approved,
    attempts,
    bad,
    fail,
    later,
    ok,
    permitted,
    step,
    step_row,
    take,
    taker,
    verbs,
)
from tests.support.store import Store


def held(store: Store, **fields: Any) -> tuple[int, Claim]:
    """A plan with an unsafe step that runs."""
    plan_id = approved(store, step("s1", DEPLOY, **fields))
    return plan_id, take(store, plan_id, "s1")


def frames(store: Store, plan_id: int) -> dict[int, Frame]:
    with store.write() as t:
        return read_frames(t, [plan_id])


def looked_at(store: Store, plan_id: int) -> Claim:
    """The step's process is gone, and a probe looks at what it left."""
    store.lose(step_row(store, plan_id, "s1"), actor="w2", probe=True)
    found = store.look(step_row(store, plan_id, "s1").id, owner="w2", lease=LEASE)
    assert found is not None
    return found


def end(store: Store, ending: Ending) -> None:
    store.turn([ending], taker(DEPLOY), 0)


def last(store: Store, plan_id: int, verb: str) -> Event:
    return [event for event in store.events(plan_id) if event.verb == verb][-1]


def test_a_taker_names_what_it_offers_and_what_each_promises():
    both = taker(READ, DEPLOY)

    assert both.offers == ["ops.check", "ops.deploy"]
    assert both.hashes == {("ops", "check"): READ.hash(), ("ops", "deploy"): DEPLOY.hash()}


# who holds it


def test_whoever_runs_a_step_holds_it_until_it_has_ended(store):
    plan_id, taken = held(store)
    assert still_held(frames(store, plan_id), taken) is True
    store.succeed(taken, ok(), actor="w1")

    assert still_held(frames(store, plan_id), taken) is False


def test_whoever_lost_an_unsafe_step_holds_it_no_more_and_its_probe_does(store):
    plan_id, taken = held(store)
    store.lose(step_row(store, plan_id, "s1"), actor="w2", probe=True)
    assert still_held(frames(store, plan_id), taken) is False
    probe = store.look(step_row(store, plan_id, "s1").id, owner="w2", lease=LEASE)

    assert still_held(frames(store, plan_id), taken) is False
    assert still_held(frames(store, plan_id), probe) is True


def test_nobody_holds_a_step_of_a_plan_that_is_not_there_or_has_it_no_more(store):
    plan_id, taken = held(store)
    known = frames(store, plan_id)
    del known[plan_id].steps["s1"]

    assert still_held(known, taken) is False
    assert still_held({}, taken) is False


# how it ends


def test_an_end_closes_the_step_and_its_attempt_and_no_other(store, clock):
    plan_id = approved(store, step("s1"), step("s2", schedule={"not_before": later()}))
    other, taken = take(store, plan_id, "s1", owner="w2"), take(store, plan_id, "s2")
    clock.advance(5)
    report = AnyReport.ok("it is done", {"version": "2"}, artifacts=("log.txt",))
    store.succeed(taken, report, actor="w1")

    kept = {"status": "succeeded", "summary": "it is done", "data": {"version": "2"}, "error": None}
    kept |= {"recommendations": [], "artifacts": ["log.txt"]}
    row, beside = step_row(store, plan_id, "s2"), step_row(store, plan_id, "s1")
    assert (row.state, row.attempt, row.report) == ("succeeded", 1, kept)
    assert (row.owner, row.lease_until, row.due_at, row.probing) == ("", None, None, False)
    assert (row.started_at, row.ended_at, row.not_before) == (later(), clock(), later())
    assert (beside.state, beside.owner, beside.report, beside.ended_at) == ("running", "w2", None, None)
    first, second = attempts(store)
    assert (first.owner, first.outcome, first.report, first.ended_at) == ("w2", "", None, None)
    assert (second.owner, second.outcome, second.report) == ("w1", "succeed", kept)
    assert (second.started_at, second.ended_at) == (later(), clock())
    assert other.attempt == 1


def test_a_step_that_is_tried_again_has_not_ended_and_waits(store, clock):
    plan_id, taken = held(store)
    clock.advance(5)
    store.retry(taken, bad("not yet"), actor="w1", wait=30)

    row = step_row(store, plan_id, "s1")
    assert (row.state, row.ended_at, row.not_before) == ("pending", None, later(seconds=35))
    assert [(one.outcome, one.ended_at) for one in attempts(store)] == [("retry", clock())]
    assert row.due_at == later(seconds=35)
    assert attempts(store)[0].outcome == "retry"


def test_a_step_that_is_tried_again_keeps_the_time_of_its_first_start_and_counts(store, clock):
    plan_id, taken = held(store)
    clock.advance(5)
    store.retry(taken, bad(), actor="w1", wait=0)
    permitted(store, plan_id)
    take(store, plan_id, "s1")

    row = step_row(store, plan_id, "s1")
    assert (row.attempt, row.started_at) == (2, later())
    assert [(found.number, found.started_at) for found in attempts(store)] == [
        (1, later()), (2, later(seconds=5)),
    ]  # fmt: skip


def test_what_a_probe_has_answered_is_probed_no_more(store):
    plan_id, _ = held(store)
    store.retry(looked_at(store, plan_id), bad("it did not run"), actor="w2", wait=0)

    assert step_row(store, plan_id, "s1").probing is False


def test_the_attempt_of_a_process_that_is_gone_is_closed_with_its_time(store, clock):
    plan_id, _ = held(store)
    clock.advance(20)
    store.lose(step_row(store, plan_id, "s1"), actor="w2", probe=False)

    (attempt,) = attempts(store)
    assert (attempt.outcome, attempt.report, attempt.ended_at) == ("lost", None, clock())


def test_the_next_attempts_are_numbered_from_those_before(clock):
    rows: Any = [SimpleNamespace(id=7, attempt=0), SimpleNamespace(id=8, attempt=2)]

    assert opened(rows, "w1", clock()) == [
        {"step": 7, "number": 1, "by": "w1", "now": clock()},
        {"step": 8, "number": 3, "by": "w1", "now": clock()},
    ]


# what is on record


def test_the_journal_names_the_whole_report_and_tells_its_summary(store):
    plan_id = approved(store, step("s1"))
    report = AnyReport.failed("it broke", {"failed": 2}, recommendations=("look there",))
    store.fail(take(store, plan_id, "s1"), report, actor="w1")

    event, body = last(store, plan_id, "fail"), report.model_dump(mode="json")
    assert event.actor == "w1"
    told = {"step": "s1", "attempt": 1, "summary": "it broke", "report": report_hash(body)}
    assert event.data == told


def test_a_report_goes_on_record_as_the_json_that_every_database_gives_back(store):
    _, taken = held(store)
    report = AnyReport.failed("it broke", recommendations=("look there",), artifacts=("log.txt",))

    body = Ending(taken, "fail", report).body
    assert (body["recommendations"], body["artifacts"]) == (["look there"], ["log.txt"])


def test_the_name_of_a_report_does_not_hang_on_the_order_of_its_parts():
    sorted_body = b'{"a": 2, "b": 1}'

    assert report_hash({"b": 1, "a": 2}) == hashlib.sha256(sorted_body).hexdigest()


def test_a_failure_that_asks_is_on_record_as_a_question_whatever_was_approved_for_it(store):
    plan_id, taken = held(store, failure_action="continue")
    end(store, Ending(taken, "fail", bad("which one?"), choice="ask"))

    assert last(store, plan_id, "fail").data["asks"] is True
    assert step_row(store, plan_id, "s1").choice == "ask"
    assert store.view(plan_id).state == "stalled"


def test_a_failure_that_does_not_ask_has_made_no_choice(store):
    plan_id = approved(store, step("s1"))
    fail(store, plan_id, "s1")

    assert step_row(store, plan_id, "s1").choice == ""


# while people are ending the plan


@pytest.mark.parametrize("verb", ["fail", "retry"])
def test_what_does_not_succeed_while_people_end_the_plan_counts_as_cancelled(store, verb):
    plan_id, taken = held(store)
    store.cancel(plan_id, user="ANN", reason="no more")
    ending = Ending(taken, verb, bad(), wait=30.0)
    wanted = as_wanted(frames(store, plan_id), ending)
    assert (wanted.verb, wanted.wait, wanted.report) == ("cancel", 0.0, ending.report)
    end(store, ending)

    assert step_row(store, plan_id, "s1").state == "cancelled"
    assert attempts(store)[0].outcome == "cancel"
    assert verb not in verbs(store, plan_id)


def test_what_succeeds_while_people_end_the_plan_has_succeeded(store):
    plan_id, taken = held(store)
    store.cancel(plan_id, user="ANN", reason="no more")
    ending = Ending(taken, "succeed", ok())

    assert as_wanted(frames(store, plan_id), ending) is ending


def test_what_nobody_cancels_ends_as_it_ended(store):
    plan_id, taken = held(store)
    ending = Ending(taken, "retry", bad(), wait=30.0)

    assert as_wanted(frames(store, plan_id), ending) is ending


def test_what_a_probe_found_is_kept_while_people_end_the_plan(store):
    """It says what has happened already: there is nothing to cancel."""
    plan_id, _ = held(store)
    store.cancel(plan_id, user="ANN", reason="no more")
    ending = Ending(looked_at(store, plan_id), "fail", bad())

    assert as_wanted(frames(store, plan_id), ending) is ending
