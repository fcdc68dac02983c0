"""What an auditor asks of a period: what was changed, how it ended, and how it was decided."""

import json
from datetime import timedelta

from storage.audit.report import as_json, report, table
from tests.support.fakes import DEPLOY, approve, bad, ok, plan_spec, propose, step, take

DAY = timedelta(days=1)


def ran(store, clock, *, well: bool, read: bool) -> int:
    plan_id = propose(store, plan_spec(step("s1", DEPLOY)))
    if read:
        store.opened(plan_id, 1, "BOB")
    clock.advance(30)
    approve(store, plan_id)
    claim = take(store, plan_id, "s1")
    store.succeed(claim, ok(), actor="w1") if well else store.fail(claim, bad(), actor="w1")
    return plan_id


def test_changes_of_a_period_stand_by_target_with_how_they_were_decided(store, clock):
    first = ran(store, clock, well=True, read=True)
    second = ran(store, clock, well=False, read=False)
    (line,) = report(store.engine, clock.now - DAY, clock.now + DAY)
    text = table([line], clock.now - DAY, clock.now + DAY)
    (said,) = json.loads(as_json([line]))

    assert (line.plans, line.started, line.done, line.failed) == ({first, second}, 2, 1, 1)
    assert (line.approvals, line.read, line.by) == (2, 1, {"BOB"})
    assert said["median"] == 30.0
    assert "1 of 2" in text
    assert line.target in text


def test_another_period_and_another_target_are_empty(store, clock):
    ran(store, clock, well=True, read=False)

    assert report(store.engine, clock.now + DAY, clock.now + 2 * DAY) == []
    assert report(store.engine, clock.now - DAY, clock.now + DAY, "database:other") == []
    assert "none." in table([], clock.now, clock.now + DAY)
