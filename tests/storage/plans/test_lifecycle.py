"""What the store promises, on SQLite and on PostgreSQL alike."""

import sqlite3
from contextlib import closing
from datetime import timedelta
from functools import partial
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import text

from storage.__main__ import verify
from storage.contract.states import PlanState, StepState
from storage.errors import Conflict, NotFound
from storage.exchange.outbox import EACH
from storage.journal.chain import broken_link
from storage.transaction import Transaction
from tests.support.fakes import (
    BACKUP,
    CONTRACTS,
    DEPLOY,
    LEASE,
    NOW,
    READ,
    RESTORE,
    FakeClock,
    approve,
    approved,
    ask,
    attempts,
    bad,
    chain,
    claim,
    due,
    fail,
    keeps,
    messages,
    ok,
    plan_spec,
    propose,
    states,
    step,
    step_row,
    strangers,
    succeed,
    take,
    taker,
    tamper,
    targets,
    terms,
    together,
    undo,
    verbs,
)
from tests.support.store import Store

NOBODY_TOLD_US = "the stored plan is not the one that was approved"


def later(**parts: float) -> Any:
    return NOW + timedelta(**parts)


# the whole way


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


def test_instants_come_back_as_they_went_in(store, clock):
    clock.advance(0.123456)
    plan_id = approved(store, step("s1", schedule={"not_before": later(hours=8)}))
    row = step_row(store, plan_id, "s1")

    assert store.view(plan_id).created_at == clock.now
    assert row.not_before == later(hours=8)
    assert row.not_before.utcoffset() == timedelta(0)


def test_there_is_no_plan_without_a_request(store):
    with pytest.raises(NotFound, match="There is no plan 99"):
        store.view(99)
    with pytest.raises(NotFound):
        store.cancel(99, user="ANN", reason="")


# deciding


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


def test_of_two_amendments_of_one_revision_only_the_first_counts(store):
    plan_id = propose(store)
    store.amend(plan_id, plan_spec(step("one")), terms(), author="BOB", after=1, changes=["x"])

    with pytest.raises(Conflict, match="Revision 2 was made meanwhile; yours was based on 1"):
        store.amend(plan_id, plan_spec(step("two")), terms(), author="CAROL", after=1, changes=["y"])
    assert store.view(plan_id).spec == plan_spec(step("one"))


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


# claiming


def test_no_step_is_taken_twice(store):
    plan_id = approved(store, *(step(f"s{n}") for n in range(5)))
    ids = [step_row(store, plan_id, f"s{n}").id for n in range(5)]

    def all_of_them(mine: Store) -> list[str]:
        taken = (mine.claim(i or 0, taker(READ, owner="w")) for i in ids)
        return [found.key for found in taken if found]

    found = together([partial(all_of_them, mine) for mine in strangers(store, 8)])
    keys = [key for keys in found for key in keys]

    assert sorted(keys) == [f"s{n}" for n in range(5)]
    assert len(attempts(store)) == 5


def test_only_what_is_offered_is_due(store):
    approved(store)

    assert store.due(taker(CONTRACTS["check"]), 10) == []
    assert len(due(store)) == 1


def test_no_more_is_due_than_there_are_hands(store):
    approved(store, *(step(f"s{n}") for n in range(5)))

    assert len(due(store, limit=2)) == 2
    assert due(store, limit=0) == []


def test_a_claim_starts_an_attempt_before_the_effect(store, clock):
    plan_id = approved(store)
    taken = take(store, plan_id, "s1")
    row = step_row(store, plan_id, "s1")

    assert (row.state, row.attempt, row.owner) == (StepState.running, 1, "w1")
    assert row.lease_until == clock.now + LEASE
    assert [(found.number, found.outcome) for found in attempts(store)] == [(1, "")]
    assert taken.token == f"plan-{plan_id}-s1-{row.digest[:12]}"


