"""The verbs of a question before there is a plan: it stays in planning until the requester has answered."""

from collections.abc import Sequence

from sqlalchemy import update
from sqlmodel import col

from storage.contract.states import PlanState
from storage.database.tables import Plan
from storage.errors import Conflict
from storage.memory import Memory
from storage.transaction import Transaction


def to_plan(memory: Memory) -> list[int]:
    """Wishes that have no plan yet, and wait for nobody's answer."""
    with memory.read() as t:
        ready = (col(Plan.state) == PlanState.planning, col(Plan.form) == "")
        return [plan.id for plan in t.rows(Plan, *ready, order=col(Plan.id))]


def clarify(memory: Memory, plan_id: int, form: str, *, questions: Sequence[str]) -> None:
    """Ask the requester for what is missing; the card has the button to the form."""
    with memory.write() as t:
        plan = _planned(t, plan_id)
        t.execute(update(Plan).where(col(Plan.id) == plan_id).values(form=memory.redact.document(form)))
        t.note(plan, "clarify", actor="planner", data={"questions": [*questions]})


def inform(memory: Memory, plan_id: int, given: str, *, user: str, said: Sequence[str]) -> None:
    """What was missing is known now, and it is planned on."""
    with memory.write() as t:
        plan = _planned(t, plan_id)
        if not plan.form:
            raise Conflict("This question was answered already.")
        values = {"form": "", "given": memory.redact.document(given)}
        t.execute(update(Plan).where(col(Plan.id) == plan_id).values(**values))
        t.note(plan, "inform", actor=user, data={"said": [*said]})


def _planned(t: Transaction, plan_id: int) -> Plan:
    plan = t.touch(plan_id)
    if plan.state != PlanState.planning:
        raise Conflict(t.why_not(plan_id, "asking"))
    return plan
