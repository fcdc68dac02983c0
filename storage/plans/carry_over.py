"""What a new revision of a plan on its way takes over: what has run stands, the rest is born."""

from collections.abc import Collection, Iterable

from sqlalchemy import Integer, bindparam, delete, func, select, update
from sqlalchemy.orm import aliased
from sqlmodel import col

from storage.contract.spec import PlanSpec
from storage.contract.states import StepState
from storage.database.models import Models
from storage.database.tables import Plan, Preview, Step
from storage.settling.settle import bear, skip
from storage.transaction import Transaction, of_revision

OLD, PLAN = aliased(Step), bindparam("plan", type_=Integer)
LAST = select(func.max(col(OLD.revision))).where(
    col(OLD.plan_id) == PLAN, col(OLD.revision) < bindparam("revision")
)
EARLIER = Models(Step, col(Step.plan_id) == PLAN, col(Step.revision) == LAST.scalar_subquery())
STANDS = frozenset({StepState.pending, StepState.succeeded, StepState.failed})


def bring(t: Transaction, plan: Plan, spec: PlanSpec, open_: Collection[str] = ()) -> None:
    """The steps of this revision: those of the one before that stand in it, and new ones.

    `open_`: the failed steps that it does not answer.
    """
    begun = {step.key: step for step in earlier(t, plan) if step.attempt}
    known = _carry(t, plan, spec, open_)
    bear(t, plan, [s for s in spec.steps if s.id not in known], undo=False)
    for key in begun.keys() - known:
        _take_up(t, plan, begun[key])
    for position, step in enumerate(spec.steps if known else ()):
        here = of_revision(Step, plan)
        t.execute(update(Step).where(*here, col(Step.key) == step.id).values(position=position))


def _carry(t: Transaction, plan: Plan, spec: PlanSpec, open_: Collection[str]) -> set[str]:
    """Take over what stands in the new revision as it was; making it has answered the failures in it.

    A permit does not stand: it was given for the approvals of the revision before.
    """
    old = earlier(t, plan)
    kept = standing(old, spec)
    for step in kept:
        answered = step.state == StepState.failed and step.key not in open_
        choice = "continue" if answered else step.choice
        t.change_step(step, revision=plan.revision, choice=choice, permit_until=t.clock())
    skip(t, [s for s in old if s not in kept and s.state == StepState.pending])
    return {step.key for step in kept}


def _take_up(t: Transaction, plan: Plan, begun: Step) -> None:
    """A step that had begun, and is born anew, has begun: what it changed before is undone with the rest."""
    values = {"attempt": begun.attempt, "previous": begun.previous, "started_at": begun.started_at}
    t.execute(update(Step).where(*of_revision(Step, plan), col(Step.key) == begun.key).values(**values))


def forget_previews(t: Transaction, plan: Plan, spec: PlanSpec) -> None:
    """What has run in an earlier revision would do nothing more."""
    ran = [step.key for step in standing(earlier(t, plan), spec) if step.state == StepState.succeeded]
    mine = of_revision(Preview, plan)
    t.execute(delete(Preview).where(*mine, col(Preview.key).in_(ran)))


def earlier(t: Transaction, plan: Plan) -> list[Step]:
    """The steps of the last revision before this one that had any."""
    return EARLIER.all(t.connection, plan=plan.id, revision=plan.revision) if plan.revision > 1 else []


def standing(steps: Iterable[Step], spec: PlanSpec) -> list[Step]:
    """Those that this plan has, byte for byte."""
    digests = {step.id: step.digest() for step in spec.steps}
    return [step for step in steps if digests.get(step.key) == step.digest and _stands(step)]


def _stands(step: Step) -> bool:
    return step.state in STANDS or (step.state == StepState.skipped and step.choice == "skip")
