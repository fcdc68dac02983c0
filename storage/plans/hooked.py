"""What a hook's call leads to, in one commit: the matter is counted, a plan asked for, its end told."""

from dataclasses import dataclass

from sqlmodel import col

from storage.database.tables import Alarm, Message
from storage.exchange.alarms import Said, Sounding, becomes, keep_call, sound
from storage.exchange.asks import Asker
from storage.memory import Memory
from storage.plans.lifecycle import add_request


@dataclass(frozen=True)
class Wanted:
    """The plan that a call asks for."""

    text: str
    user: str
    channel: str
    given: str
    asker: Asker


def hook_called(
    memory: Memory, said: Said, matter: Sounding | None = None, *, wanted: Wanted | None = None,
    tried: bool = False, told: str = "",
) -> int:  # fmt: skip
    """The plan that came of it, or 0. `tried`: it was to become one; `told`: for the thread of its plan."""
    with memory.write() as t:
        if matter:
            sound(t, matter)
        plan_id = 0
        if wanted:
            plan_id = add_request(
                t, wanted.text, team=said.team, user=wanted.user, channel=wanted.channel, thread="",
                asker=wanted.asker, given=wanted.given,
            )  # fmt: skip
        if matter and (wanted or tried):
            becomes(t, matter, plan_id)
        known = t.rows(Alarm, *matter.mine()) if matter else []
        plan_id = known[0].plan_id if known else 0
        if told and plan_id:
            key = f"over:{known[0].id}:{known[0].planned_at.isoformat()}"
            if not t.rows(Message, col(Message.key) == key):
                channel = t.plan(plan_id).channel
                t.queue(Message(key=key, kind="over", plan_id=plan_id, channel=channel, text=told))
        keep_call(t, said, plan_id)
        return plan_id
