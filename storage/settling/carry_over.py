"""What a new revision of a plan on its way takes over: what has run stands, the rest is born."""

from collections.abc import Iterable

from sqlalchemy import Connection, delete, func, select, update
from sqlmodel import col

from storage.contract.spec import PlanSpec
from storage.contract.states import StepState
from storage.database.tables import Plan, Preview, Step
from storage.settling.previews import Previews
from storage.transaction import rows

STANDS = frozenset({StepState.pending, StepState.succeeded, StepState.failed})


class Carrying(Previews):
    """Step rows move on to the revision that still has them, byte for byte: what ran does not run again."""

    def _bring(self, c: Connection, plan: Plan, spec: PlanSpec, *, permits: bool) -> None:
        """The steps of this revision: those of the one before that stand in it, and new ones."""
        known = self._carry(c, plan, spec)
        self._bear(c, plan, [s for s in spec.steps if s.id not in known], undo=False, permits=permits)
        for position, step in enumerate(spec.steps if known else ()):
            here = (col(Step.plan_id) == plan.id, col(Step.revision) == plan.revision)
            c.execute(update(Step).where(*here, col(Step.key) == step.id).values(position=position))

    def _carry(self, c: Connection, plan: Plan, spec: PlanSpec) -> set[str]:
        """Take over what stands in the new revision as it was; a failure in it was answered by making it."""
        old = earlier(c, plan)
        kept = standing(old, spec)
        for step in kept:
            choice = "continue" if step.state == StepState.failed else step.choice
            values = {"revision": plan.revision, "choice": choice}
            c.execute(update(Step).where(col(Step.id) == step.id).values(**values))
        self._skip(c, [s for s in old if s not in kept and s.state == StepState.pending])
        return {step.key for step in kept}

    def _forget_previews(self, c: Connection, plan: Plan, spec: PlanSpec) -> None:
        """What has run in an earlier revision would do nothing more."""
        ran = [step.key for step in standing(earlier(c, plan), spec) if step.state == StepState.succeeded]
        mine = (col(Preview.plan_id) == plan.id, col(Preview.revision) == plan.revision)
        c.execute(delete(Preview).where(*mine, col(Preview.key).in_(ran)))


def earlier(c: Connection, plan: Plan) -> list[Step]:
    """The steps of the last revision before this one that had any."""
    mine = (col(Step.plan_id) == plan.id, col(Step.revision) < plan.revision)
    last = c.execute(select(func.max(col(Step.revision))).where(*mine)).scalar_one()
    return rows(c, Step, col(Step.plan_id) == plan.id, col(Step.revision) == last) if last else []


def standing(steps: Iterable[Step], spec: PlanSpec) -> list[Step]:
    """Those that this plan has, byte for byte."""
    digests = {step.id: step.digest() for step in spec.steps}
    return [step for step in steps if digests.get(step.key) == step.digest and _stands(step)]


def _stands(step: Step) -> bool:
    return step.state in STANDS or (step.state == StepState.skipped and step.choice == "skip")
