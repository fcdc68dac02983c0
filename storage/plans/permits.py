"""Permits: the bot's fresh leave to run one changing step, and why there is none."""

from collections.abc import Mapping
from datetime import timedelta
from types import MappingProxyType
from typing import Any

from sqlalchemy import select
from sqlmodel import col

from storage.database.tables import Plan, Step
from storage.memory import Memory
from storage.settling.frames import CURRENT
from storage.settling.starting import NOW, PENDING

PERMIT = timedelta(seconds=60)
UNPERMITTED = (
    select(Step)
    .join(Plan, CURRENT)
    .where(
        *PENDING,
        col(Step.changes).is_(True),
        col(Step.undo).is_(False),
        col(Step.permit_until) <= NOW,
    )
)


def permit(
    memory: Memory, step_id: int, *, actor: str, checked: Mapping[str, Any] = MappingProxyType({})
) -> None:
    """The bot's fresh leave to run one changing step; what was looked at goes on record."""
    with memory.write() as t:
        step = t.step(step_id)
        plan, until = t.touch(step.plan_id), memory.clock() + PERMIT
        t.change_step(step, permit_until=until, withheld="")
        t.journal(plan, "permit", actor=actor, data={"step": step.key, **checked})


def withhold(memory: Memory, step_id: int, reason: str, *, actor: str) -> None:
    """No permit now: the step waits, and card and thread say why. The same reason is said once."""
    with memory.read() as t:
        if t.step(step_id).withheld == reason:
            return  # a commit would wake every listener, and ours would ask Slack again
    with memory.write() as t:
        step = t.step(step_id)
        plan = t.touch(step.plan_id)
        t.change_step(step, withheld=memory.redact.text(reason))
        t.note(plan, "withhold", actor=actor, data={"step": step.key, "reason": reason})


def unpermitted(memory: Memory) -> list[Step]:
    """Changing steps that could start but for a permit."""
    with memory.read() as t:
        return t.models(UNPERMITTED, now=memory.clock())
