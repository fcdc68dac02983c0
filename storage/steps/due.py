"""Which steps may start now, and with them the documents that they were approved in. Statements only."""

from datetime import datetime
from typing import Any

from sqlalchemy import BindParameter, Select, and_, bindparam, exists, func, or_, select
from sqlmodel import col

from storage.contract.states import PlanState, StepState
from storage.database.statements import Among, Prepared, table
from storage.database.tables import Approval, Moment, Override, Plan, Revision, Step, Target
from storage.safeguards.stops import STOPPED
from storage.settling.settle import CURRENT

REVISION = table(Revision)
PARENT = REVISION.alias("parent")  # whose approval counts, for a revision that was made under its mandate
DIGEST = func.coalesce(PARENT.c.digest, REVISION.c.digest)
GIVEN = (
    select(func.count())
    .where(
        col(Approval.plan_id) == REVISION.c.plan_id,
        col(Approval.revision) == func.coalesce(PARENT.c.number, REVISION.c.number),
        col(Approval.digest) == DIGEST,
    )
    .scalar_subquery()
)
BROKEN = (
    select(func.count())
    .where(
        col(Override.plan_id) == REVISION.c.plan_id,
        col(Override.digest) == DIGEST,
        col(Override.confirmed_at).is_not(None),
        col(Override.parts).contains("approvals"),
    )
    .scalar_subquery()
)


def documented(steps: Select[Any]) -> Select[Any]:
    """These steps in their order; the first one of each plan brings the document that was approved."""
    due = steps.cte("due")
    firsts = select(func.min(due.c.id)).group_by(due.c.plan_id)
    its = and_(REVISION.c.plan_id == due.c.plan_id, REVISION.c.number == due.c.revision, due.c.id.in_(firsts))
    return (
        select(
            *due.c,
            REVISION.c.spec,
            REVISION.c.digest.label("spec_digest"),
            REVISION.c.parent,
            func.coalesce(PARENT.c.needed, REVISION.c.needed).label("needed"),
            PARENT.c.spec.label("approved"),
            PARENT.c.digest.label("approved_digest"),
            GIVEN.label("given"),
            BROKEN.label("broken"),
        )
        .select_from(due)
        .outerjoin(REVISION, its)
        .outerjoin(PARENT, and_(PARENT.c.plan_id == due.c.plan_id, PARENT.c.number == REVISION.c.parent))
        .order_by(due.c.due_at, due.c.id)
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
OFFERED = Among(col(Step.worker).concat(".").concat(col(Step.action)), "offers")
ROW = tuple(column for column in table(Step).c if column.name != "report")
CLAIMED = (
    "id", "plan_id", "revision", "key", "undo", "digest", "worker", "action", "changes", "repeat", "timeout",
    "target", "environment", "attempt", "not_before", "not_after", "start_by", "due_at", "basis", "previous",
)  # fmt: skip
WAITING = (
    select(*(table(Step).c[name] for name in CLAIMED))
    .join(Plan, CURRENT)
    .where(*PENDING, PERMITTED, OFFERED)
    .order_by(col(Step.due_at), col(Step.id))
    .limit(bindparam("limit"))
)
PEEK = Prepared(WAITING)
DUE = Prepared(documented(WAITING.with_for_update(of=table(Plan), skip_locked=True)))
THIS = Prepared(documented(WAITING.where(col(Step.id) == bindparam("step")).with_for_update(of=table(Plan))))
UNPERMITTED = Prepared(
    select(*ROW)
    .join(Plan, CURRENT)
    .where(
        *PENDING,
        col(Step.changes).is_(True),
        col(Step.undo).is_(False),
        col(Step.permit_until) <= NOW,
    )
)
