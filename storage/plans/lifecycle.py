"""How a plan begins, and how it ends before it is done: request, refuse, stall, cancel."""

from collections.abc import Mapping
from types import MappingProxyType

from sqlalchemy import insert
from sqlmodel import col

from storage.contract.states import PlanState, StepState
from storage.database.tables import Plan
from storage.errors import Conflict
from storage.memory import Memory
from storage.settling.settle import halt, skip_pending
from storage.transaction import Transaction


def request(memory: Memory, text: str, *, team: str, user: str, channel: str, thread: str = "") -> int:
    """Remember a wish; the planner takes it from here."""
    with memory.write() as t:
        return add_request(t, text, team=team, user=user, channel=channel, thread=thread)


def add_request(
    t: Transaction, text: str, *, team: str, user: str, channel: str, thread: str,
    more: Mapping[str, object] = MappingProxyType({}),
) -> int:  # fmt: skip
    plan = Plan(
        state=PlanState.planning, text=t.redact.text(text), team=team, requester=user,
        channel=channel, thread=thread, created_at=t.clock(),
    )  # fmt: skip
    values = plan.model_dump(exclude={"id"})
    plan.id = t.execute(insert(Plan).values(**values).returning(col(Plan.id))).scalar_one()
    t.first_card(plan)
    t.note(plan, "request", actor=user, data={"text": text, "channel": channel, **more})
    return plan.id


def refuse(memory: Memory, plan_id: int, verb: str, *, user: str, reason: str) -> None:
    """Put a refusal on record. The delivery is handled only when the person was answered, too."""
    data = {"verb": verb, "reason": reason}
    with memory.write(handles=False) as t:
        if plan_id:
            t.journal(t.touch(plan_id), "refuse", actor=user, data=data)
        else:
            t.journal_system("refuse", actor=user, data=data)


def stall(memory: Memory, plan_id: int, *, actor: str, reason: str) -> None:
    """Hand the plan to a person: the planner has no valid plan."""
    with memory.write() as t:
        t.move(plan_id, "stall", actor=actor, data={"reason": reason}, reason=reason)


def cancel(memory: Memory, plan_id: int, *, user: str, reason: str) -> bool:
    """End an open plan. False when something of it still runs: that is told to stop, and then it ends."""
    with memory.write() as t:
        plan = t.touch(plan_id)
        steps = {StepState(step.state): step.key for step in t.steps(plan)}
        if StepState.unknown in steps:
            raise Conflict(f"Nobody knows whether step {steps[StepState.unknown]} ran; please say so first.")
        if StepState.running in steps:
            return halt(t, plan, user, reason)
        plan = t.move(plan_id, "cancel", actor=user, data={"reason": reason}, reason=reason)
        skip_pending(t, plan)
        return True
