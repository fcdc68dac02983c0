"""A code counts once, for one approval, however many come at the same moment."""

from collections.abc import Callable

import pytest

from bot.policy.totp import counter_of
from storage.errors import Conflict
from storage.reading.plan_view import PlanView
from storage.safeguards.second_factors import Proof
from tests.support.fakes import NOW, TEAM, strangers, together
from tests.support.samples.second_factor import SECRET, code, enrol, guarded
from tests.support.store import Store

pytestmark = pytest.mark.authorize


def test_of_two_bots_with_the_same_code_one_approves(store):
    enrol(store)
    plans, counter = [guarded(store) for _ in range(6)], counter_of(SECRET, code(), NOW)

    def give(other: Store, view: PlanView) -> Callable[[], bool]:
        proof = Proof("code", counter)
        return lambda: other.approve(view.id, 1, view.digest, team=TEAM, user="BOB", policy="p1", proof=proof)

    results = together([give(other, view) for other, view in zip(strangers(store, 6), plans, strict=True)])

    assert results.count(True) == 1
    assert sum("used already" in str(result) for result in results) == 5


def test_of_guesses_at_the_same_moment_only_the_first_can_be_right(lite):
    enrol(lite)
    view = guarded(lite)
    seen = lite.factor("BOB").failures
    lite.mistake(view.id, "approve", user="BOB")

    with pytest.raises(Conflict):
        lite.approve(
            view.id, 1, view.digest, team=TEAM, user="BOB", policy="p1",
            proof=Proof("code", counter_of(SECRET, code(), NOW), seen),
        )  # fmt: skip
