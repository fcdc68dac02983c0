"""Claims: leave to run one attempt, and how it ends. Documents and pure functions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from sqlalchemy import and_, bindparam, func, insert, update
from sqlmodel import col

from storage.contract.capability import Check, Contract
from storage.contract.report import AnyReport
from storage.contract.spec import Retries
from storage.contract.states import STEP_MOVES, StepState
from storage.database.statements import Prepared, Together, table
from storage.database.tables import Attempt, Step
from storage.journal.events import NOTED, Note
from storage.journal.words import report_hash
from storage.settling.frames import PLANS, SET_DUE, Frame
from storage.settling.starting import NOW
from storage.settling.targets import FREE_TARGET
from storage.transaction import Fenced, Transaction

Offer = tuple[str, str]  # worker, action


@dataclass(frozen=True)
class Claim:
    """Leave to run one attempt. Whoever holds it must renew it, and report with its number."""

    step_id: int
    plan_id: int
    key: str
    attempt: int
    worker: str
    action: str
    parameters: Mapping[str, Any]
    previous: Mapping[str, Any]
    criteria: tuple[Check, ...]
    retries: Retries
    repeat: str
    timeout: float
    token: str  # idempotency key: the same for every attempt of the step
    basis: str = ""  # what must not have moved since people saw the preview


@dataclass(frozen=True)
class Ending:
    """How one attempt ended: succeed, fail, retry after a wait in seconds, or cancel."""

    claim: Claim
    verb: str
    report: AnyReport
    wait: float = 0.0
    choice: str = ""  # "ask": a person decides, whatever was approved for a failure

    @cached_property
    def body(self) -> dict[str, Any]:
        return self.report.model_dump(mode="json")


@dataclass(frozen=True)
class Taker:
    """Who takes steps: its name, what it can do as it stands today, and for how long it answers."""

    owner: str
    contracts: Mapping[Offer, Contract]
    lease: timedelta

    @cached_property
    def offers(self) -> list[str]:
        return [*map(".".join, self.contracts)]

    @cached_property
    def hashes(self) -> dict[Offer, str]:
        return {offer: contract.hash() for offer, contract in self.contracts.items()}


def still_held(frames: Mapping[int, Frame], claim: Claim) -> bool:
    """Whether the attempt still holds its step."""
    frame = frames.get(claim.plan_id)
    step = frame.steps.get(claim.key) if frame else None
    if step is None or step.attempt != claim.attempt:
        return False
    # Whoever lost an unsafe step has no say any more; whoever probes it has.
    return step.state == StepState.running or (step.state == StepState.unknown and bool(step.owner))


def as_wanted(frames: Mapping[int, Frame], ending: Ending) -> Ending:
    """What did not succeed in a plan that people are ending counts as cancelled: nobody asks further."""
    frame = frames[ending.claim.plan_id]
    running = frame.steps[ending.claim.key].state == StepState.running
    cancelled = frame.plan.cancelled_by and running and ending.verb != "succeed"
    return replace(ending, verb="cancel", wait=0.0) if cancelled else ending


def end_values(ending: Ending, not_before: datetime | None, now: datetime) -> dict[str, Any]:
    again = ending.verb == "retry"
    return {
        "step": ending.claim.step_id,
        "fence": ending.claim.attempt,
        "after": STEP_MOVES[ending.verb][1].value,
        "how": ending.verb,
        "choice": ending.choice,
        "body": ending.body,
        "at": None if again else now,  # the step goes on
        "closed": now,  # the attempt does not
        "later": now + timedelta(seconds=ending.wait) if again else not_before,
        "due": None,
    }


def ended(ending: Ending, actor: str) -> Note:
    claim = ending.claim
    data = {"step": claim.key, "attempt": claim.attempt, "summary": ending.report.summary}
    data["report"] = report_hash(ending.body)
    return Note(claim.plan_id, ending.verb, actor, data | ({"asks": True} if ending.choice else {}))


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
    .values(outcome=bindparam("how"), report=bindparam("body"), ended_at=bindparam("closed"))
)
# Last, the plans: locked, and as whoever ends attempts believes them to be, or all of it is for nothing.
CLOSED = Together(last=PLANS, ends=END, attempts=CLOSE_ATTEMPT, targets=FREE_TARGET, due=SET_DUE)
STARTED = Together(begun=BEGIN, attempts=OPEN_ATTEMPT, **NOTED.parts)


def opened(taken: Sequence[Fenced], owner: str, now: datetime) -> list[dict[str, Any]]:
    """Their next attempts, for OPEN_ATTEMPT."""
    return [{"step": row.id, "number": row.attempt + 1, "by": owner, "now": now} for row in taken]


def close_attempt(t: Transaction, step: Step, outcome: str, report: dict[str, Any] | None) -> None:
    how = {"how": outcome, "body": report, "closed": t.clock()}
    CLOSE_ATTEMPT.run(t.connection, step=step.id, fence=step.attempt, **how)
