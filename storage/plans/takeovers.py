"""A person takes a failed step over: they did it themselves, and their words go on record as its report."""

from typing import Any

from storage.contract.capability import Check
from storage.contract.report import AnyReport, asks
from storage.contract.spec import PlanSpec, holds
from storage.contract.states import PlanState
from storage.database.tables import Plan, Step
from storage.errors import Conflict
from storage.journal.words import report_hash
from storage.memory import Memory
from storage.settling.questions import unanswered
from storage.settling.settle import settle_plans
from storage.transaction import Transaction


def take_over(memory: Memory, plan_id: int, key: str, *, user: str, text: str, data: dict[str, Any]) -> None:
    """Count a failed step as done by this person. Its criteria hold for their data as for a worker's."""
    with memory.write() as t:
        plan = t.touch(plan_id)
        step = _left(t, plan, key)
        if missed := unmet(t.spec(plan), key, data):
            raise Conflict(f"By what you say, the step would still have failed: {missed}.")
        report = memory.redact.data(_by_hand(text, data))
        # Whatever undoes it must know that it has happened, even if no worker ever started it.
        values = {"attempt": max(step.attempt, 1), "report": report, "choice": ""}
        t.move_step(step, "confirm", **values, ended_at=memory.clock())
        told = {"step": key, "choice": "take_over", "text": text, "data": data, "report": report_hash(report)}
        t.move(plan_id, "answer", actor=user, data=told, reason="", look=0)
        t.redraw(plan_id, [key])
        settle_plans(t, plan_id)


def _by_hand(text: str, data: dict[str, Any]) -> dict[str, Any]:
    return AnyReport.ok(f"done by hand: {text}", data).model_dump(mode="json")


def _left(t: Transaction, plan: Plan, key: str) -> Step:
    """The failed step that waits for an answer."""
    if plan.state != PlanState.stalled:
        raise Conflict(t.why_not(plan.id, "taking over"))
    found = next((s for s in unanswered(t.steps(plan)) if s.key == key), None)
    if found is None or asks(found.report):
        raise Conflict(f"Step {key} is not waiting for somebody to take it over.")
    return found


def unmet(spec: PlanSpec, key: str, data: dict[str, Any]) -> str:
    """The first criterion of the step that does not hold for this data, or ""."""
    checks = [check for check in spec.find(key).success_criteria if isinstance(check, Check)]
    missed = (check for check in checks if not holds(check, data))
    return next((f"{check.field} {must(check)}" for check in missed), "")


def must(check: Check) -> str:
    """What a check demands of its field, in words."""
    said = {"eq": "be", "ne": "not be", "lt": "be below", "le": "be at most", "gt": "be above",
            "ge": "be at least", "exists": "be given", "contains": "contain"}  # fmt: skip
    value = {True: "yes", False: "no"}[check.value] if isinstance(check.value, bool) else check.value
    return f"must {said[check.op]}" + ("" if check.op == "exists" else f" {value}")
