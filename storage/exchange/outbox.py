"""What lies on the desk between the processes: deliveries, capabilities, signs of life, and the outbox."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from statistics import median
from typing import Any, cast

from sqlalchemy import Select, case, exists, func, insert, or_, select, update
from sqlalchemy.exc import IntegrityError
from sqlmodel import col

from storage.contract.capability import Contract
from storage.contract.states import StepState
from storage.database.statements import table
from storage.database.tables import Capability, Delivery, Message, Process, Step
from storage.exchange.deliveries import Letters
from storage.transaction import rows

THOUGHT = "revise"  # a delivery that a planner must think about, and nobody else may wait for
EACH = 100  # messages to one place in one round of the outbox
FRESH = timedelta(seconds=30)  # a process that has not been seen for longer counts as gone


HISTORY = 300  # steps that went well, of which durations are learnt
WENT_WELL = (
    col(Step.state) == StepState.succeeded,
    col(Step.started_at).is_not(None),
    col(Step.ended_at).is_not(None),
)


def _usual(contract: Contract, took: list[float]) -> Contract:
    """The contract with what its action usually took, once it ran three times; no approval relies on that."""
    return contract.model_copy(update={"typical": median(took)}) if len(took) > 2 else contract


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


class Desk(Letters):
    """deliver, handled / publish, alive / whisper, tell, say, attach, open_home / unsent, note_shown."""

    def unhandled(self, *, thought: bool = False) -> list[Delivery]:
        """Deliveries that nobody has handled, in the order they came: those to think about, or the others."""
        kind = col(Delivery.kind) == THOUGHT if thought else col(Delivery.kind) != THOUGHT
        with self._read() as c:
            return rows(c, Delivery, col(Delivery.handled_at).is_(None), kind, order=col(Delivery.id))

    def handled(self, key: str) -> None:
        """Make sure that a delivery counts as handled, where nothing had to be written for it."""
        with self._read() as c:
            if not rows(c, Delivery, col(Delivery.key) == key, col(Delivery.handled_at).is_(None)):
                return
        with self.handling(key), self._write():
            pass

    def publish(self, contracts: Iterable[Contract]) -> None:
        """Say what this workers process can do. An action it no longer offers grows stale by itself."""
        with self._write() as c:
            for contract in contracts:
                one = (col(Capability.worker) == contract.worker, col(Capability.action) == contract.action)
                body = contract.model_dump(mode="json")
                values = {"contract": body, "hash": contract.hash(), "seen_at": self.clock()}
                if not c.execute(update(Capability).where(*one).values(**values)).rowcount:
                    key = {"worker": contract.worker, "action": contract.action}
                    c.execute(insert(Capability).values(**key, **values))

    def contracts(self) -> list[Contract]:
        """Everything any worker has published; how long it takes, by what it took lately."""
        with self._read() as c:
            found = [Contract.model_validate(row.contract) for row in rows(c, Capability)]
            lately = rows(c, Step, *WENT_WELL, order=col(Step.id).desc(), limit=HISTORY) if found else []
        took: dict[tuple[str, str], list[float]] = {}
        for step in lately:
            seconds = (step.ended_at - step.started_at).total_seconds()  # type: ignore[operator] # they ended
            took.setdefault((step.worker, step.action), []).append(seconds)
        return [_usual(contract, took.get((contract.worker, contract.action), [])) for contract in found]

    def alive(self, name: str, kind: str, release: str) -> None:
        """A sign of life of one process."""
        now = self.clock()
        with self._write() as c:
            values = {"kind": kind, "release": release, "seen_at": now}
            if not c.execute(update(Process).where(col(Process.name) == name).values(**values)).rowcount:
                c.execute(insert(Process).values(name=name, started_at=now, **values))

    def processes(self, kind: str) -> list[Process]:
        """The processes of that kind that were seen lately."""
        with self._read() as c:
            lately = col(Process.seen_at) > self.clock() - FRESH
            return rows(c, Process, col(Process.kind) == kind, lately)

    def whisper(
        self, key: str, *, channel: str, user: str, text: str, thread: str = "", plan_id: int = 0
    ) -> None:
        """Answer one person alone; said once per key. With a plan, its Edit button goes with it."""
        about = Message(key=key, kind="whisper", plan_id=plan_id, channel=channel, user=user, text=text)
        about.ts, about.urgent = thread, True
        self._once(about)

    def tell(self, key: str, *, user: str, text: str) -> None:
        """Write to one person directly; said once per key."""
        self._once(Message(key=key, kind="tell", channel="", user=user, text=text))

    def say(self, key: str, *, channel: str, text: str) -> None:
        """Say something in a channel that is about no plan; said once per key."""
        self._once(Message(key=key, kind="say", channel=channel, text=text))

    def told(self, keys: Iterable[str]) -> set[str]:
        """Which of these were put into the outbox already."""
        with self._read() as c:
            return {row.key for row in rows(c, Message, col(Message.key).in_([*keys]))}

    def react(self, channel: str, ts: str, name: str) -> None:
        """Put an emoji at somebody's message, once: it was heard."""
        self._once(Message(key=f"react:{channel}:{ts}", kind="react", channel=channel, ts=ts, text=name))

    def attach(self, key: str, *, plan_id: int, channel: str, step: str = "", text: str = "") -> None:
        """A file for a plan's thread: the path `text` of a step's log, or the timeline; once per key."""
        self._once(Message(key=key, kind="file", plan_id=plan_id, channel=channel, step=step, text=text))

    def open_home(self, user: str, channel: str) -> None:
        """Somebody looks at their home tab: from now on it is kept up to date."""
        self._once(Message(key=f"home:{user}", kind="home", channel=channel, user=user, urgent=True))
        self.redraw_homes([user], urgent=True)

    def redraw_homes(self, users: Iterable[str], *, urgent: bool = False) -> None:
        """The home tabs of these people are out of date, if they ever looked at them."""
        known = self.told(f"home:{user}" for user in users)
        if not known:
            return
        hurry = {"urgent": True, "not_before": self.clock()} if urgent else {}
        with self._write(handles=False) as c:
            theirs = update(Message).where(col(Message.key).in_(known))
            c.execute(theirs.values(wanted=col(Message.wanted) + 1, **hurry))

    def _once(self, row: Message) -> None:
        try:
            with self._write() as c:
                self._queue(c, row)
        except IntegrityError:
            return

    def unsent(self) -> list[Message]:
        """Messages that Slack does not show as wanted, and may be sent now: urgent ones first."""
        with self._read() as c:
            return cast(list[Message], c.execute(in_turn(self.clock())).all())

    def sending(self, message: Message) -> None:
        """About to call Slack: after a crash, this row is looked up before it is posted again."""
        with self._write() as c:
            one = update(Message).where(col(Message.id) == message.id)
            c.execute(one.values(sending=message.wanted, tries=col(Message.tries) + 1))

    def note_shown(self, message: Message, ts: str, *, next_at: datetime, problem: str = "") -> None:
        """Slack shows this version now."""
        with self._write() as c:
            values = {"shown": message.wanted, "sending": 0, "tries": 0, "ts": ts, "problem": problem}
            c.execute(update(Message).where(col(Message.id) == message.id).values(**values))
            # What became urgent while this was being sent must not wait for the pause.
            calm = or_(col(Message.wanted) == message.wanted, col(Message.urgent).is_(False))
            pause = update(Message).where(col(Message.id) == message.id, calm)
            c.execute(pause.values(not_before=next_at, urgent=False))

    def card_of(self, plan_id: int) -> Message | None:
        """The row of a plan's card."""
        with self._read() as c:
            return next(iter(rows(c, Message, col(Message.key) == f"card:{plan_id}")), None)

    def forget(self, message: Message) -> None:
        """The message was deleted in Slack: post it anew."""
        with self._write() as c:
            c.execute(update(Message).where(col(Message.id) == message.id).values(ts="", sending=0, shown=0))

    def put_off(self, message: Message, until: datetime, *, problem: str, refused: bool) -> None:
        """Slack did not take it now. Unless it refused, it may have: it is looked for before the next try."""
        values: dict[str, Any] = {"not_before": until, "problem": problem}
        if refused:
            values["sending"] = 0
        with self._write() as c:
            c.execute(update(Message).where(col(Message.id) == message.id).values(**values))