def test_a_claim_carries_what_other_steps_reported(store):
    after = step("s2", depends_on=("s1",), parameters={"service": "a", "x": {"from": "s1.version"}})
    plan_id = approved(store, step("s1"), after)
    succeed(store, plan_id, "s1", version="2.1.4")

    assert take(store, plan_id, "s2").parameters == {"service": "a", "x": "2.1.4"}


def test_the_key_of_a_step_is_the_same_for_every_attempt(store):
    plan_id = approved(store, step("s1"))
    first = take(store, plan_id, "s1")
    store.retry(first, bad(), actor="w1", wait=0)

    assert take(store, plan_id, "s1").token == first.token


def test_a_late_report_is_kept_as_evidence_and_changes_nothing(store, clock):
    plan_id = approved(store, step("s1"))
    first = take(store, plan_id, "s1")
    clock.advance(60)
    store.lose(step_row(store, plan_id, "s1"), actor="w2", probe=False)
    second = take(store, plan_id, "s1", owner="w2")

    assert store.fail(first, bad("too late"), actor="w1") is False
    assert states(store, plan_id) == {"s1": "running"}
    assert attempts(store)[0].late["summary"] == "too late"
    assert attempts(store)[1].late is None
    assert store.succeed(second, ok(), actor="w2") is True
    assert "late" in verbs(store, plan_id)


def test_whoever_lost_a_step_cannot_keep_its_lease(store, clock):
    plan_id = approved(store, step("s1"))
    first = take(store, plan_id, "s1")
    assert keeps(store, first)
    clock.advance(60)
    store.lose(step_row(store, plan_id, "s1"), actor="w2", probe=False)
    take(store, plan_id, "s1", owner="w2")

    assert not keeps(store, first)


def test_a_retry_waits_as_long_as_it_was_told(store, clock):
    plan_id = approved(store, step("s1"))
    store.retry(take(store, plan_id, "s1"), bad(), actor="w1", wait=30)

    assert due(store) == []
    assert claim(store, plan_id, "s1") is None
    assert store.next_due() == clock.now + timedelta(seconds=30)
    clock.advance(30)
    assert len(due(store)) == 1
    assert take(store, plan_id, "s1").attempt == 2


# targets


def two_plans(store: Store) -> tuple[int, int]:
    return approved(store), approved(store)


def test_a_second_plan_waits_for_what_it_touches(store):
    one, two = two_plans(store)
    taken = take(store, one, "s1")

    assert claim(store, two, "s1") is None
    assert due(store) == []
    assert store.view(two).step("s1").held_by == one
    assert store.view(two).step("s1").held_at == ("C1", "")
    store.succeed(taken, ok(), actor="w1")
    assert targets(store) == []
    assert claim(store, two, "s1") is not None


@pytest.mark.parametrize("verb", ["fail", "retry"])
def test_a_target_is_free_again_however_the_attempt_ends(store, verb):
    one, two = two_plans(store)
    taken = take(store, one, "s1")
    store.fail(taken, bad(), actor="w1") if verb == "fail" else store.retry(taken, bad(), actor="w1", wait=9)

    assert claim(store, two, "s1") is not None


def test_an_unknown_step_keeps_its_target(store):
    one, two = two_plans(store)
    take(store, one, "s1")
    store.lose(step_row(store, one, "s1"), actor="w2", probe=False)

    assert claim(store, two, "s1") is None
    store.resolve(one, "s1", "ran", user="BOB")
    assert claim(store, two, "s1") is not None


def test_other_targets_do_not_wait(store):
    one = approved(store)
    two = approved(store, step("s1", DEPLOY, parameters={"service": "b"}))
    take(store, one, "s1")

    assert claim(store, two, "s1") is not None


def test_of_many_plans_that_want_one_target_one_gets_it(store):
    plans = [approved(store) for _ in range(4)]
    calls = [partial(claim, mine, plan, "s1") for mine, plan in zip(strangers(store, 4), plans, strict=True)]

    assert sum(found is not None for found in together(calls)) == 1


# time


