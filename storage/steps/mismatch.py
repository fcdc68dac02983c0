"""Whether a stored step is what people approved: looked at by every claim, for itself. Pure."""

from datetime import timedelta

from storage.contract.capability import Contract
from storage.contract.documents import Reading, read_approved, read_spec
from storage.contract.mandate import covers, stands
from storage.contract.spec import StepSpec, UndoSpec
from storage.steps.claims import Taker
from storage.steps.due import Document, WaitingStep


def mismatch(document: Document, step: WaitingStep, taker: Taker) -> str:
    """Why this step is not what people approved, or ""."""
    reading, offer = read_approved(document.spec, document.digest), (step.worker, step.action)
    if reading.digest != document.digest or (document.given < document.needed and not document.broken):
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
    return _beyond(document, reading, wanted, contract) if document.parent else ""


def _beyond(document: Document, reading: Reading, wanted: StepSpec, contract: Contract) -> str:
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


def _as_approved(step: WaitingStep, wanted: StepSpec, contract: Contract) -> bool:
    """Whether the row's own facts are those of the approved step; a delay may only have grown."""
    undo, when = isinstance(wanted, UndoSpec), wanted.schedule
    early = not undo and when.not_before and (step.not_before is None or step.not_before < when.not_before)
    row = (step.undo, step.changes, step.repeat, step.timeout, step.target, step.environment)
    where = (contract.locks(wanted.parameters), contract.environment(wanted.parameters))
    promised = (undo, contract.changes, contract.repeat, contract.timeout, *where)
    until = None if undo else when.not_after
    start_by = until and until - timedelta(seconds=contract.timeout)
    return not early and row == promised and (step.not_after, step.start_by) == (until, start_by)
