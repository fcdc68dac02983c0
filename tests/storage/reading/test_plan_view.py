"""A plan as people see it."""

from datetime import timedelta

from tests.support.fakes import succeed
from tests.support.samples.plans import failed_plan


def test_the_time_a_person_took_to_answer_is_not_the_steps(store, clock):
    plan_id = failed_plan(store)
    clock.advance(3600)
    store.answer(plan_id, "s1", "retry", user="BOB")
    succeed(store, plan_id, "s1")

    assert store.view(plan_id).step("s1").took < timedelta(seconds=60)