def test_a_step_does_not_start_before_its_time(store, clock):
    plan_id = approved(store, step("s1", schedule={"not_before": later(hours=8)}))

    assert due(store) == []
    assert claim(store, plan_id, "s1") is None
    assert store.next_due() == later(hours=8)
    clock.advance(hours=8)
    assert len(due(store)) == 1
    assert claim(store, plan_id, "s1") is not None


@pytest.mark.parametrize(("left", "fits"), [(600, True), (599, False)])
def test_a_step_starts_only_if_its_timeout_fits_before_the_end(store, clock, left, fits):
    plan_id = approved(store, step("s1", schedule={"not_before": NOW, "not_after": later(hours=1)}))
    clock.advance(3600 - left)

    assert bool(due(store)) is fits
    assert bool(claim(store, plan_id, "s1")) is fits


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


def test_a_step_whose_due_time_was_moved_waits_for_its_approved_time(store):
    plan_id = approved(store, step("s1", schedule={"not_before": later(hours=1)}))
    tamper(store, "UPDATE step SET due_at = '2000-01-01 00:00:00'")

    assert claim(store, plan_id, "s1") is None
    assert states(store, plan_id) == {"s1": "pending"}


def test_a_step_that_runs_past_the_end_is_not_missed(store, clock):
    plan_id = approved(store, step("s1", schedule={"not_before": NOW, "not_after": later(hours=1)}))
    take(store, plan_id, "s1")
    clock.advance(hours=2)
    store.miss()

    assert states(store, plan_id) == {"s1": "running"}


# permits


def test_a_changing_step_needs_a_fresh_permit_after_a_minute(store, clock):
    plan_id = approved(store)
    clock.advance(61)
    row = step_row(store, plan_id, "s1")

    assert due(store) == []
    assert claim(store, plan_id, "s1") is None
    assert [found.id for found in store.unpermitted()] == [row.id]
    store.permit(row.id or 0, actor="bot")
    assert store.unpermitted() == []
    assert claim(store, plan_id, "s1") is not None


def test_a_permit_lasts_a_minute(store, clock):
    plan_id = approved(store)
    clock.advance(61)
    store.permit(step_row(store, plan_id, "s1").id or 0, actor="bot")
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


# what was approved is what runs


OTHER = plan_spec(step("s1", DEPLOY, parameters={"service": "b"}))


@pytest.mark.hostile
@pytest.mark.parametrize(
    ("statement", "values"),
    [
        ("UPDATE revision SET spec = :spec", {"spec": OTHER.model_dump_json()}),
        ("UPDATE revision SET digest = :digest", {"digest": OTHER.digest()}),
        (
            "UPDATE revision SET spec = :spec, digest = :digest",
            {"spec": OTHER.model_dump_json(), "digest": OTHER.digest()},
        ),
        ("UPDATE step SET digest = :digest", {"digest": OTHER.steps[0].digest()}),
        ("UPDATE approval SET digest = :digest", {"digest": OTHER.digest()}),
        ("DELETE FROM approval", {}),
        ("UPDATE step SET action = 'restore'", {}),
    ],
    ids=["spec", "digest", "spec and digest", "step digest", "approval digest", "no approval", "action"],
)
def test_what_was_changed_behind_the_stores_back_does_not_run(store, statement, values):
    plan_id = approved(store, step("s1", DEPLOY, failure_action="continue"))
    tamper(store, statement, **values)

    assert claim(store, plan_id, "s1") is None
    row = step_row(store, plan_id, "s1")
    with store.read() as t:
        plan = t.plan(plan_id)
    assert (plan.state, row.state, row.attempt) == (PlanState.stalled, StepState.failed, 0)
    assert "not started" in row.report["summary"]
    assert attempts(store) == []


