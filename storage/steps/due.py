"""Which steps may start now, and with them the documents that they were approved in. Statements only."""

from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Select, and_, bindparam, func, select
from sqlmodel import col

from storage.database.statements import Among, Prepared, table
from storage.database.tables import Approval, Override, Plan, Revision, Step
from storage.settling.frames import CURRENT
from storage.settling.starting import PENDING, PERMITTED


class DueStep(NamedTuple):
    """A step that is due; the first one of each plan brings what was approved, as `documented` finds it."""

    id: int
    plan_id: int
    revision: int
    key: str
    undo: bool
    digest: str
    worker: str
    action: str
    changes: bool
    drafts: bool
    most_usd: float
    repeat: str
    timeout: float
    target: str
    environment: str
    attempt: int
    not_before: datetime | None
    not_after: datetime | None
    start_by: datetime | None
    due_at: datetime
    basis: str
    previous: dict[str, Any]
    spec: str | None  # the revision's document; None where another step of the plan has it
    spec_digest: str
    parent: int
    needed: int
    approved: str | None  # the document under whose mandate this one was made
    approved_digest: str | None
    given: int  # approvals of the digest that counts
    broken: int  # overrides of its approvals


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


OFFERED = Among(col(Step.worker).concat(".").concat(col(Step.action)), "offers")
CLAIMED = DueStep._fields[: DueStep._fields.index("spec")]
WAITING = (
    select(*(table(Step).c[name] for name in CLAIMED))
    .join(Plan, CURRENT)
    .where(*PENDING, PERMITTED, OFFERED)
    .order_by(col(Step.due_at), col(Step.id))
    .limit(bindparam("limit"))
)
PEEK = Prepared(WAITING.with_only_columns(col(Step.id)))
DUE = Prepared(documented(WAITING.with_for_update(of=table(Plan), skip_locked=True)), DueStep)
THIS = Prepared(
    documented(WAITING.where(col(Step.id) == bindparam("step")).with_for_update(of=table(Plan))), DueStep
)
