"""A person moves an approved plan later: its approvals stay, as a revision of its own says."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import insert
from sqlmodel import col

from storage.contract.postponing import why_not
from storage.contract.spec import PlanSpec, StepSpec, utc
from storage.contract.states import PlanState, StepState
from storage.database.tables import Approval, Plan, Preview, Revision, Step
from storage.errors import Conflict, NotAllowed
from storage.memory import Memory
from storage.plans.lifecycle import add_revision, agreed, words
from storage.settling.questions import missed
from storage.settling.settle import settle_plans
from storage.transaction import Transaction


def postpone(
    memory: Memory,
    plan_id: int,
    spec: PlanSpec,
    *,
    user: str,
    after: int,
    wait: timedelta,
    changes: Sequence[str],
    about: tuple[str, datetime] | None = None,
) -> int:
    """Replace the approved revision `after` by one that differs in nothing but later times.

    `wait`: how long after its first approval policy lets it run; `about`: which step somebody moved, and to
    when, for the thread. NotAllowed when it is not covered by what
    was approved. A step that has missed its time is answered by another one.
    """
    with memory.write() as t:
        plan = _movable(t, plan_id, after)
        old = t.revision(plan)
        given, first = _given(t, plan, old), _first(t, plan, old)
        answered = _take_up(t, plan, user)
        pending = {step.key for step in t.steps(plan) if step.state == StepState.pending and not step.undo}
        if why := why_not(t.spec(plan), spec, pending, first + wait):
            raise NotAllowed(f"That is more than a later time ({why}), so it needs a new approval.")
        data = {"revision": after + 1, "digest": spec.digest(), "earlier": old.digest, "changes": [*changes]}
        data |= {"step": about[0], "to": utc(about[1])} if about else {}
        data["words"] = words(t, spec, agreed(old), old.note, changes)
        plan = t.move(plan_id, "postpone", actor=user, data=data)
        number = add_revision(
            t, plan, spec, agreed(old), author=user, note=old.note, changes=[*changes], postpones=after
        )
        _keep(t, old, number, spec, given)
        t.redraw(plan_id, answered)
        settle_plans(t, plan_id)
        return number


def _movable(t: Transaction, plan_id: int, after: int) -> Plan:
    plan = t.touch(plan_id)
    if plan.state not in {PlanState.approved, PlanState.stalled}:
        raise Conflict(t.why_not(plan_id, "postpone"))
    if plan.cancelled_by:
        raise Conflict(f"<@{plan.cancelled_by}> is cancelling plan {plan.id} already.")
    if plan.revision != after:
        raise Conflict(f"Revision {plan.revision} was made meanwhile; yours was based on {after}.")
    return plan


def _given(t: Transaction, plan: Plan, old: Revision) -> list[Approval]:
    """The approvals that stay, if there are as many as were asked for."""
    if old.parent:
        raise NotAllowed("The planner has added steps since the approval, so another time needs a new one.")
    here = (col(Approval.plan_id) == plan.id, col(Approval.revision) == old.number)
    given = t.rows(Approval, *here, col(Approval.digest) == old.digest)
    if len(given) < old.needed:
        raise NotAllowed("It has no approval that could stay: another time needs one.")
    return given


def _first(t: Transaction, plan: Plan, old: Revision) -> datetime:
    """When it was approved first, however often it was moved since."""
    while old.postpones:
        old = t.revision(plan, old.postpones)
    yes = t.rows(Approval, col(Approval.plan_id) == plan.id, col(Approval.revision) == old.number)
    return min((approval.at for approval in yes), default=old.made_at)


def _take_up(t: Transaction, plan: Plan, user: str) -> list[str]:
    """Where the plan waits for an answer since a time was missed, this is the answer: it waits again."""
    if plan.state != PlanState.stalled:
        return []
    failed = [step for step in t.steps(plan) if step.state == StepState.failed]
    if not failed or not all(map(missed, failed)):
        raise Conflict("It waits for another answer first.")
    for step in failed:
        anew = {"choice": "", "report": None, "started_at": None, "ended_at": None}
        t.move_step(step, "retry", **anew)
    keys = [step.key for step in failed]
    data = {"step": keys[0], "choice": "later"}
    t.move(plan.id, "answer", actor=user, data=data, quiet=True, reason="", look=0)
    return keys


def _keep(t: Transaction, old: Revision, number: int, spec: PlanSpec, given: list[Approval]) -> None:
    """Approvals, previews and steps stand in the new revision as they stood in the old one, but for times."""
    for yes in given:
        row = yes.model_dump(exclude={"id"})
        kept = {"revision": number, "digest": spec.digest(), "earlier": old.digest}
        t.execute(insert(Approval).values(**row | kept))
    mine = (col(Preview.plan_id) == old.plan_id, col(Preview.revision) == old.number)
    for preview in t.rows(Preview, *mine):
        t.execute(insert(Preview).values(**preview.model_dump() | {"revision": number}))
    here = (col(Step.plan_id) == old.plan_id, col(Step.revision) == old.number)
    for step in t.rows(Step, *here):
        later = {} if step.undo else _later(step, spec.find(step.key), t.clock())
        t.change_step(step, revision=number, **later)


def _later(step: Step, wanted: StepSpec, now: datetime) -> dict[str, object]:
    """What a step's row says of its new time; a permit was given for the old one."""
    when, digest = wanted.schedule, wanted.digest()
    if digest == step.digest or when.not_before is None:
        return {}
    begins = max(when.not_before, step.not_before or when.not_before)
    start_by = when.not_after and when.not_after - timedelta(seconds=step.timeout)
    times = {"not_before": begins, "not_after": when.not_after, "start_by": start_by}
    return times | {"digest": digest, "due_at": None, "permit_until": now, "withheld": ""}