@pytest.mark.hostile
@pytest.mark.parametrize(
    ("opens", "statement"),
    [
        (1, "UPDATE step SET not_before = NULL, due_at = '2000-01-01 00:00:00'"),
        (-1, "UPDATE step SET start_by = NULL"),
        (-1, "UPDATE step SET not_after = NULL"),
        (-1, "UPDATE step SET undo = true"),
        (-1, "UPDATE step SET changes = false"),
        (-1, "UPDATE step SET repeat = 'safe'"),
        (-1, "UPDATE step SET timeout = 1"),
        (-1, "UPDATE step SET target = ''"),
    ],
    ids=["not_before", "start_by", "not_after", "undo", "changes", "repeat", "timeout", "target"],
)
def test_the_facts_in_a_step_row_are_compared_with_what_was_approved(store, opens, statement):
    when = {"not_before": later(hours=opens), "not_after": later(hours=opens + 2)}
    plan_id = approved(store, step("s1", DEPLOY, schedule=when))
    tamper(store, statement)

    assert claim(store, plan_id, "s1") is None
    assert store.view(plan_id).state == PlanState.stalled


def test_a_worker_that_changed_its_promise_does_not_run_the_step(store):
    plan_id = approved(store)
    changed = DEPLOY.model_copy(update={"timeout": 601.0})
    row = step_row(store, plan_id, "s1")

    assert store.claim(row.id or 0, taker(changed)) is None
    assert store.view(plan_id).state == PlanState.stalled
    assert "ops.deploy has changed" in step_row(store, plan_id, "s1").report["summary"]


def test_a_name_that_stands_for_something_else_now_does_not_run(store):
    plan_id = approved(store)
    entries = {"service": {"a": {"binding": "another cluster", "environment": "production"}}}
    changed = type(DEPLOY).model_validate(DEPLOY.model_dump() | {"names": entries})
    row = step_row(store, plan_id, "s1")

    assert store.claim(row.id or 0, taker(changed)) is None
    assert store.view(plan_id).state == PlanState.stalled
    assert "signoff.toml has changed" in step_row(store, plan_id, "s1").report["summary"]


def test_a_new_entry_in_the_inventory_does_not_matter(store):
    plan_id = approved(store)
    entries = {"service": DEPLOY.names["service"] | {"new": DEPLOY.names["service"]["a"]}}
    changed = DEPLOY.model_copy(update={"names": entries, "summary": "said otherwise", "typical": 1.0})
    row = step_row(store, plan_id, "s1")

    assert store.claim(row.id or 0, taker(changed)) is not None


# after a failure


def rollback_plan(store: Store) -> int:
    one = step("one", BACKUP)
    two = step("two", DEPLOY, depends_on=("one",), failure_action="rollback")
    three = step("three", DEPLOY, depends_on=("two",), parameters={"service": "b"})
    undos = (undo("undo-one", "one"), undo("undo-two", "two"), undo("undo-three", "three"))
    plan_id = approved(store, one, two, three, rollback=undos)
    succeed(store, plan_id, "one")
    taken = take(store, plan_id, "two")
    store.start(taken, {"version": "2.1.3"})
    store.fail(taken, bad(), actor="w1")
    return plan_id


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


def test_a_rollback_that_can_no_longer_be_made_keeps_the_report_and_asks(store):
    plan_id = approved(store, step("s1", DEPLOY, failure_action="rollback"), rollback=(undo("u1", "s1"),))
    taken = take(store, plan_id, "s1")
    store.publish([RESTORE.model_copy(update={"timeout": 601.0})])

    assert store.fail(taken, bad(), actor="w1") is True
    assert store.view(plan_id).state == PlanState.stalled
    assert states(store, plan_id)["s1"] == "failed"


def failed_plan(store: Store, **fields: Any) -> int:
    plan_id = approved(store, step("s1", **fields), step("s2", depends_on=("s1",)))
    fail(store, plan_id, "s1")
    return plan_id


def test_the_time_a_person_took_to_answer_is_not_the_steps(store, clock):
    plan_id = failed_plan(store)
    clock.advance(3600)
    store.answer(plan_id, "s1", "retry", user="BOB")
    succeed(store, plan_id, "s1")

    assert store.view(plan_id).step("s1").took < timedelta(seconds=60)


