"""Claims: leave to run one attempt, what it demands, and how it ends. Statements and pure functions."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from sqlalchemy import and_, bindparam, delete, func, update
from sqlalchemy.dialects.postgresql import insert  # SQLite knows its ON CONFLICT, too
from sqlmodel import col

from storage.contract.capability import Check, Contract
from storage.contract.documents import Reading, read_approved, read_spec
from storage.contract.mandate import covers, stands
from storage.contract.report import AnyReport
from storage.contract.spec import Retries, StepSpec, UndoSpec, reference
from storage.contract.states import STEP_MOVES, StepState
from storage.database.statements import Prepared, Together, binds, table
from storage.database.tables import Attempt, Step, Target
from storage.journal.events import NOTED, Note
from storage.settling.settle import PLANS, SET_DUE, Frame
from storage.steps.due import NOW

Offer = tuple[str, str]  # worker, action

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
LOCK_TARGET = Prepared(
    insert(table(Target)).values(**binds(Target)).on_conflict_do_nothing().returning(col(Target.name))
)
FREE_TARGET = Prepared(delete(table(Target)).where(col(Target.step_id) == bindparam("step")))
CLOSE_ATTEMPT = Prepared(
    update(table(Attempt))
    .where(col(Attempt.step_id) == bindparam("step"), col(Attempt.number) == bindparam("fence"))
    .values(outcome=bindparam("how"), report=bindparam("body"), ended_at=bindparam("at"))
)
# Last, the plans: locked, and as whoever ends attempts believes them to be, or all of it is for nothing.
CLOSED = Together(last=PLANS, ends=END, attempts=CLOSE_ATTEMPT, targets=FREE_TARGET, due=SET_DUE)
STARTED = Together(begun=BEGIN, attempts=OPEN_ATTEMPT, **NOTED.parts)


class Touched(Exception):
    """Somebody has touched a plan since this process left it: what it knows of it is no longer true."""


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
        return [f"{worker}.{action}" for worker, action in self.contracts]

    @cached_property
    def hashes(self) -> dict[Offer, str]:
        return {offer: contract.hash() for offer, contract in self.contracts.items()}


def mismatch(document: Any, step: Any, taker: Taker) -> str:
    """Why this step is not what people approved, or ""."""
    reading, offer = read_approved(document.spec, document.spec_digest), (step.worker, step.action)
    if reading.digest != document.spec_digest or (document.given < document.needed and not document.broken):
        return "the stored plan is not the one that was approved"
    wanted, digest = reading.steps[step.key]
    contract = taker.contracts[offer]
    if digest != step.digest:
        return "the stored step is not the one that was approved"
    if taker.hashes[offer] != wanted.contract:
        return f"{step.worker}.{step.action} has changed since it was approved"
    if not _as_approved(step, wanted, contract):
        return "the stored step has other facts than those that were approved"
    if contract.binding(wanted.parameters) != wanted.binding:
        return "what its names stand for in signoff.toml has changed since it was approved"
    return beyond(document, reading, wanted, contract) if document.parent else ""


def beyond(document: Any, reading: Reading, wanted: StepSpec, contract: Contract) -> str:
    """Why the approval of its parent does not cover a step of this revision, or ""."""
    parent = read_spec(document.approved) if document.approved else None
    if parent is None or parent.digest != document.approved_digest:
        return "the plan that it was made from is not the one that was approved"
    if isinstance(wanted, UndoSpec):
        known = parent.steps.get(wanted.id)
        return "" if known and known[1] == wanted.digest() else "nobody approved this rollback"
    if stands(parent.spec, wanted):
        return ""
    if contract.changes and not document.needed:
        return "it changes something, and no person approved the plan that it was added to"
    before = reading.spec.steps[: [step.id for step in reading.spec.steps].index(wanted.id)]
    added = [step for step in before if not stands(parent.spec, step)]
    return "" if covers(parent.spec, wanted, added, contract) else "the approved mandate does not cover it"


def still_held(frames: Mapping[int, Frame], claim: Claim) -> bool:
    """Whether the attempt still holds its step."""
    frame = frames.get(claim.plan_id)
    step = frame.steps.get(claim.key) if frame else None
    if step is None or step.attempt != claim.attempt:
        return False
    # Whoever lost an unsafe step has no say any more; whoever probes it has.
    return step.state == StepState.running or (step.state == StepState.unknown and bool(step.owner))


def may_start(frames: Mapping[int, Frame], row: Any) -> bool:
    """Whether others let a due step start, and nobody ran it after it was found and before it was locked."""
    frame = frames.get(row.plan_id)
    if frame is None or row.key not in frame.free():
        return False
    return bool(frame.steps[row.key].attempt == row.attempt)


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
        "at": None if again else now,
        "later": now + timedelta(seconds=ending.wait) if again else not_before,
        "due": None,
    }


def started(row: Any) -> dict[str, Any]:
    """What the journal tells of a START: which attempt, of which effects, on what."""
    return {"step": row.key, "attempt": row.attempt + 1, "digest": row.digest, "target": row.target}


def ended(ending: Ending, actor: str) -> Note:
    claim = ending.claim
    data = {"step": claim.key, "attempt": claim.attempt, "summary": ending.report.summary}
    data["report"] = report_hash(ending.body)
    return Note(claim.plan_id, ending.verb, actor, data | ({"asks": True} if ending.choice else {}))


def report_hash(body: Mapping[str, Any]) -> str:
    """Names the whole report, of which the journal tells the summary. Not every report is canonical JSON."""
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def opened(taken: Sequence[Any], owner: str, now: datetime) -> list[dict[str, Any]]:
    """Their next attempts, for OPEN_ATTEMPT."""
    return [{"step": row.id, "number": row.attempt + 1, "by": owner, "now": now} for row in taken]


def refers(spec: StepSpec) -> bool:
    return any(reference(value) for value in spec.parameters.values())


def too_late(step: Step, now: datetime) -> str:
    if step.not_after and step.not_after < now:
        return "its approved time has passed"
    return "it could no longer end before its approved time does"


def _as_approved(step: Step, wanted: StepSpec, contract: Contract) -> bool:
    """Whether the row's own facts are those of the approved step; a delay may only have grown."""
    undo, when = isinstance(wanted, UndoSpec), wanted.schedule
    early = not undo and when.not_before and (step.not_before is None or step.not_before < when.not_before)
    row = (step.undo, step.changes, step.repeat, step.timeout, step.target, step.environment)
    where = (contract.locks(wanted.parameters), contract.environment(wanted.parameters))
    promised = (undo, contract.changes, contract.repeat, contract.timeout, *where)
    until = None if undo else when.not_after
    start_by = until and until - timedelta(seconds=contract.timeout)
    return not early and row == promised and (step.not_after, step.start_by) == (until, start_by)
