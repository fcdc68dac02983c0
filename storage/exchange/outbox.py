"""The outbox: what Slack shall show, who goes first, and what it shows by now."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import Select, and_, bindparam, case, exists, func, literal, or_, select, update
from sqlalchemy.exc import IntegrityError
from sqlmodel import col

from storage.database.models import Models
from storage.database.statements import Among, Prepared, table
from storage.database.tables import Delivery, Event, Message, Plan
from storage.errors import HandledElsewhere
from storage.memory import Memory

ANSWER = "answer:"  # begins the key of the answer to a delivery
EACH = 160  # messages to one place in one round of the outbox
LONGEST = timedelta(minutes=10)  # no wait is that long: who waits longer was told so by another clock
PATIENT = 3  # failures after which a message no longer holds up the rest of its thread
KNOWN = Prepared(select(col(Message.key).label("value")).where(Among(table(Message).c.key, "keys")))
KEYED = Models(Message, col(Message.key) == bindparam("key"))
ASKING = ("question", "outcome", "review", "overrun")  # kinds that ask somebody, when they are urgent


def in_turn(now: datetime) -> Select[Any]:
    """Which messages may go now, with who goes first; of each place only as many as a round can use.

    Questions, then decisions and ends, then the rest; and in each of them the requesters take turns. A thread
    keeps its order: what goes first takes the earlier words of its plan along, and nothing overtakes a first
    post that must wait, unless that has failed so often that it holds up the others.
    """
    m, plan, first = table(Message), table(Plan), table(Message).alias()
    posts = (
        first.c.ts == "",
        first.c.kind != "card",
        first.c.wanted > first.c.shown,
        first.c.tries < PATIENT,
    )
    waits = exists().where(
        *posts, first.c.plan_id == m.c.plan_id, first.c.id < m.c.id, first.c.not_before > now
    )
    free = or_(m.c.plan_id == 0, m.c.kind == "card", ~waits)
    rank = case((m.c.urgent & m.c.kind.in_(ASKING), 2), (m.c.urgent, 1), else_=0)
    after = func.max(rank).over(partition_by=m.c.plan_id, order_by=m.c.id, rows=(0, None))
    hurry = case((m.c.plan_id == 0, rank), else_=after).label("hurry")
    whose = func.coalesce(plan.c.requester, m.c.user).label("whose")
    due = select(m.c.id, m.c.channel, m.c.user, hurry, whose).outerjoin(plan, plan.c.id == m.c.plan_id)
    come = or_(m.c.not_before <= now, m.c.not_before > now + LONGEST)
    going = due.where(m.c.wanted > m.c.shown, come, free).subquery()
    turn = func.row_number().over(partition_by=(going.c.hurry, going.c.whose), order_by=going.c.id)
    turns = select(going, turn.label("turn")).subquery()
    order = (turns.c.hurry.desc(), turns.c.turn, turns.c.id)
    place = func.row_number().over(partition_by=(turns.c.channel, turns.c.user), order_by=order)
    ranked = select(turns, place.label("place")).subquery()
    near = (ranked.c.id, ranked.c.hurry, ranked.c.turn, ranked.c.whose)
    return select(*near).where(ranked.c.place <= EACH)


def whisper(
    memory: Memory, key: str, *, channel: str, user: str, text: str, thread: str = "", plan_id: int = 0
) -> None:
    """Answer one person alone; said once per key. With a plan, its Edit button goes with it."""
    about = Message(key=key, kind="whisper", plan_id=plan_id, channel=channel, user=user, text=text)
    about.ts, about.urgent = thread, True
    _once(memory, about)


def let_in(memory: Memory, visit: str, *, channel: str, user: str) -> None:
    """Hand one person the link or token of a visit: its words are made when it is sent, and kept nowhere."""
    _once(
        memory,
        Message(key=f"enter:{visit}", kind="enter", channel=channel, user=user, text=visit, urgent=True),
    )


def choose(
    memory: Memory, key: str, *, channel: str, user: str, text: str, choices: Sequence[tuple[str, str]],
    thread: str = "", plan_id: int = 0,
) -> None:  # fmt: skip
    """Ask one person alone, with answers as buttons: (label, words); once per key."""
    said = json.dumps({"text": memory.redact.text(text), "choices": [*choices]}, ensure_ascii=False)
    row = Message(key=key, kind="choose", plan_id=plan_id, channel=channel, user=user, text=said)
    row.ts, row.urgent = thread, True
    _once(memory, row)


def tell(memory: Memory, key: str, *, user: str, text: str) -> None:
    """Write to one person directly; said once per key."""
    _once(memory, Message(key=key, kind="tell", channel="", user=user, text=text))


def say(memory: Memory, key: str, *, channel: str, text: str) -> None:
    """Say something in a channel that is about no plan; said once per key."""
    _once(memory, Message(key=key, kind="say", channel=channel, text=text))


def told(memory: Memory, keys: Iterable[str]) -> set[str]:
    """Which of these were put into the outbox already."""
    with memory.read() as t:
        return {one.value for one in KNOWN.all(t.connection, keys=[*keys])}


def answered_alone(memory: Memory, user: str, since: datetime) -> list[str]:
    """What this person was answered alone to what they said since then."""
    theirs = (col(Message.user) == user, col(Delivery.received_at) >= since)
    said = select(col(Message.text)).join(Delivery, col(Message.key) == literal(ANSWER) + col(Delivery.key))
    with memory.read() as t:
        return [*t.execute(said.where(*theirs)).scalars()]


def react(memory: Memory, channel: str, ts: str, name: str, *, plan_id: int = 0) -> None:
    """Put an emoji at somebody's message, once: it was heard. With a plan, until there is one to see."""
    row = Message(key=f"react:{channel}:{ts}", kind="react", channel=channel, ts=ts, text=name)
    row.plan_id = plan_id
    _once(memory, row)