def test_a_failure_asks_and_nothing_runs_until_somebody_answers(store):
    plan_id = failed_plan(store)
    view = store.view(plan_id)

    assert (view.state, view.reason) == (PlanState.stalled, "step s1 failed")
    assert view.step("s1").choices == ("retry", "skip", "take_over", "abort")
    assert due(store) == []
    assert claim(store, plan_id, "s2") is None


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
    store.claim(step_row(store, plan_id, "s1").id or 0, taker(changed))
    store.answer(plan_id, "s1", "retry", user="ANN")
    fail(store, plan_id, "s1")

    assert (store.view(plan_id).state, store.view(plan_id).outcome) == (PlanState.done, "failed")


def test_a_plan_that_continues_waits_for_the_planner(store):
    plan_id = approved(store, step("s1"), continues=True)
    succeed(store, plan_id, "s1")

    assert store.view(plan_id).state == PlanState.stalled
    assert store.to_review() == [(plan_id, len(store.events(plan_id)))]


def test_a_plan_that_continued_shows_and_runs_its_next_steps(store):
    plan_id = approved(store, step("s1", DEPLOY), continues=True)
    succeed(store, plan_id, "s1")
    said = {"verb": "amend", "step": "", "reason": "go on", "source": "model", "wait": 0.0}
    spec = plan_spec(step("s1", DEPLOY), step("s2"), continues=True)
    store.decide(plan_id, store.to_review()[0][1], said, spec=spec)
    succeed(store, plan_id, "s2")
    end = plan_spec(step("s1", DEPLOY), step("s2"), step("s3", BACKUP))
    said |= {"verb": "amend", "reason": "the last"}
    store.decide(plan_id, store.to_review()[0][1], said, spec=end, terms=terms(), changes=["s3 is added"])
    approve(store, plan_id)
    succeed(store, plan_id, "s3")

    assert store.view(plan_id).outcome == "succeeded"
    assert step_row(store, plan_id, "s1").attempt == 1


# deliveries


def test_an_act_and_its_delivery_are_committed_together_or_not_at_all(store):
    store.deliver("command:1", "command", {"text": "deploy"})
    with store.handling("command:1"):
        plan_id = store.request("deploy", team="T", user="ANN", channel="C")
    store.deliver("click:1", "click", {"value": "x"})
    with pytest.raises(Conflict), store.handling("click:1"):
        store.answer(plan_id, "s1", "retry", user="BOB")

    assert [delivery.key for delivery in store.unhandled()] == ["click:1"]
    store.request("another", team="T", user="ANN", channel="C")
    assert [delivery.key for delivery in store.unhandled()] == ["click:1"]


def test_a_permit_withheld_for_the_same_reason_is_said_once_and_wakes_nobody(store, clock):
    plan_id = approved(store)
    row = step_row(store, plan_id, "s1")
    store.withhold(row.id, "he left", actor="bot")
    version = store.view(plan_id).version
    store.withhold(row.id, "he left", actor="bot")

    assert store.view(plan_id).version == version
    assert len(messages(store, "waits")) == 1


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


# the journal


def busy_plan(store: Store) -> int:
    plan_id = rollback_plan(store)
    fail(store, plan_id, "undo-two")
    store.answer(plan_id, "undo-two", "retry", user="BOB")
    return plan_id


def test_the_journal_is_one_chain_and_the_plan_knows_its_head(store):
    plan_id = busy_plan(store)
    events = store.events(plan_id)
    with store.read() as t:
        plan = t.plan(plan_id)

    assert broken_link(events) is None
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert (plan.head, plan.events) == (events[-1].hash, len(events))


@pytest.mark.hostile
@pytest.mark.parametrize(
    ("field", "forged"),
    [
        ("verb", "forged"),
        ("actor", "forged"),
        ("data", {"forged": True}),
        ("prev", "forged"),
        ("hash", "forged"),
        ("at", NOW - timedelta(microseconds=1)),
        ("seq", 1000),
        ("plan_id", 1000),
    ],
)
def test_an_edited_event_is_found_wherever_it_stands(lite, field, forged):
    events = [SimpleNamespace(**row.model_dump()) for row in lite.events(busy_plan(lite))]
    for event in events:
        honest = getattr(event, field)
        setattr(event, field, forged)
        found = broken_link(events)
        setattr(event, field, honest)

        assert found == event.seq

    assert broken_link(events) is None


