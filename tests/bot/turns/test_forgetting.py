"""What the bot forgets by itself, and when."""

import pytest

from bot.turns.forgetting import forget_old
from tests.support.fakes import FakeClock, approved, step, succeed
from tests.support.store import Store


@pytest.mark.parametrize(("days", "kept"), [(0, True), (31, True), (29, False)])
def test_a_plan_is_kept_for_as_many_days_as_policy_says(
    lite: Store, clock: FakeClock, days: int, kept: bool
) -> None:
    plan = approved(lite, step("look"))
    succeed(lite, plan, "look")
    clock.advance(days=30)

    forget_old(lite, days)

    assert (lite.view(plan).spec is not None) == kept
