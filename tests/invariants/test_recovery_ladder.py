"""Faults in real turns: what can recover does so by itself, the rest reaches a person; the journal counts."""

import json

import pytest
from sqlalchemy import Engine

from bot.cli.stats import stats, table
from storage.store import Store
from tests.proof.ladder import climb
from tests.proof.parts.faulty import FAMILIES, faults
from tests.support.fakes import FakeClock, approve, approved, fail, propose, step, succeed

# The long form, all hundred of them: python -m tests.proof.ladder.
SHORT = [key for name in FAMILIES for key in [k for k, f in faults().items() if f["family"] == name][:9:3]]


@pytest.fixture
def empty(lite: Store) -> Engine:
    return lite.engine


def test_faults_recover_on_their_rung_or_reach_a_person_with_cause_and_options(empty, tmp_path):
    found, told = climb(empty, SHORT, tmp_path)

    assert found.recovered_by == {"retry": 3, "alternative": 3, "simplify": 3}
    assert (found.plans, found.recovered, found.asked, found.answered) == (12, 9, 3, 0)
    assert {key for key, one in told.items() if one.asked} == {
        key for key in SHORT if faults()[key]["family"] == "unrecoverable"
    }


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