@pytest.mark.hostile
def test_an_event_edited_in_the_database_is_found(store):
    plan_id = busy_plan(store)
    tamper(store, "UPDATE event SET actor = 'MALLORY' WHERE verb = 'approve'")

    assert broken_link(store.events(plan_id)) == 3


@pytest.mark.hostile
def test_an_event_taken_out_of_the_middle_is_found(store):
    plan_id = busy_plan(store)
    tamper(store, "DELETE FROM event WHERE seq = 4")

    assert broken_link(store.events(plan_id)) == 4


@pytest.mark.hostile
def test_a_journal_whose_end_was_cut_off_is_found(store):
    plan_id = busy_plan(store)
    tamper(store, "DELETE FROM event WHERE seq = :seq", seq=len(store.events(plan_id)))

    assert verify(store.engine, plan_id) == 1


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


# the outbox


def test_a_plan_has_one_card_however_much_happens(store):
    plan_id = busy_plan(store)
    (card,) = messages(store, "card")

    assert card.key == f"card:{plan_id}"
    assert card.wanted > card.shown


def test_each_outcome_is_said_once(store):
    plan_id = busy_plan(store)
    said = [store.event(message.plan_id, message.seq) for message in messages(store, "outcome")]

    assert [(event.verb, event.data["step"]) for event in said if event] == [
        ("succeed", "one"), ("fail", "two"), ("fail", "undo-two"),
    ]  # fmt: skip
    assert [m.key.partition(":")[0] for m in messages(store, "decision")] == ["decision"]
    assert all(message.plan_id == plan_id for message in messages(store, "outcome"))


@pytest.mark.parametrize(
    ("end", "kind"),
    [("reject", "decision"), ("expire", "decision"), ("cancel", "decision"), ("amend", "changes")],
)
def test_each_decision_is_said_in_the_thread(store, clock, end, kind):
    plan_id = propose(store)
    clock.advance(hours=24 if end == "expire" else 1)
    {
        "reject": lambda: store.reject(plan_id, 1, user="BOB", reason="no"),
        "expire": store.expire,
        "cancel": lambda: store.cancel(plan_id, user="ANN", reason="no"),
        "amend": lambda: store.amend(plan_id, plan_spec(), terms(), author="B", after=1, changes=["x"]),
    }[end]()
    (message,) = messages(store, kind)

    assert store.event(message.plan_id, message.seq).verb == end


def test_the_end_is_said_in_the_thread(store):
    plan_id = approved(store, step("s1"))
    succeed(store, plan_id, "s1")

    assert len(messages(store, "summary")) == 1


def test_urgent_messages_go_first(store, clock):
    first = approved(store)
    clock.advance(1)
    for message in store.unsent():
        store.note_shown(message, "1.0", next_at=clock.now)
    take(store, first, "s1")  # a card that may wait
    second = propose(store)  # a card that people wait for
    store.whisper("w", channel="C1", user="ANN", text="no")
    clock.advance(1)

    assert [message.key for message in store.unsent()] == [
        f"card:{second}",
        "w",
        f"card:{first}",
    ]


def test_an_urgent_message_does_not_overtake_the_earlier_words_of_its_thread(store, clock):
    plan_id = approved(store, step("s1"), step("s2", depends_on=("s1",)))
    succeed(store, plan_id, "s1")
    fail(store, plan_id, "s2")
    clock.advance(5)

    kinds = [(message.kind, message.urgent) for message in store.unsent() if message.kind == "outcome"]

    assert kinds == [("outcome", False), ("outcome", True)]


def test_a_round_takes_so_many_for_each_place_and_no_place_waits_for_another(store, clock):
    for number in range(EACH + 20):
        store.say(f"s{number}", channel="C1", text="no")
    store.say("elsewhere", channel="C2", text="no")
    clock.advance(1)

    found = [message.key for message in store.unsent()]

    assert found == [*(f"s{number}" for number in range(EACH)), "elsewhere"]


