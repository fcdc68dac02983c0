"""What has changed since a revision was made: kept for its card, and answered by a new revision."""

from collections.abc import Sequence

from sqlalchemy import select
from sqlmodel import col

from storage.contract.spec import PlanSpec
from storage.contract.states import BUSY, PlanState, StepState
from storage.database.tables import Plan
from storage.errors import Conflict
from storage.memory import Memory
from storage.plans.decisions import put
from storage.plans.lifecycle import Terms, accept_unasked
from storage.transaction import Transaction

RESTING = (PlanState.proposed, PlanState.approved, PlanState.stalled)  # on what was true when it was made


def resting(memory: Memory) -> list[int]:
    """The plans that rest on names, promises, rules and times which may change under them."""
    query = select(col(Plan.id)).where(col(Plan.state).in_(RESTING)).order_by(col(Plan.id))
    with memory.read() as t:
        return [*t.execute(query).scalars()]


def outdate(memory: Memory, plan_id: int, revision: int, why: Sequence[str], ahead: Sequence[str]) -> None:
    """Keep what has changed since this revision was made, and what lies ahead; the same is said once.

    The card is drawn anew; where it was approved already, the thread hears of it as well.
    """
    told, coming = memory.redact.data([*why]), memory.redact.data([*ahead])

    def write(t: Transaction) -> None:
        plan = t.touch(plan_id)
        if _known(plan, revision, told, coming):
            return
        quiet = plan.state != PlanState.approved or not told or plan.outdated == told
        t.change(plan, outdated=told, ahead=coming)
        t.note(plan, "outdate", actor="rules", data={"reasons": told, "ahead": coming}, quiet=quiet)
        t.redraw(plan_id, [step.key for step in t.steps(plan) if step.state == StepState.failed])

    with memory.read() as t:
        known = _known(t.plan(plan_id), revision, told, coming)
    if not known:
        memory.record(write)


def _known(plan: Plan, revision: int, told: list[str], coming: list[str]) -> bool:
    """Whether there is nothing new to say of this revision."""
    stands = plan.revision == revision and plan.state in RESTING
    return not stands or (plan.outdated, plan.ahead) == (told, coming)


def bring_up_to_date(
    memory: Memory,
    plan_id: int,
    spec: PlanSpec,
    terms: Terms,
    *,
    author: str,
    after: int,
    changes: Sequence[str],
    key: str = "",
) -> None:
    """The same plan as things are now, for one that was approved: what has run stands, the rest is asked.

    `key` is the failed step that this answers, if one asked.
    """
    with memory.write() as t:
        plan = t.touch(plan_id)
        if plan.state not in {PlanState.approved, PlanState.stalled} or plan.revision != after:
            raise Conflict(t.why_not(plan_id, "bringing it up to date"))
        steps = t.steps(plan)
        if busy := next((step.key for step in steps if step.state in BUSY), ""):
            raise Conflict(f"Step {busy} is under way; please bring the plan up to date when it has ended.")
        if any(step.undo for step in steps):
            raise Conflict("What was done is being rolled back; there is nothing to bring up to date.")
        for failed in (step for step in steps if step.state == StepState.failed):
            t.move_step(failed, "skip")  # it is born anew with the rest, and tried again
        t.change(plan, look=0)
        if key:
            t.note(plan, "answer", actor=author, data={"step": key, "choice": "update"})
        put(t, plan, spec, terms, "; ".join(changes), changes, author)
        t.redraw(plan_id, [step.key for step in steps])
        accept_unasked(t, plan_id, spec, terms)
