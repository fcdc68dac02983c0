"""An approved plan is moved later: its approvals stay, what runs goes on, and nothing else may change."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlmodel import col

from storage.contract.postponing import moved
from storage.contract.spec import PlanSpec, StepSpec
from storage.contract.states import PlanState, StepState
from storage.database.tables import Approval
from storage.errors import Conflict, NotAllowed
from storage.journal.chain import broken_link
from tests.support.fakes import (
    DEPLOY,
    NOW,
    approve,
    approved,
    ask,
    claim,
    ok,
    permitted,
    plan_spec,
    propose,
    step,
    step_row,
    take,
    tamper,
    terms,
)

WEEK, HOUR = timedelta(days=7), timedelta(hours=1)
START = NOW + 3 * HOUR
TONIGHT = {"not_before": START, "not_after": START + 2 * HOUR, "overrun": "stop"}


def deploy(**fields: Any) -> StepSpec:
    return step("deploy", DEPLOY, schedule=TONIGHT, **fields)


def later(store: Any, plan_id: int, start: datetime, *, wait: timedelta = WEEK, user: str = "ANN") -> int:
    view = store.view(plan_id)
    new = moved(view.spec, {"deploy"}, "deploy", start)
    found: int = store.postpone(plan_id, new, user=user, after=view.revision, wait=wait, changes=["later"])
    return found


def yeses(store: Any, plan_id: int) -> list[Approval]:
    with store.read() as t:
        found: list[Approval] = t.rows(Approval, col(Approval.plan_id) == plan_id, order=col(Approval.id))
        return found


def test_the_approval_stays_and_names_both_digests(store):
    plan_id = approved(store, deploy())
    before = store.view(plan_id)
    number = later(store, plan_id, START + 24 * HOUR)
    after, (yes, kept) = store.view(plan_id), yeses(store, plan_id)

    assert (after.state, after.revision, number) == (PlanState.approved, 2, 2)
    assert after.approved_by == before.approved_by == ("BOB",)
    assert after.authors == before.authors
    assert (kept.digest, kept.earlier, kept.revision) == (after.digest, before.digest, 2)
    assert (kept.user, kept.at, kept.shown) == (yes.user, yes.at, yes.shown)
    event = store.events(plan_id)[-1]
    assert (event.verb, event.actor) == ("postpone", "ANN")
    assert (event.data["earlier"], event.data["digest"]) == (before.digest, after.digest)
    assert broken_link(store.events(plan_id)) is None


def test_however_often_it_moves_it_reads_as_on_record_with_the_previews_that_people_saw(store):
    offered = DEPLOY.model_copy(update={"preview": True})
    plan_id = ask(store)
    store.publish([offered])
    planned = plan_spec(step("deploy", offered, schedule=TONIGHT))
    store.propose(plan_id, planned, terms(), author="planner")
    (wanted,) = store.previews_wanted([("ops", "deploy")])
    store.show(wanted, "would deploy a", "b", actor="w1")
    approve(store, plan_id)
    for days in (1, 2):
        later(store, plan_id, START + days * 24 * HOUR)

    assert store.tampered(plan_id) == ""
    tamper(store, "UPDATE preview SET text = 'nothing would change' WHERE revision = 3")
    assert store.tampered(plan_id)


def test_it_starts_at_the_new_time_and_not_before(store, clock):
    plan_id = approved(store, deploy())
    later(store, plan_id, START + 24 * HOUR)
    clock.now = START + HOUR
    permitted(store, plan_id)
    early = claim(store, plan_id, "deploy")
    store.miss()
    clock.now = START + 24 * HOUR
    permitted(store, plan_id)
    taken = claim(store, plan_id, "deploy")

    assert early is None
    assert taken is not None
    assert store.view(plan_id).step("deploy").state == StepState.running


def test_what_runs_meanwhile_goes_on_and_reports(store, clock):
    plan_id = approved(store, step("backup"), deploy(depends_on=("backup",)))
    running = take(store, plan_id, "backup")
    later(store, plan_id, START + 24 * HOUR)

    assert store.succeed(running, ok(), actor="w1")
    assert store.view(plan_id).step("backup").state == StepState.succeeded
    clock.now = START + 24 * HOUR
    permitted(store, plan_id)
    assert claim(store, plan_id, "deploy") is not None


def test_a_permit_for_the_old_time_is_none_for_the_new_one(store):
    plan_id = approved(store, deploy())
    permitted(store, plan_id)
    later(store, plan_id, START + 24 * HOUR)

    assert step_row(store, plan_id, "deploy").permit_until <= store.clock()


def test_the_longest_wait_is_counted_from_the_first_approval_however_often(store, clock):
    plan_id = approved(store, deploy())
    for day in range(1, 7):
        clock.now = NOW + day * 24 * HOUR - 6 * HOUR
        later(store, plan_id, START + day * 24 * HOUR)

    with pytest.raises(NotAllowed, match="too long after the approval"):
        later(store, plan_id, START + 7 * 24 * HOUR)
    assert store.view(plan_id).revision == 7
    assert {yes.at for yes in yeses(store, plan_id)} == {NOW}


def edited(spec: PlanSpec, **changes: Any) -> PlanSpec:
    return spec.model_copy(update={"steps": (spec.steps[0].model_copy(update=changes),)})


@pytest.mark.parametrize(
    "changes", [{"parameters": {"service": "b"}}, {"failure_action": "continue"}, {"depends_on": ("deploy",)}]
)
def test_what_changes_anything_else_is_refused_and_nothing_happens(store, changes):
    plan_id = approved(store, deploy())
    new = edited(moved(store.view(plan_id).spec, {"deploy"}, "deploy", START + 24 * HOUR), **changes)

    with pytest.raises(NotAllowed, match="needs a new approval"):
        store.postpone(plan_id, new, user="ANN", after=1, wait=WEEK, changes=[])
    assert store.view(plan_id).revision == 1


def test_an_earlier_time_is_refused(store):
    with pytest.raises(NotAllowed, match="earlier"):
        later(store, approved(store, deploy()), START - HOUR)


def test_whoever_was_second_hears_of_the_first(store):
    plan_id = approved(store, deploy())
    spec = store.view(plan_id).spec
    later(store, plan_id, START + 24 * HOUR)
    new = moved(spec, {"deploy"}, "deploy", START + 48 * HOUR)

    with pytest.raises(Conflict, match="Revision 2 was made meanwhile"):
        store.postpone(plan_id, new, user="CAROL", after=1, wait=WEEK, changes=[])


def test_a_plan_without_enough_approvals_is_not_moved(store):
    plan_id = propose(store, plan_spec(deploy()), needed=2)
    approve(store, plan_id, "BOB")
    tamper(store, "UPDATE plan SET state = 'approved'")

    with pytest.raises(NotAllowed, match="no approval that could stay"):
        later(store, plan_id, START + 24 * HOUR)


def test_a_missed_time_is_answered_by_a_later_one(store, clock):
    plan_id = approved(store, deploy())
    clock.now = START + 3 * HOUR
    store.miss()
    asks = store.view(plan_id)
    later(store, plan_id, START + 24 * HOUR)
    after = store.view(plan_id)

    assert (asks.state, asks.step("deploy").choices) == (PlanState.stalled, ("next", "time", "abort"))
    assert (after.state, after.step("deploy").state) == (PlanState.approved, StepState.pending)
    assert [event.verb for event in store.events(plan_id)][-2:] == ["answer", "postpone"]
    clock.now = START + 24 * HOUR
    permitted(store, plan_id)
    assert claim(store, plan_id, "deploy") is not None


def test_a_step_that_failed_otherwise_wants_its_own_answer(store, clock):
    plan_id = approved(store, step("backup"), deploy())
    store.fail(take(store, plan_id, "backup"), ok().failed("no room"), actor="w1")

    with pytest.raises(Conflict, match="another answer first"):
        later(store, plan_id, START + 24 * HOUR)
