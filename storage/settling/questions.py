"""Questions that failed steps have left open, until a person answers, or a step that stands in."""

from collections.abc import Sequence

from sqlmodel import col

from storage.contract.spec import Mandate, PlanSpec, read_spec
from storage.contract.stand_in import answered
from storage.contract.states import StepState, waits
from storage.database.tables import Revision, Step
from storage.transaction import Transaction

ASK = "ask"
PASSED = "its approved time has passed"
UNSTARTED = "not started: "  # so begins the report of a step that may not start


def missed(step: Step) -> bool:
    """Whether a step failed for nothing but its time: it never began, and could be given a later one."""
    late = step.start_by is not None and step.ended_at is not None and step.ended_at > step.start_by
    unstarted = str((step.report or {}).get("summary", "")).startswith(UNSTARTED)
    return step.state == StepState.failed and not step.undo and late and unstarted


def unanswered(steps: Sequence[Step]) -> list[Step]:
    """The failed steps that may still be answered; once something is undone, only those that undo."""
    back = any(step.undo for step in steps)
    return [step for step in steps if waits(StepState(step.state), step.choice) and step.undo == back]


def unmet(t: Transaction, plan_id: int, since: int, mandate: Mandate, spec: PlanSpec) -> list[Step]:
    """The failed steps since that revision that this plan does without, and whose question it leaves open."""
    failed = (col(Step.plan_id) == plan_id, col(Step.state) == StepState.failed, col(Step.undo).is_(False))
    lost = t.rows(Step, *failed, col(Step.revision) >= since, col(Step.choice).in_(("", ASK)))
    kept = {step.id for step in spec.steps}
    return [row for row in lost if row.key not in kept and _open(t, row, mandate, spec)]


def _open(t: Transaction, row: Step, mandate: Mandate, spec: PlanSpec) -> bool:
    (made,) = t.rows(Revision, col(Revision.plan_id) == row.plan_id, col(Revision.number) == row.revision)
    then = read_spec(made.spec).spec
    step = then.find(row.key)
    if (row.choice or step.failure_action) != ASK:
        return False
    # Where a worker put the question, nothing that runs is an answer.
    return bool(row.choice) or not answered(mandate, step, spec, {known.id for known in then.steps})