def unreact(memory: Memory, plan_id: int) -> None:
    """Take our emoji off the message that asked for this plan: the answer is there."""
    with memory.read() as t:
        found = t.rows(Message, col(Message.plan_id) == plan_id, col(Message.kind) == "react")
    for row in found:
        off = Message(key=f"unreact:{row.channel}:{row.ts}", kind="unreact", channel=row.channel)
        off.ts, off.text, off.plan_id = row.ts, row.text, plan_id
        _once(memory, off)


def attach(memory: Memory, key: str, *, plan_id: int, channel: str, step: str = "", text: str = "") -> None:
    """A file for a plan's thread: the path `text` of a step's log, or the timeline; once per key."""
    _once(memory, Message(key=key, kind="file", plan_id=plan_id, channel=channel, step=step, text=text))


def call(memory: Memory, key: str, *, plan_id: int, channel: str, text: str) -> None:
    """Call groups to a plan, in its thread; once per key."""
    _once(memory, Message(key=key, kind="call", plan_id=plan_id, channel=channel, text=text))


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
        theirs = update(table(Message)).where(col(Message.key).in_(known))
        t.execute(theirs.values(wanted=col(Message.wanted) + 1, **hurry))


def _once(memory: Memory, row: Message) -> None:
    try:
        with memory.write() as t:
            t.queue(row)
    except IntegrityError:
        return


def unsent(memory: Memory) -> list[Message]:
    """Messages that Slack does not show as wanted, and may be sent now, as they go."""
    ids = [turn.message.id for turn in in_line(memory, {})]
    rows = still_stale(memory, ids)
    return [rows[one] for one in ids if one in rows]


class Due(NamedTuple):
    """A message that may go now, by what says when and with which others it goes."""

    id: int
    plan_id: int
    key: str
    kind: str
    channel: str
    user: str
    ts: str
    step: str
    urgent: bool
    sending: int
    tries: int
    not_before: datetime
    problem: str


class Turn(NamedTuple):
    """A message that may go now, whose it is, and whether somebody waits for it or for what comes behind."""

    whose: str
    message: Due
    urged: bool


AMONG = (Among(table(Message).c.id, "ids"), col(Message.wanted) > col(Message.shown))
DUE = Prepared(select(*(table(Message).c[name] for name in Due._fields)).where(*AMONG), Due)
STALE = Models(Message, *AMONG)


def in_line(memory: Memory, served: Mapping[str, float]) -> list[Turn]:
    """The same, each with whose it is. Who was served longest ago goes first among those of equal haste."""
    with memory.read() as t:
        found = [*t.execute(in_turn(memory.clock()))]
        rows = {one.id: one for one in DUE.all(t.connection, ids=[one.id for one in found])}
    found.sort(key=lambda one: (-one.hurry, one.turn, served.get(one.whose, 0.0), one.id))
    return [Turn(one.whose, rows[one.id], one.hurry > 0) for one in found if one.id in rows]


def still_due(memory: Memory, ids: Iterable[int]) -> dict[int, Due]:
    """Those of these messages that Slack does not show as wanted, as they are now."""
    with memory.read() as t:
        return {one.id: one for one in DUE.all(t.connection, ids=[*ids])}


def still_stale(memory: Memory, ids: Iterable[int]) -> dict[int, Message]:
    """The same with all that is known of them: for those that are sent now."""
    with memory.read() as t:
        return {row.id: row for row in STALE.all(t.connection, ids=[*ids])}


