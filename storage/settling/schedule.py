"""What waits for its time: each approved step that has one, soonest first. Nothing moves here."""

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import func, literal, select
from sqlmodel import col

from storage.contract.states import PlanState, StepState
from storage.database.statements import Prepared, table
from storage.database.tables import Plan, Step
from storage.memory import Memory
from storage.settling.frames import CURRENT
from storage.settling.starting import NOW

STEP, PLAN = table(Step), table(Plan)
MOST = 100_000  # that anybody keeps or lists


class Scheduled(NamedTuple):
    """A step that does not start before this time; other steps, people and stops may hold it longer."""

    plan_id: int
    key: str
    at: datetime
    worker: str
    action: str
    channel: str

    @property
    def name(self) -> str:
        """As its job is called: `plan-7:deploy`."""
        return f"plan-{self.plan_id}:{self.key}"


WAITING = Prepared(
    select(STEP.c.plan_id, STEP.c.key, STEP.c.not_before.label("at"), STEP.c.worker, STEP.c.action)
    .add_columns(PLAN.c.channel)
    .join(Plan, CURRENT)
    .where(col(Plan.state) == PlanState.approved, col(Plan.cancelled_by) == "")
    .where(col(Step.state) == StepState.pending, col(Step.not_before) > NOW)
    .order_by(col(Step.not_before), col(Step.id))
    .limit(MOST),
    Scheduled,
)
SOONEST = Prepared(
    select(STEP.c.plan_id, STEP.c.key, STEP.c.due_at.label("at"), STEP.c.worker, STEP.c.action)
    .add_columns(literal("").label("channel"))  # of no use for an alarm, and the plan another row to read
    .where(STEP.c.due_at > NOW)
    .order_by(STEP.c.due_at, STEP.c.id)
    .limit(1),
    Scheduled,
)


def scheduled(memory: Memory) -> list[Scheduled]:
    """All of them, soonest first."""
    with memory.read() as t:
        return WAITING.all(t.connection, now=memory.clock())


def soonest(memory: Memory, after: datetime) -> list[Scheduled]:
    """The next whose time comes, of those that nothing else holds."""
    with memory.read() as t:
        return SOONEST.all(t.connection, now=after)


def stirred(memory: Memory) -> tuple[int, ...]:
    """Figures that become others when an approved plan moves, comes or goes."""
    figures = select(func.count(), func.sum(col(Plan.id)), func.sum(col(Plan.version)))
    with memory.read() as t:
        row = t.execute(figures.where(col(Plan.state) == PlanState.approved)).one()
        return tuple(int(figure or 0) for figure in row)
