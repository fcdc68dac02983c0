"""What lets an approved step start: its plan, time, target and permit, and no stop. Conditions only."""

from datetime import datetime

from sqlalchemy import BindParameter, String, and_, bindparam, cast, exists, func, literal, or_
from sqlmodel import col

from storage.contract.states import PlanState, StepState
from storage.database.tables import Moment, Plan, Step, Stop, Target

EVERYTHING = "everything"
# What changes or drafts something, here or anywhere; reads go on, and so do rollbacks, which mend.
ALL_CHANGES, CHANGES_IN = "all changes", "changes in "


def covers(scope: str, step: Step) -> bool:
    """Whether a stop of this scope holds the step: everything, `plan 7`, `environment x`, changes."""
    if scope == ALL_CHANGES or scope.startswith(CHANGES_IN):
        here = scope in (ALL_CHANGES, f"{CHANGES_IN}{step.environment}")
        return here and (step.changes or step.drafts) and not step.undo
    kind, _, name = scope.partition(" ")
    held = {EVERYTHING: True, "plan": name == str(step.plan_id), "environment": name == step.environment}
    return held.get(kind, True)  # a scope nobody understands stops: the safe reading


# A stop that holds a step. A scope that nobody understands holds everything, the safe reading.
CHANGING = or_(col(Step.changes), col(Step.drafts)) & col(Step.undo).is_(False)
STOPPED = exists().where(
    or_(
        CHANGING & (col(Stop.scope) == ALL_CHANGES),
        CHANGING & (col(Stop.scope) == literal(CHANGES_IN).concat(col(Step.environment))),
        col(Stop.scope) == literal("plan ").concat(cast(col(Step.plan_id), String)),
        col(Stop.scope) == literal("environment ").concat(col(Step.environment)),
        and_(
            *(col(Stop.scope).notlike(known) for known in ("plan %", "environment %", f"{CHANGES_IN}%")),
            col(Stop.scope) != ALL_CHANGES,
        ),
    )
)


NOW: BindParameter[datetime] = bindparam("now", type_=Moment())
PENDING = (
    # Not by an index of states: what is due is read in its order, and no further than there are hands.
    func.coalesce(col(Plan.state), "") == PlanState.approved,
    func.coalesce(col(Step.state), "") == StepState.pending,
    col(Plan.cancelled_by) == "",
    col(Step.due_at) <= NOW,
    or_(col(Step.not_before).is_(None), col(Step.not_before) <= NOW),
    or_(col(Step.start_by).is_(None), col(Step.start_by) >= NOW),
    ~STOPPED,
    ~exists().where(col(Target.name) == col(Step.target)),
)
PERMITTED = or_(col(Step.changes).is_(False), col(Step.undo).is_(True), col(Step.permit_until) > NOW)
