"""What the journal says in figures."""

import json
import tracemalloc

import pytest
from sqlalchemy import text

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
    assert "recovered without a person  0 of 1" in table(found)


def test_the_time_to_approve_is_that_of_people(store_with_a_slow_approver):
    found = stats(store_with_a_slow_approver.journal())

    assert found.approve_seconds == 3600.0
    assert json.loads(json.dumps(found.as_json()))["approve_longest"] == 3600.0


def test_many_plans_are_counted_in_little_memory(on_disk: Store) -> None:
    model = approved(on_disk, step("look"))
    succeed(on_disk, model, "look")
    with on_disk.write() as t:
        t.execute(text(MANY))
    tracemalloc.start()
    found = stats(on_disk.journal())
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert found.outcomes == {"succeeded": 2001}
    assert most < 4_000_000  # twenty times as many plans take half a megabyte more, for the median


MANY = """WITH RECURSIVE series(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM series WHERE n < 2000)
INSERT INTO event (plan_id, seq, at, verb, actor, data, prev, hash)
SELECT m.plan_id + n, m.seq, m.at, m.verb, m.actor, m.data, m.prev, m.hash FROM event AS m, series
WHERE m.plan_id > 0"""


@pytest.fixture
def store_with_a_slow_approver(lite: Store, clock: FakeClock) -> Store:
    plan_id = propose(lite)
    clock.advance(hours=1)
    approve(lite, plan_id)
    return lite
