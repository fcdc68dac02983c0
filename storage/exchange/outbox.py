"""The outbox: what Slack shall show, who goes first, and what it shows by now."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from sqlalchemy import Select, case, exists, func, or_, select, update
from sqlalchemy.exc import IntegrityError
from sqlmodel import col

from storage.database.statements import table
from storage.database.tables import Message
from storage.memory import Memory

EACH = 100  # messages to one place in one round of the outbox


def in_turn(now: datetime) -> Select[Any]:
    """Which messages may go now, with who goes first; of each place only as many as a round can use.

    A thread keeps its order: nothing overtakes a first post that must wait, and what is urgent takes the
    earlier words of its plan along.
    """
    m, first = table(Message), table(Message).alias()
    posts = (first.c.ts == "", first.c.kind != "card", first.c.wanted > first.c.shown)
    waits = exists().where(
        *posts, first.c.plan_id == m.c.plan_id, first.c.id < m.c.id, first.c.not_before > now
    )
    free = or_(m.c.plan_id == 0, m.c.kind == "card", ~waits)
    urgent = case((m.c.urgent, 1), else_=0)
    hurry = case((m.c.plan_id == 0, urgent), else_=func.max(urgent).over(partition_by=m.c.plan_id))
    due = select(m.c.id, m.c.channel, m.c.user, hurry.label("hurry"))
    going = due.where(m.c.wanted > m.c.shown, m.c.not_before <= now, free).subquery()
    order = (going.c.hurry.desc(), going.c.id)
    place = func.row_number().over(partition_by=(going.c.channel, going.c.user), order_by=order)
    ranked = select(going.c.id, going.c.hurry, place.label("place")).subquery()
    near = select(m).join(ranked, ranked.c.id == m.c.id).where(ranked.c.place <= EACH)
    return near.order_by(ranked.c.hurry.desc(), m.c.id)


def whisper(
    memory: Memory, key: str, *, channel: str, user: str, text: str, thread: str = "", plan_id: int = 0
) -> None:
    """Answer one person alone; said once per key. With a plan, its Edit button goes with it."""
    about = Message(key=key, kind="whisper", plan_id=plan_id, channel=channel, user=user, text=text)
    about.ts, about.urgent = thread, True
    _once(memory, about)


def tell(memory: Memory, key: str, *, user: str, text: str) -> None:
    """Write to one person directly; said once per key."""
    _once(memory, Message(key=key, kind="tell", channel="", user=user, text=text))


def say(memory: Memory, key: str, *, channel: str, text: str) -> None:
    """Say something in a channel that is about no plan; said once per key."""
    _once(memory, Message(key=key, kind="say", channel=channel, text=text))


def told(memory: Memory, keys: Iterable[str]) -> set[str]:
    """Which of these were put into the outbox already."""
    with memory.read() as t:
        return {*t.execute(select(col(Message.key)).where(col(Message.key).in_([*keys]))).scalars()}


def react(memory: Memory, channel: str, ts: str, name: str) -> None:
    """Put an emoji at somebody's message, once: it was heard."""
    _once(memory, Message(key=f"react:{channel}:{ts}", kind="react", channel=channel, ts=ts, text=name))


def attach(memory: Memory, key: str, *, plan_id: int, channel: str, step: str = "", text: str = "") -> None:
    """A file for a plan's thread: the path `text` of a step's log, or the timeline; once per key."""
    _once(memory, Message(key=key, kind="file", plan_id=plan_id, channel=channel, step=step, text=text))


def open_home(memory: Memory, user: str, channel: str) -> None:
    """Somebody looks at their home tab: from now on it is kept up to date."""
    _once(memory, Message(key=f"home:{user}", kind="home", channel=channel, user=user, urgent=True))
    redraw_homes(memory, [user], urgent=True)


def redraw_homes(memory: Memory, users: Iterable[str], *, urgent: bool = False) -> None:
    """The home tabs of these people are out of date, if they ever looked at them."""
    known = told(memory, [f"home:{user}" for user in users])
    if not known:
        return
    hurry = {"urgent": True, "not_before": memory.clock()} if urgent else {}
    with memory.write() as t:
        theirs = update(Message).where(col(Message.key).in_(known))
        t.execute(theirs.values(wanted=col(Message.wanted) + 1, **hurry))


def _once(memory: Memory, row: Message) -> None:
    try:
        with memory.write() as t:
            t.queue(row)
    except IntegrityError:
        return


def unsent(memory: Memory) -> list[Message]:
    """Messages that Slack does not show as wanted, and may be sent now: urgent ones first."""
    with memory.read() as t:
        return t.models(select(Message).from_statement(in_turn(memory.clock())))


def sending(memory: Memory, message: Message) -> None:
    """About to call Slack: after a crash, this row is looked up before it is posted again."""
    with memory.write() as t:
        one = update(Message).where(col(Message.id) == message.id)
        t.execute(one.values(sending=message.wanted, tries=col(Message.tries) + 1))


def note_shown(memory: Memory, message: Message, ts: str, *, next_at: datetime, problem: str = "") -> None:
    """Slack shows this version now."""
    with memory.write() as t:
        values = {"shown": message.wanted, "sending": 0, "tries": 0, "ts": ts, "problem": problem}
        t.execute(update(Message).where(col(Message.id) == message.id).values(**values))
        # What became urgent while this was being sent must not wait for the pause.
        calm = or_(col(Message.wanted) == message.wanted, col(Message.urgent).is_(False))
        pause = update(Message).where(col(Message.id) == message.id, calm)
        t.execute(pause.values(not_before=next_at, urgent=False))


def card_of(memory: Memory, plan_id: int) -> Message | None:
    """The row of a plan's card."""
    with memory.read() as t:
        return next(iter(t.rows(Message, col(Message.key) == f"card:{plan_id}")), None)


def forget(memory: Memory, message: Message) -> None:
    """The message was deleted in Slack: post it anew."""
    with memory.write() as t:
        t.execute(update(Message).where(col(Message.id) == message.id).values(ts="", sending=0, shown=0))


def put_off(memory: Memory, message: Message, until: datetime, *, problem: str, refused: bool) -> None:
    """Slack did not take it now. Unless it refused, it may have: it is looked for before the next try."""
    values: dict[str, Any] = {"not_before": until, "problem": problem}
    if refused:
        values["sending"] = 0
    with memory.write() as t:
        t.execute(update(Message).where(col(Message.id) == message.id).values(**values))
