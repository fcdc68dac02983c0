"""What follows from the steps as they are: births, skips, rollbacks, ends. Runs inside a verb."""

from sqlmodel import col

from storage.contract.spec import StepSpec
from storage.contract.states import BUSY, PlanState, Settlement, StepState, settle, undo_order
from storage.database.statements import table
from storage.database.tables import Plan, Step
from storage.errors import Conflict, NotFound
from storage.journal.events import Note
from storage.settling.births import bear
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
    t.set(plan, cancelled_by=user, reason=t.redact.text(reason))
    t.note(plan, "halt", actor=user, data={"reason": reason})
    return False
