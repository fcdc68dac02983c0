"""What time does to steps: a window that was missed, and work that outlasts its window."""

from typing import Any

from sqlalchemy import Connection, select, update
from sqlmodel import col

from storage.contract.states import PlanState, StepState
from storage.database.tables import Plan, Step
from storage.settling.settle import CURRENT
from storage.steps.claims import too_late
from storage.steps.due import ROW
from storage.steps.turn import StepVerbs


class Lateness(StepVerbs):
    """miss, overrun."""

    def miss(self) -> None:
        """A step that can no longer end in its approved time never starts: it fails and asks."""
        now = self.clock()
        for row in self._now(StepState.pending, col(Step.start_by) < now):
            with self._write() as c:
                plan, step = self._touch(c, row.plan_id), self._step(c, row.id)
                if plan.state == PlanState.approved and step.state == StepState.pending:
                    self._fail_unstarted(c, plan.id or 0, step, too_late(step, now))

    def overrun(self) -> None:
        """A step that still runs when its approved time ends: said once, and then as was approved."""
        late = (col(Step.not_after) < self.clock(), col(Step.overran).is_(False), col(Step.undo).is_(False))
        for row in self._now(StepState.running, *late):
            with self._write() as c:
                self._overran(c, self._touch(c, row.plan_id), row)

    def _overran(self, c: Connection, plan: Plan, row: Any) -> None:
        same = (col(Step.id) == row.id, col(Step.attempt) == row.attempt, col(Step.overran).is_(False))
        running = update(Step).where(*same, col(Step.state) == StepState.running)
        if not c.execute(running.values(overran=True)).rowcount:
            return
        how = self._spec(c, plan).find(row.key).schedule.overrun
        self._note(c, plan, "overrun", actor="clock", data={"step": row.key, "then": how})
        if how == "stop" and not plan.cancelled_by:
            self._halt(c, plan, "clock", f"{row.key} still ran when its approved time ended")

    def _now(self, state: StepState, *late: Any) -> list[Any]:
        mine = (col(Plan.state) == PlanState.approved, col(Step.state) == state)
        with self._read() as c:
            return [*c.execute(select(*ROW).join(Plan, CURRENT).where(*mine, *late))]
