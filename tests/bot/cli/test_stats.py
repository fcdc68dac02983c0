"""What the journal says in figures."""

import json

import pytest

from bot.cli.stats import stats, table
from tests.support.fakes import FakeClock, approve, approved, fail, propose, step, succeed
from tests.support.store import Store


def test_what_a_person_answered_did_not_recover_by_itself(lite):
    plan_id = approved(lite, step("look"))
    fail(lite, plan_id, "look")
    lite.answer(plan_id, "look", "retry", user="ANN")
    succeed(lite, plan_id, "look")
    lite.book(plan_id, model="m", usd=0.25, tokens={})
    found = stats(lite.journal())

    assert (found.outcomes, found.recovered, found.answered, found.usd) == ({"succeeded": 1}, 0, 1, 0.25)
    assert "recovered without a person  0 of 0" in table(found)


def test_the_time_to_approve_is_that_of_people(store_with_a_slow_approver):
    found = stats(store_with_a_slow_approver.journal())

    assert found.approve_seconds == 3600.0
    assert json.loads(json.dumps(found.as_json()))["approve_longest"] == 3600.0


@pytest.fixture
def store_with_a_slow_approver(lite: Store, clock: FakeClock) -> Store:
    plan_id = propose(lite)
    clock.advance(hours=1)
    approve(lite, plan_id)
    return lite
