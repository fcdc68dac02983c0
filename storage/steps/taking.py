"""Claiming due steps: every check once more, the target's lock, then START; all in the caller's commit."""

import logging
from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Any

from sqlmodel import col

from storage.contract.capability import Check, Contract
from storage.contract.mandate import covers, stands
from storage.contract.report import OUTDATED, AnyReport
from storage.contract.spec import (
    Mandate,
    Reading,
    StepSpec,
    UndoSpec,
    read_approved,
    read_spec,
    reference,
    resolve,
)
from storage.contract.states import StepState
from storage.database.tables import Step
from storage.journal.events import Note
from storage.journal.words import report_hash
from storage.settling.frames import Frame, read_frames, record, reported
from storage.settling.questions import UNSTARTED, unmet
from storage.settling.settle import settle_plans
from storage.settling.targets import LOCK_TARGET
from storage.steps.budget import SPENT, over_budget
from storage.steps.claims import STARTED, Claim, Taker, opened
from storage.steps.due import DueStep
from storage.transaction import Transaction, Write

logger = logging.getLogger(__name__)


def take(
    t: Transaction, waiting: Sequence[DueStep], taker: Taker, frames: dict[int, Frame], notes: list[Note]
) -> list[Claim]:
    """Claim due steps: what was approved must be what is stored, and others must let it start."""
    frames |= read_frames(t, {step.plan_id for step in waiting} - frames.keys())
    documents = {step.plan_id: step for step in waiting if step.spec is not None}
    taken: list[DueStep] = []
    refused: list[tuple[DueStep, str]] = []
    for step in waiting:
        if not _may_start(frames, step):
            continue
        document = documents[step.plan_id]
        if refusal := mismatch(document, step, taker) or _unasked(t, document, step):
            refused.append((step, refusal))
        elif short := over_budget(t, _mandate(document), step, taken):
            refused += [(step, short)] if short is SPENT else []
        elif _lock_target(t, step):
            taken.append(step)
    claims = claims_of(t, taken, frames)
    notes += [Note(step.plan_id, "claim", taker.owner, _started(step)) for step in taken]
    record(t, notes, frames, _begin(t, taken, taker, frames))
    for step, refusal in refused:
        logger.error("ALARM plan=%s step=%s is refused at dispatch: %s", step.plan_id, step.key, refusal)
        known = read_spec(documents[step.plan_id].spec or "").steps.get(step.key)
        outdated = known is not None and refusal == moved(known[0], step, taker)
        fail_unstarted(t, step, refusal, outdated=outdated)
        frames.pop(step.plan_id, None)
    return claims


def _may_start(frames: Mapping[int, Frame], step: DueStep) -> bool:
    """Whether others let a due step start, and nobody ran it after it was found and before it was locked."""
    frame = frames.get(step.plan_id)
    if frame is None or step.key not in frame.free():
        return False
    return frame.steps[step.key].attempt == step.attempt


def _begin(t: Transaction, taken: list[DueStep], taker: Taker, frames: Mapping[int, Frame]) -> Write:
    """Their frames as begun; and how to write that, together with the notes of it."""
    now = t.clock()
    common = {"by": taker.owner, "until": now + taker.lease, "now": now}
    begun = [{"step": row.id, "fence": row.attempt, **common} for row in taken]
    for row in taken:
        frames[row.plan_id].put(
            row.key, state=StepState.running, attempt=row.attempt + 1, owner=taker.owner, due_at=None
        )
    return partial(STARTED.run, begun=begun, attempts=opened(taken, taker.owner, now))


def _started(step: DueStep) -> dict[str, Any]:
    """What the journal tells of a START: which attempt, of which effects, on what."""
    return {"step": step.key, "attempt": step.attempt + 1, "digest": step.digest, "target": step.target}


def fail_unstarted(t: Transaction, step: DueStep | Step, reason: str, *, outdated: bool = False) -> None:
    """A step that may not start fails, and a person is asked."""
    report = AnyReport.failed(f"{UNSTARTED}{reason}", {OUTDATED: True} if outdated else None)
    values: dict[str, Any] = {
        "choice": "ask",
        "report": report.model_dump(mode="json"),
        "ended_at": t.clock(),
    }
    t.move_step(step, "fail", due_at=None, **values)
    data = {"step": step.key, "reason": reason, "report": report_hash(values["report"])}
    t.notes([Note(step.plan_id, "fail", "rules", data)])
    settle_plans(t, step.plan_id)


def _lock_target(t: Transaction, step: DueStep) -> bool:
    row = {"name": step.target, "step_id": step.id, "plan_id": step.plan_id, "since": t.clock()}
    return not step.target or bool(LOCK_TARGET.all(t.connection, **row))


