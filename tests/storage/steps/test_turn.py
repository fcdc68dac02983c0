"""How workers keep what they took, and when they try it again."""

from datetime import timedelta

from tests.support.fakes import (
    approve,
    approved,
    bad,
    claim,
    due,
    keeps,
    plan_spec,
    propose,
    step,
    step_row,
    take,
)


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
    assert [one.at for one in store.scheduled()] == [clock.now + timedelta(seconds=30)]
    clock.advance(30)
    assert len(due(store)) == 1
    assert take(store, plan_id, "s1").attempt == 2


def test_who_approved_the_plan_as_it_stands_can_be_written_down_elsewhere(store):
    plan_id = propose(store, plan_spec(step("s1")), needed=2)
    for user in ("BOB", "CAROL"):
        approve(store, plan_id, user=user)

    assert store.approvers(plan_id) == ("BOB", "CAROL")