def test_a_message_is_stale_until_slack_shows_it(store, clock):
    ask(store)
    clock.advance(1)
    (card,) = store.unsent()
    store.sending(card)
    store.note_shown(card, "17.1", next_at=clock.now + timedelta(seconds=3))

    assert store.unsent() == []
    assert messages(store, "card")[0].ts == "17.1"


def test_a_card_rests_between_two_updates_unless_a_decision_is_to_be_shown(store, clock):
    plan_id = approved(store)
    clock.advance(1)
    for message in store.unsent():
        store.note_shown(message, "1.0", next_at=clock.now + timedelta(seconds=3))
    taken = take(store, plan_id, "s1")

    assert store.unsent() == []
    store.succeed(taken, ok(), actor="w1")
    assert f"card:{plan_id}" in [message.key for message in store.unsent()]


def test_a_new_card_waits_a_moment_for_the_proposal(store, clock):
    plan_id = ask(store)

    assert store.unsent() == []
    store.propose(plan_id, plan_spec(), terms(), author="planner")
    assert [message.kind for message in store.unsent()] == ["card"]


def test_a_whisper_is_said_once(store):
    for _ in range(2):
        store.whisper("why:1", channel="C1", user="ANN", text="because")

    assert [message.text for message in messages(store, "whisper")] == ["because"]


# the desk


def test_a_delivery_counts_once(store):
    assert store.deliver("Ev1", "click", {"a": 1}) is True
    assert store.deliver("Ev1", "click", {"a": 1}) is False
    assert [delivery.key for delivery in store.unhandled()] == ["Ev1"]


def test_of_many_copies_of_a_delivery_one_counts(store):
    calls = [partial(mine.deliver, "Ev1", "click", {}) for mine in strangers(store, 8)]

    assert sorted(together(calls)) == [False] * 7 + [True]


def test_deliveries_are_handled_in_the_order_they_came_and_then_forgotten(store):
    for number in (3, 1, 2):
        store.deliver(f"Ev{number}", "command", {"text": "secret"})
    with store.handling("Ev3"):
        store.handled()

    assert [delivery.key for delivery in store.unhandled()] == ["Ev1", "Ev2"]
    assert store.deliver("Ev3", "command", {}) is False


def test_a_contract_comes_back_as_it_was_published(store):
    store.publish(CONTRACTS.values())
    store.publish([DEPLOY])

    assert sorted(store.contracts(), key=lambda c: c.action) == [BACKUP, READ, DEPLOY, RESTORE]


def test_a_process_that_gives_no_sign_of_life_counts_as_gone(store, clock):
    store.alive("host-1", "workers", "0.1")
    clock.advance(29)
    store.alive("host-2", "workers", "0.1")

    assert {found.name for found in store.processes("workers")} == {"host-1", "host-2"}
    assert store.processes("bot") == []
    clock.advance(2)
    assert [found.name for found in store.processes("workers")] == ["host-2"]


# SQLite


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("pragma", "value"),
    [("journal_mode", "wal"), ("synchronous", 2), ("foreign_keys", 1), ("busy_timeout", 30000)],
)
def test_sqlite_keeps_its_promises_on_every_connection(engine, pragma, value):
    with engine.connect() as one, engine.connect() as two:
        found = [c.exec_driver_sql(f"PRAGMA {pragma}").scalar_one() for c in (one, two)]

    assert found == [value, value]


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_a_writer_on_sqlite_takes_the_lock_at_once(store, engine):
    with (
        closing(sqlite3.connect(engine.url.database, timeout=0, isolation_level=None)) as other,
        store.write(),
        pytest.raises(sqlite3.OperationalError, match="locked"),
    ):
        other.execute("BEGIN IMMEDIATE")


def test_a_clock_is_asked_not_the_machine(engine):
    clock = FakeClock(NOW - timedelta(days=3650))
    plan_id = Store(engine, clock).request("x", team="T", user="U", channel="C")

    assert Store(engine, clock).view(plan_id).created_at == clock.now
