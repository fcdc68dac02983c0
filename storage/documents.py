"""Stored plan documents: what they say now, by their text; and those of the steps that are due."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import Select, and_, func, select
from sqlmodel import col

from storage.prepared import table
from storage.spec import PlanSpec, StepSpec
from storage.tables import Approval, Override, Revision

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


@dataclass(frozen=True)
class Reading:
    """What a stored document says now: the plan, its digest, and the digest of each step."""

    spec: PlanSpec
    digest: str
    steps: Mapping[str, tuple[StepSpec, str]]


@lru_cache(maxsize=512)
def read_spec(text: str) -> Reading:
    """Remembered by the text, so an edit is seen."""
    spec = PlanSpec.model_validate_json(text)
    return Reading(spec, spec.digest(), {s.id: (s, s.digest()) for s in (*spec.steps, *spec.rollback)})


def readable(text: str, keys: Iterable[str]) -> PlanSpec | None:
    """What a stored document says, if it can be read and knows the steps that stand beside it."""
    try:
        reading = read_spec(text)
    except ValueError:
        return None
    return reading.spec if reading.steps.keys() >= set(keys) else None
