"""Which steps may start now, and how many."""

import pytest
from sqlalchemy import delete
from sqlmodel import col

from storage.database.tables import Approval
from tests.support.fakes import (
    CONTRACTS,
    DEPLOY,
    NOW,
    approved,
    claim,
    due,
    later,
    permitted,
    propose,
    step,
    step_row,
    taker,
)


def test_only_what_is_offered_is_due(store):
    approved(store)

    assert store.due(taker(CONTRACTS["check"]), 10) == []
    assert len(due(store)) == 1


def test_no_more_is_due_than_there_are_hands(store):
    approved(store, *(step(f"s{n}") for n in range(5)))

    assert len(due(store, limit=2)) == 2
    assert due(store, limit=0) == []


def test_a_step_does_not_start_before_its_time(store, clock):
    plan_id = approved(store, step("s1", schedule={"not_before": later(hours=8)}))

    assert due(store) == []
    assert claim(store, plan_id, "s1") is None
    assert [one.at for one in store.scheduled()] == [later(hours=8)]
    clock.advance(hours=8)
    assert len(due(store)) == 1
    assert claim(store, plan_id, "s1") is not None


@pytest.mark.parametrize(("left", "fits"), [(600, True), (599, False)])
def test_a_step_starts_only_if_its_timeout_fits_before_the_end(store, clock, left, fits):
    plan_id = approved(store, step("s1", schedule={"not_before": NOW, "not_after": later(hours=1)}))
    clock.advance(3600 - left)

    assert bool(due(store)) is fits
    assert bool(claim(store, plan_id, "s1")) is fits


def test_what_somebody_broke_the_glass_for_starts_without_the_approvals_and_nothing_else_does(store):
    broken, plain = propose(store), approved(store, step("s1", DEPLOY, parameters={"service": "b"}))
    digest = store.view(broken).digest
    store.break_glass(broken, digest, ["approvals"], user="DAN", reason="it burns")
    store.confirm_glass(broken, digest, user="DAN")
    permitted(store, broken)
    with store.write() as t:
        t.execute(delete(Approval).where(col(Approval.plan_id) == plain))

    assert claim(store, broken, "s1") is not None
    assert claim(store, plain, "s1") is None
    assert "not the one that was approved" in step_row(store, plain, "s1").report["summary"]
