"""What waits for thought, and what was decided."""

from storage.contract.states import PlanState
from tests.support.fakes import approved, step, succeed


def test_a_plan_that_continues_waits_for_the_planner(store):
    plan_id = approved(store, step("s1"), continues=True)
    succeed(store, plan_id, "s1")

    assert store.view(plan_id).state == PlanState.stalled
    assert store.to_review() == [(plan_id, len(store.events(plan_id)))]
