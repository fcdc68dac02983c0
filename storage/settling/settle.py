"""What follows from the steps as they are: births, skips, rollbacks, ends. Runs inside a verb."""

from datetime import datetime, timedelta

from sqlalchemy import insert
from sqlmodel import col

from storage.contract.capability import Contract
from storage.contract.spec import StepSpec
from storage.contract.states import BUSY, PlanState, Settlement, StepState, settle, undo_order
from storage.database.statements import table
from storage.database.tables import Capability, Plan, Preview, Step
from storage.errors import Conflict, NotFound
from storage.journal.events import Note
from storage.settling.frames import DUES, Frame, read_frames, record
from storage.transaction import Transaction, Write, of_revision


def settle_plans(t: Transaction, *ids: int) -> None:
    """Do what follows from the steps of these plans as they are now."""
    settle_frames(t, read_frames(t, ids), [])


def settle_frames(
    t: Transaction, frames: dict[int, Frame], notes: list[Note], write: Write = DUES.run
) -> None:
    """The same for plans that are held; each frame stays what the rows say.

    `notes` are what has happened to them so far, and `write` puts it into their rows: both come first,
    should more follow from it.
    """
    for plan_id in [*frames]:
        while plan_id in frames and (next_ := _next(frames[plan_id])):
            write(t.connection)
            write = DUES.run
            record(t, notes, frames)
            _follow(t, frames.pop(plan_id), next_)
            frames |= read_frames(t, [plan_id])
    now, changed = t.clock(), []
    for frame in frames.values():
        for change in frame.changed(now):
            frame.put(change.key, due_at=change.due)
            changed.append(change._asdict())
    write(t.connection, due=changed)


def _follow(t: Transaction, frame: Frame, next_: Settlement) -> None:
    plan_id, data = frame.plan.id, {"reason": next_.reason, "outcome": next_.outcome}
    plan = t.plan(plan_id)
    if next_.verb == "skip":
        skip(t, [s for s in t.steps(plan) if s.key in next_.keys])
    elif next_.verb == "rollback":
        roll_back(t, plan, undo_order(frame.spec, frame.facts), data)
    else:
        if next_.verb != "stall":
            skip_pending(t, plan)
        # The failed step's own message asks the question.
        quiet = next_.verb == "stall"
        t.redraw(plan_id, next_.keys if quiet else ())
        actor = frame.plan.cancelled_by or "rules"
        look = {"look": table(Plan).c.events + 1 if next_.looks else 0}
        t.move(plan_id, next_.verb, actor=actor, data=data, quiet=quiet, **data, **look)


def roll_back(t: Transaction, plan: Plan, undos: list[StepSpec], data: dict[str, str]) -> None:
    """Bear the undo steps; if a worker no longer promises what was approved, a person must decide."""
    skip_pending(t, plan)
    try:
        bear(t, plan, undos, undo=True)
    except (NotFound, Conflict) as error:
        reason = f"the rollback cannot start: {error}"
        t.move(plan.id, "stall", actor="rules", data={"reason": reason}, reason=reason)
    else:
        t.note(plan, "rollback", actor="rules", data=data)


def skip_pending(t: Transaction, plan: Plan) -> None:
    skip(
        t,
        t.rows(
            Step, *of_revision(Step, plan), col(Step.state) == StepState.pending, order=col(Step.position)
        ),
    )


def skip(t: Transaction, steps: list[Step]) -> None:
    for step in steps:
        t.move_step(step, "skip", ended_at=t.clock(), due_at=None)


def _next(frame: Frame) -> Settlement | None:
    if frame.plan.state != PlanState.approved:
        return None
    if not frame.plan.cancelled_by:
        return settle(frame.spec, frame.facts)
    busy = any(fact.state in BUSY for fact in frame.facts.values())
    return None if busy else Settlement("cancel", frame.plan.reason)


def halt(t: Transaction, plan: Plan, user: str, reason: str) -> bool:
    """Nothing of it starts any more; what runs is asked to stop."""
    if plan.cancelled_by:
        raise Conflict(f"<@{plan.cancelled_by}> is cancelling plan {plan.id} already.")
    t.change(plan, cancelled_by=user, reason=t.redact.text(reason))
    t.note(plan, "halt", actor=user, data={"reason": reason})
    return False


def bear(t: Transaction, plan: Plan, specs: list[StepSpec], *, undo: bool) -> None:
    """Make step rows from approved specs; what a worker promised must still be what was approved.

    None is born with a permit: whatever comes between the approval and the start is looked at, however short.
    """
    taken = len(t.steps(plan))
    contracts = [promised(t, spec) for spec in specs]
    bases = {preview.key: preview.basis for preview in t.rows(Preview, *of_revision(Preview, plan))}
    touched: set[str] = set()
    for position, (spec, contract) in enumerate(zip(specs, contracts, strict=True), start=taken):
        until, target = None if undo else spec.schedule.not_after, contract.locks(spec.parameters)
        step = Step(
            plan_id=plan.id, revision=plan.revision, position=position, key=spec.id, undo=undo,
            digest=spec.digest(), worker=contract.worker, action=spec.action, changes=contract.changes,
            drafts=contract.drafts, most_usd=contract.ceiling(spec.parameters) if contract.drafts else 0.0,
            repeat=contract.repeat, timeout=contract.timeout, target=target,
            environment=contract.environment(spec.parameters), state=StepState.pending,
            permit_until=t.clock(),
            basis="" if target in touched else bases.get(spec.id, ""),
            not_before=None if undo else _first(plan.starts_at, spec.schedule.not_before),
            not_after=until, start_by=until and until - timedelta(seconds=contract.timeout),
        )  # fmt: skip
        t.execute(insert(table(Step)), step.model_dump(exclude={"id"}))
        touched |= {target} - {""}  # what an earlier step moves is no surprise to a later one


def _first(*moments: datetime | None) -> datetime | None:
    """A step starts neither before its own time nor before its plan's."""
    return max((moment for moment in moments if moment), default=None)


def promised(t: Transaction, spec: StepSpec) -> Contract:
    found = t.rows(Capability, col(Capability.worker) == spec.worker, col(Capability.action) == spec.action)
    if not found:
        raise NotFound(f"No worker offers {spec.worker}.{spec.action} any more.")
    if found[0].hash != spec.contract:
        raise Conflict(f"{spec.worker}.{spec.action} has changed since this was proposed; please plan again.")
    return Contract.model_validate(found[0].contract)
