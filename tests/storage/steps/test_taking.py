"""Claims: one step, one taker; and what was approved is what runs."""

from functools import partial

import pytest

from storage.contract.states import PlanState, StepState
from tests.support.fakes import (
    DEPLOY,
    LEASE,
    READ,
    approved,
    attempts,
    bad,
    claim,
    later,
    plan_spec,
    states,
    step,
    step_row,
    strangers,
    succeed,
    take,
    taker,
    tamper,
    together,
)
from tests.support.store import Store


def test_no_step_is_taken_twice(store):
    plan_id = approved(store, *(step(f"s{n}") for n in range(5)))
    ids = [step_row(store, plan_id, f"s{n}").id for n in range(5)]

    def all_of_them(mine: Store) -> list[str]:
        taken = (mine.claim(i, taker(READ, owner="w")) for i in ids)
        return [found.key for found in taken if found]

    found = together([partial(all_of_them, mine) for mine in strangers(store, 8)])
    keys = [key for keys in found for key in keys]

    assert sorted(keys) == [f"s{n}" for n in range(5)]
    assert len(attempts(store)) == 5


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


def test_a_step_whose_due_time_was_moved_waits_for_its_approved_time(store):
    plan_id = approved(store, step("s1", schedule={"not_before": later(hours=1)}))
    tamper(store, "UPDATE step SET due_at = '2000-01-01 00:00:00'")

    assert claim(store, plan_id, "s1") is None
    assert states(store, plan_id) == {"s1": "pending"}


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

    assert store.claim(row.id, taker(changed)) is None
    assert store.view(plan_id).state == PlanState.stalled
    assert "ops.deploy has changed" in step_row(store, plan_id, "s1").report["summary"]


def test_a_name_that_stands_for_something_else_now_does_not_run(store):
    plan_id = approved(store)
    entries = {"service": {"a": {"binding": "another cluster", "environment": "production"}}}
    changed = type(DEPLOY).model_validate(DEPLOY.model_dump() | {"names": entries})
    row = step_row(store, plan_id, "s1")

    assert store.claim(row.id, taker(changed)) is None
    assert store.view(plan_id).state == PlanState.stalled
    assert "signoff.toml has changed" in step_row(store, plan_id, "s1").report["summary"]


def test_a_new_entry_in_the_inventory_does_not_matter(store):
    plan_id = approved(store)
    entries = {"service": DEPLOY.names["service"] | {"new": DEPLOY.names["service"]["a"]}}
    changed = DEPLOY.model_copy(update={"names": entries, "summary": "said otherwise", "typical": 1.0})
    row = step_row(store, plan_id, "s1")

    assert store.claim(row.id, taker(changed)) is not None
