"""A person takes a failed step over: they did it themselves, and their words go on record as its report."""

from typing import Any

from sqlalchemy import Connection
from sqlmodel import col

from storage.contract.capability import Check
from storage.contract.report import AnyReport, asks
from storage.contract.spec import PlanSpec, holds
from storage.contract.states import PlanState, StepState
from storage.database.tables import Event, Plan, Step
from storage.errors import Conflict
from storage.plans.lifecycle import PlanVerbs
from storage.transaction import rows


class TakeOver(PlanVerbs):
    """take_over, answer_to."""

    def take_over(self, plan_id: int, key: str, *, user: str, text: str, data: dict[str, Any]) -> None:
        """Count a failed step as done by this person. Its criteria hold for their data as for a worker's."""
        with self._write() as c:
            plan = self._touch(c, plan_id)
            step = self._left(c, plan, key)
            if missed := unmet(self._spec(c, plan), key, data):
                raise Conflict(f"By what you say, the step would still have failed: {missed}.")
            report = AnyReport.ok(f"done by <@{user}> by hand: {text}", data).model_dump(mode="json")
            # Whatever undoes it must know that it has happened, even if no worker ever started it.
            values = {"attempt": max(step.attempt, 1), "report": self.redact.data(report), "choice": ""}
            self._move_step(c, step, "confirm", **values, ended_at=self.clock())
            told = {"step": key, "choice": "take_over", "text": text, "data": data}
            self._move(c, plan_id, "answer", actor=user, data=told, reason="", look=0)
            self._redraw(c, plan_id, [key])
            self._settle(c, plan_id)

    def _left(self, c: Connection, plan: Plan, key: str) -> Step:
        """The failed step that waits for an answer."""
        if plan.state != PlanState.stalled:
            raise Conflict(self._why_not(c, plan.id or 0, "taking over"))
        found = next((s for s in self._steps(c, plan) if s.key == key), None)
        if found is None or found.state != StepState.failed or asks(found.report):
            raise Conflict(f"Step {key} is not waiting for somebody to take it over.")
        return found

    def answer_to(self, plan_id: int, key: str, seq: int) -> Event | None:
        """What a person answered to what event `seq` told of a step, if they have."""
        mine = (col(Event.plan_id) == plan_id, col(Event.seq) > seq)
        answers = col(Event.verb).in_(["answer", "resolve"])
        with self._read() as c:
            found = rows(c, Event, *mine, answers, order=col(Event.seq))
        return next((event for event in found if event.data.get("step") == key), None)


def unmet(spec: PlanSpec, key: str, data: dict[str, Any]) -> str:
    """The first criterion of the step that does not hold for this data, or ""."""
    checks = [check for check in spec.find(key).success_criteria if isinstance(check, Check)]
    missed = (check for check in checks if not holds(check, data))
    return next((f"{check.field} {must(check)}" for check in missed), "")


def must(check: Check) -> str:
    """What a check demands of its field, in words."""
    said = {"eq": "be", "ne": "not be", "lt": "be below", "le": "be at most", "gt": "be above",
            "ge": "be at least", "exists": "be given", "contains": "contain"}  # fmt: skip
    return f"must {said[check.op]}" + ("" if check.op == "exists" else f" {check.value}")
