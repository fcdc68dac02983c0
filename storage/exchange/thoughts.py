"""What a planner does just now, for people who wait for it: one row for a plan, shown while it thinks.

It says how far it is and nothing else, so it is not journalled; and who waits only a moment sees nothing.
"""

from datetime import timedelta
from typing import Any

from sqlalchemy import update
from sqlmodel import col

from storage.database.tables import Message
from storage.exchange.outbox import Due
from storage.memory import Memory

KIND = "thinking"
AGAIN = timedelta(seconds=30)  # after which it is looked whether it still holds: a bot may have died over it
SOON = timedelta(seconds=2)  # what is over by then is not told of


def think_aloud(memory: Memory, plan_id: int, text: str, *, channel: str = "", user: str = "") -> None:
    """What the planner of this plan does now; "" when it has done."""
    known = _row(memory, plan_id)
    if known is None:
        if text:
            with memory.write() as t:
                row = Message(key=f"{KIND}:{plan_id}", kind=KIND, channel=channel, user=user, text=text)
                t.queue(row, wait=SOON)
        return
    text = memory.redact.text(text)
    if known.text == text:
        return
    values: dict[str, Any] = {"text": text, "wanted": col(Message.wanted) + 1}
    if not known.text:
        values["not_before"] = memory.clock() + SOON
    with memory.write() as t:
        t.execute(update(Message).where(col(Message.id) == known.id).values(**values))


def thought_of(memory: Memory, plan_id: int) -> str:
    """What it does, once somebody was told; "" when there is nothing to say."""
    known = _row(memory, plan_id)
    return known.text if known and known.shown else ""


def say_on_card(memory: Memory, plan_id: int) -> None:
    """Have the card drawn with it, or without it."""
    with memory.write() as t:
        card = update(Message).where(col(Message.key) == f"card:{plan_id}", col(Message.ts) != "")
        t.execute(card.values(shown=col(Message.wanted) - 1))


def thinks_for(message: Message | Due) -> int:
    """The plan that such a row is about. It is of no plan's thread, so nothing there waits for it."""
    return int(message.key.partition(":")[2])


def _row(memory: Memory, plan_id: int) -> Message | None:
    with memory.read() as t:
        return next(iter(t.rows(Message, col(Message.key) == f"{KIND}:{plan_id}")), None)
