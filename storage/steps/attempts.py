"""The rows of attempts: how START and end are written, in as few statements as there can be."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import and_, bindparam, func, insert, update
from sqlmodel import col

from storage.contract.states import StepState
from storage.database.statements import Prepared, Together, table
from storage.database.tables import Attempt, Step
from storage.journal.events import NOTED
from storage.settling.frames import PLANS, SET_DUE
from storage.settling.starting import NOW
from storage.settling.targets import FREE_TARGET
from storage.transaction import Fenced, Transaction

FENCE = and_(col(Step.id) == bindparam("step"), col(Step.attempt) == bindparam("fence"))
END = Prepared(
    update(table(Step))
    .where(FENCE)
    .values(
        state=bindparam("after"), report=bindparam("body"), ended_at=bindparam("at"),
        not_before=bindparam("later"), choice=bindparam("choice"), owner="", lease_until=None,
        probing=False, due_at=bindparam("due"), progress="",
    )
)  # fmt: skip
BEGIN = Prepared(
    update(table(Step))
    .where(FENCE, col(Step.state) == StepState.pending)
    .values(
        state=StepState.running, attempt=col(Step.attempt) + 1, owner=bindparam("by"),
        lease_until=bindparam("until"), started_at=func.coalesce(col(Step.started_at), NOW), due_at=None,
    )
)  # fmt: skip
OPEN_ATTEMPT = Prepared(
    insert(table(Attempt)).values(
        step_id=bindparam("step"), number=bindparam("number"), owner=bindparam("by"), outcome="",
        started_at=NOW,
    ).inline()
)  # fmt: skip
CLOSE_ATTEMPT = Prepared(
    update(table(Attempt))
    .where(col(Attempt.step_id) == bindparam("step"), col(Attempt.number) == bindparam("fence"))
    .values(outcome=bindparam("how"), report=bindparam("body"), ended_at=bindparam("at"))
)
# Last, the plans: locked, and as whoever ends attempts believes them to be, or all of it is for nothing.
CLOSED = Together(last=PLANS, ends=END, attempts=CLOSE_ATTEMPT, targets=FREE_TARGET, due=SET_DUE)
STARTED = Together(begun=BEGIN, attempts=OPEN_ATTEMPT, **NOTED.parts)


def opened(taken: Sequence[Fenced], owner: str, now: datetime) -> list[dict[str, Any]]:
    """Their next attempts, for OPEN_ATTEMPT."""
    return [{"step": row.id, "number": row.attempt + 1, "by": owner, "now": now} for row in taken]


def close_attempt(t: Transaction, step: Step, outcome: str, report: dict[str, Any] | None) -> None:
    how = {"how": outcome, "body": report, "at": t.clock()}
    CLOSE_ATTEMPT.run(t.connection, step=step.id, fence=step.attempt, **how)
