"""What the columns promise, on both databases."""

from datetime import timedelta

from tests.support.fakes import approved, later, step, step_row


def test_instants_come_back_as_they_went_in(store, clock):
    clock.advance(0.123456)
    plan_id = approved(store, step("s1", schedule={"not_before": later(hours=8)}))
    row = step_row(store, plan_id, "s1")

    assert store.view(plan_id).created_at == clock.now
    assert row.not_before == later(hours=8)
    assert row.not_before.utcoffset() == timedelta(0)
