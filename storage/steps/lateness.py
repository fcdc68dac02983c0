"""What time does to steps: a window that was missed, and work that outlasts its window."""

from datetime import datetime

from sqlalchemy import ColumnElement, select, update
from sqlmodel import col

from storage.contract.states import PlanState, StepState
from storage.database.tables import Plan, Step
from storage.memory import Memory
from storage.settling.frames import CURRENT
from storage.settling.questions import PASSED
from storage.settling.settle import halt
from storage.steps.taking import fail_unstarted
from storage.transaction import Transaction


def miss(memory: Memory) -> None:
    """A step that can no longer end in its approved time never starts: it fails and asks."""
    now = memory.clock()
    for found in _now(memory, StepState.pending, col(Step.start_by) < now):
        with memory.write() as t:
            plan, step = t.touch(found.plan_id), t.step(found.id)
            if plan.state == PlanState.approved and step.state == StepState.pending:
                fail_unstarted(t, step, _too_late(step, now))


def overrun(memory: Memory) -> None:
    """A step that still runs when its approved time ends: said once, and then as was approved."""
    late = (col(Step.not_after) < memory.clock(), col(Step.overran).is_(False), col(Step.undo).is_(False))
    for found in _now(memory, StepState.running, *late):
        with memory.write() as t:
            _overran(t, t.touch(found.plan_id), found)


def _overran(t: Transaction, plan: Plan, step: Step) -> None:
    same = (col(Step.id) == step.id, col(Step.attempt) == step.attempt, col(Step.overran).is_(False))
    running = update(Step).where(*same, col(Step.state) == StepState.running)
    if not t.execute(running.values(overran=True)).rowcount:
        return
    how = t.spec(plan).find(step.key).schedule.overrun
    t.note(plan, "overrun", actor="clock", data={"step": step.key, "then": how})
    if how == "stop" and not plan.cancelled_by:
        halt(t, plan, "clock", f"{step.key} still ran when its approved time ended")


def _now(memory: Memory, state: StepState, *late: ColumnElement[bool]) -> list[Step]:
    """The steps of approved plans in that state that are late."""
    mine = (col(Plan.state) == PlanState.approved, col(Step.state) == state)
    with memory.read() as t:
        return t.models(select(Step).join(Plan, CURRENT).where(*mine, *late))


def _too_late(step: Step, now: datetime) -> str:
    if step.not_after and step.not_after < now:
        return PASSED
    return "it could no longer end before its approved time does"