def claims_of(t: Transaction, taken: Sequence[DueStep | Step], frames: Mapping[int, Frame]) -> list[Claim]:
    """What the taker needs to run these; references are resolved by what was reported."""
    wanted = [frames[row.plan_id].spec.find(row.key) for row in taken]
    referring = {r.plan_id for r, spec in zip(taken, wanted, strict=True) if _refers(spec)}
    data = reported(t, referring)
    return [
        Claim(
            step_id=row.id,
            plan_id=row.plan_id,
            key=row.key,
            attempt=row.attempt + 1,
            worker=row.worker,
            action=row.action,
            parameters=resolve(spec.parameters, data.get(row.plan_id, {})),
            previous=_previous(t, row, spec),
            criteria=tuple(check for check in spec.success_criteria if isinstance(check, Check)),
            retries=spec.retries,
            repeat=row.repeat,
            timeout=row.timeout,
            token=f"plan-{row.plan_id}-{row.key}-{row.digest[:12]}",
            basis=row.basis,
        )
        for row, spec in zip(taken, wanted, strict=True)
    ]


def _refers(spec: StepSpec) -> bool:
    return any(map(reference, spec.parameters.values()))


def _previous(t: Transaction, row: DueStep | Step, spec: StepSpec) -> Mapping[str, Any]:
    """What was recorded at START: of this step, or of the one that it undoes."""
    if not isinstance(spec, UndoSpec):
        return dict(row.previous)
    same = (col(Step.plan_id) == row.plan_id, col(Step.revision) == row.revision)
    (undone,) = t.rows(Step, *same, col(Step.key) == spec.undoes)
    return undone.previous


def mismatch(document: DueStep, step: DueStep, taker: Taker) -> str:
    """Why this step is not what people approved, or ""."""
    reading, offer = read_approved(document.spec or "", document.spec_digest), (step.worker, step.action)
    if reading.digest != document.spec_digest or (document.given < document.needed and not document.broken):
        return "the stored plan is not the one that was approved"
    wanted, digest = reading.steps[step.key]
    contract = taker.contracts[offer]
    if digest != step.digest:
        return "the stored step is not the one that was approved"
    if why := moved(wanted, step, taker):
        return why
    if contract.drafts and not document.needed:
        return "it drafts something, and no person was asked"
    if not _as_approved(step, wanted, contract):
        return "the stored step has other facts than those that were approved"
    return _beyond(document, reading, wanted, contract) if document.parent else ""


def moved(wanted: StepSpec, step: DueStep, taker: Taker) -> str:
    """What it rests on that has changed since it was approved, or "": then it can never start as it is."""
    offer = (step.worker, step.action)
    if taker.hashes[offer] != wanted.contract:
        return f"{step.worker}.{step.action} has changed since it was approved"
    if taker.contracts[offer].binding(wanted.parameters) != wanted.binding:
        return "what its names stand for in signoff.toml has changed since it was approved"
    return ""


def _beyond(document: DueStep, reading: Reading, wanted: StepSpec, contract: Contract) -> str:
    """Why the approval of its parent does not cover a step of this revision, or ""."""
    parent = read_spec(document.approved) if document.approved else None
    if parent is None or parent.digest != document.approved_digest:
        return "the plan that it was made from is not the one that was approved"
    if isinstance(wanted, UndoSpec):
        known = parent.steps.get(wanted.id)
        return "" if known and known[1] == wanted.digest() else "nobody approved this rollback"
    if stands(parent.spec, wanted):
        return ""
    if not contract.reads and not document.needed:
        return "it changes something, and no person approved the plan that it was added to"
    before = reading.spec.steps[: [step.id for step in reading.spec.steps].index(wanted.id)]
    added = [step for step in before if not stands(parent.spec, step)]
    return "" if covers(parent.spec, wanted, added, contract) else "the approved mandate does not cover it"


def _mandate(document: DueStep) -> Mandate:
    """What people approved: of this revision, or of the one under whose mandate it was made."""
    return read_spec(document.approved or document.spec or "").spec.mandate


def _unasked(t: Transaction, document: DueStep, step: DueStep) -> str:
    """Why a revision under the mandate is none: it goes on past a question that is open; or ""."""
    if not document.parent or step.undo:
        return ""
    mandate, spec = read_spec(document.approved or "").spec.mandate, read_spec(document.spec or "").spec
    gone = unmet(t, step.plan_id, document.parent, mandate, spec)
    return f"nothing stands in for {gone[0].key}, and nobody was asked" if gone else ""


def _as_approved(step: DueStep, wanted: StepSpec, contract: Contract) -> bool:
    """Whether the row's own facts are those of the approved step; a delay may only have grown."""
    undo, when = isinstance(wanted, UndoSpec), wanted.schedule
    early = not undo and when.not_before and (step.not_before is None or step.not_before < when.not_before)
    row = (step.undo, step.changes, step.drafts, step.repeat, step.timeout, step.target, step.environment)
    where = (contract.locks(wanted.parameters), contract.environment(wanted.parameters))
    promised = (undo, contract.changes, contract.drafts, contract.repeat, contract.timeout, *where)
    until = None if undo else when.not_after
    start_by = until and until - timedelta(seconds=contract.timeout)
    return not early and row == promised and (step.not_after, step.start_by) == (until, start_by)
