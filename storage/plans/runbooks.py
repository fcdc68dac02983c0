"""A plan that went well is kept as a runbook: who did it, and what the runbook says, are on record."""

from storage.contract.states import PlanState
from storage.database.tables import Message
from storage.errors import Conflict
from storage.memory import Memory


def save(memory: Memory, plan_id: int, name: str, text: str, *, user: str, kept: bool) -> None:
    """Tell the thread of a runbook made from this plan; not `kept` in a folder, it is attached."""
    with memory.write() as t:
        plan = t.touch(plan_id)
        if (plan.state, plan.outcome) != (PlanState.done, "succeeded"):
            raise Conflict("Only a plan that went well becomes a runbook.")
        seq, data = plan.events + 1, {"name": name, "text": text, "kept": kept}
        t.note(plan, "save", actor=user, data=data)
        if not kept:
            key = f"runbook:{plan_id}:{seq}"
            t.queue(Message(plan_id=plan_id, key=key, kind="file", channel=plan.channel, seq=seq))


def bring_in(memory: Memory, name: str, text: str, *, user: str) -> None:
    """A runbook that somebody sent is on record: who brought it in, and what it says."""
    with memory.write() as t:
        t.journal_system("import", actor=user, data={"name": name, "text": text})
