"""The verbs of a question before there is a plan: it stays in planning until the requester has answered."""

from collections.abc import Sequence

from sqlalchemy import Connection, update
from sqlmodel import col

from storage.contract.states import PlanState
from storage.database.tables import Plan
from storage.errors import Conflict
from storage.plans.lifecycle import PlanVerbs
from storage.transaction import rows


class Clarifying(PlanVerbs):
    """to_plan, clarify, inform."""

    def to_plan(self) -> list[int]:
        """Wishes that have no plan yet, and wait for nobody's answer."""
        with self._read() as c:
            ready = (col(Plan.state) == PlanState.planning, col(Plan.form) == "")
            return [plan.id or 0 for plan in rows(c, Plan, *ready, order=col(Plan.id))]

    def clarify(self, plan_id: int, form: str, *, questions: Sequence[str]) -> None:
        """Ask the requester for what is missing; the card has the button to the form."""
        with self._write() as c:
            plan = self._planned(c, plan_id)
            c.execute(update(Plan).where(col(Plan.id) == plan_id).values(form=self.redact.document(form)))
            self._note(c, plan, "clarify", actor="planner", data={"questions": [*questions]})

    def inform(self, plan_id: int, given: str, *, user: str, said: Sequence[str]) -> None:
        """What was missing is known now, and it is planned on."""
        with self._write() as c:
            plan = self._planned(c, plan_id)
            if not plan.form:
                raise Conflict("This question was answered already.")
            values = {"form": "", "given": self.redact.document(given)}
            c.execute(update(Plan).where(col(Plan.id) == plan_id).values(**values))
            self._note(c, plan, "inform", actor=user, data={"said": [*said]})

    def _planned(self, c: Connection, plan_id: int) -> Plan:
        plan = self._touch(c, plan_id)
        if plan.state != PlanState.planning:
            raise Conflict(self._why_not(c, plan_id, "asking"))
        return plan