def sending(memory: Memory, message: Message) -> None:
    """About to call Slack: after a crash, this row is looked up before it is posted again.

    HandledElsewhere when another bot went on with it meanwhile.
    """
    same = (col(Message.shown) == message.shown, col(Message.sending) == message.sending)
    with memory.write() as t:
        one = update(Message).where(col(Message.id) == message.id, *same)
        if not t.execute(one.values(sending=message.wanted)).rowcount:
            raise HandledElsewhere(f"Message {message.key} was sent by another bot meanwhile.")


def note_shown(
    memory: Memory, message: Message, ts: str, *, next_at: datetime, problem: str = "",
    also: Sequence[int] = (), again_at: datetime | None = None,
) -> None:  # fmt: skip
    """Slack shows this version now; and those whose lines went with it.

    At `again_at` it has grown old by itself, as a countdown does.
    """
    with memory.write() as t:
        values = {"shown": message.wanted, "sending": 0, "tries": 0, "ts": ts, "problem": problem}
        values |= {"again_at": again_at}
        t.execute(update(Message).where(col(Message.id) == message.id).values(**values))
        # What became urgent while this was being sent must not wait for the pause.
        calm = or_(col(Message.wanted) == message.wanted, col(Message.urgent).is_(False))
        pause = update(Message).where(col(Message.id) == message.id, calm)
        t.execute(pause.values(not_before=next_at, urgent=False))
        if also:
            went = update(Message).where(col(Message.id).in_(also))
            t.execute(went.values(shown=col(Message.wanted), ts=ts))


def hasten(memory: Memory) -> None:
    """What waits by a clock that was put back may go now."""
    waits = (col(Message.wanted) > col(Message.shown), col(Message.not_before) > memory.clock())
    with memory.write() as t:
        t.execute(update(Message).where(*waits).values(not_before=memory.clock()))


def stands(memory: Memory, plan_id: int, channel: str, ts: str) -> bool | None:
    """Whether this message is one of ours about that plan; None while one of them is on its way there."""
    mine = (col(Message.plan_id) == plan_id, col(Message.channel) == channel)
    # What is said to one person alone has no place that we know, but in their direct messages.
    aside = col(Message.kind).in_(["whisper", "react", "unreact"])
    seen = or_(~aside, col(Message.channel).startswith("D"))
    with memory.read() as t:
        rows = t.rows(Message, *mine, seen) if plan_id and ts else []
    if any(row.ts == ts for row in rows):
        return True
    return None if any(row.sending and not row.ts for row in rows) else False


def redraw_due(memory: Memory) -> None:
    """Have drawn anew what has grown old by itself; a card's `wanted` is its plan's version, and stays."""
    old = col(Message.again_at) <= memory.clock()
    with memory.read() as t:
        if not t.execute(select(col(Message.id)).where(old).limit(1)).first():
            return
    with memory.write() as t:
        t.execute(update(Message).where(old).values(shown=col(Message.wanted) - 1, again_at=None))


def card_of(memory: Memory, plan_id: int) -> Message | None:
    """The row of a plan's card."""
    with memory.read() as t:
        return KEYED.first(t.connection, key=f"card:{plan_id}")


def lines(memory: Memory, plan_id: int) -> list[Message]:
    """What a plan's thread was told of steps that went well, in its order; several may share a message."""
    well = exists().where(
        col(Event.plan_id) == plan_id, col(Event.seq) == col(Message.seq), col(Event.verb) == "succeed"
    )
    mine = (col(Message.plan_id) == plan_id, col(Message.kind) == "outcome", well)
    with memory.read() as t:
        return t.rows(Message, *mine, order=col(Message.id))


def forget(memory: Memory, message: Message) -> None:
    """The message was deleted in Slack: post it anew, with all whose lines stood in it."""
    same = (col(Message.plan_id) == message.plan_id, col(Message.kind) == message.kind)
    shared = and_(*same, col(Message.ts) == message.ts, col(Message.ts) != "")
    mine = or_(col(Message.id) == message.id, shared)
    with memory.write() as t:
        t.execute(update(Message).where(mine).values(ts="", sending=0, shown=0))


def put_off(memory: Memory, message: Message, until: datetime, *, problem: str, refused: bool) -> None:
    """Slack did not take it now. Unless it refused, it may have: it is looked for before the next try."""
    values: dict[str, Any] = {"not_before": until, "problem": problem, "tries": col(Message.tries) + 1}
    if refused:
        values["sending"] = 0
    with memory.write() as t:
        t.execute(update(Message).where(col(Message.id) == message.id).values(**values))
