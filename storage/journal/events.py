"""What a move leaves behind: its journal event, the thread message it asks for. Statements and values."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from sqlalchemy import bindparam, insert, select, update
from sqlmodel import col

from storage.database.statements import Among, Prepared, Together, binds, table
from storage.database.tables import Event, Message, Plan
from storage.journal.chain import event_hash

# Which thread message a move asks for. Every move redraws the card besides.
THREAD = {
    "amend": "changes",
    "approve": "decision",
    "reject": "decision",
    "withdraw": "decision",
    "expire": "decision",
    "cancel": "decision",
    "succeed": "outcome",
    "fail": "outcome",
    "lose": "question",
    "postpone": "moved",
    "withhold": "waits",
    "outdate": "outdated",
    "overrun": "overrun",
    "stall": "question",
    "decide": "review",
    "finish": "summary",
    "save": "saved",
    "invite": "standing",
}
URGENT = frozenset(
    {
        "propose",
        "amend",
        "approve",
        "reject",
        "withdraw",
        "expire",
        "cancel",
        "stall",
        "finish",
        "lose",
        "preview",
        "halt",
        "overrun",
        "clarify",
        "inform",
        "postpone",
        "outdate",
    }
)
# Whose thread message goes before those that only tell how it goes: somebody is asked, or waits for the end.
FIRST = frozenset(
    {
        "amend",
        "approve",
        "reject",
        "withdraw",
        "expire",
        "cancel",
        "fail",
        "lose",
        "stall",
        "overrun",
        "outdate",
        "finish",
    }
)


class Head(NamedTuple):
    """Where a plan's chain stands, and where its card is."""

    id: int
    channel: str
    version: int
    head: str
    events: int


HEADS = Prepared(
    select(*(table(Plan).c[name] for name in Head._fields)).where(Among(table(Plan).c.id, "ids")), Head
)
SET_HEAD = Prepared(
    update(table(Plan))
    .where(col(Plan.id) == bindparam("plan"))
    .values(head=bindparam("h"), events=bindparam("e"), version=bindparam("v"))
)
ADD_EVENT = Prepared(insert(table(Event)).values(**binds(Event)).inline())
BLANK = Message(key="", kind="", channel="").model_dump(exclude={"id"})
SAID = ("plan_id", "seq", "step", "key", "kind", "channel", "urgent", "not_before")
CARD = col(Message.key) == bindparam("card")
CARDS = Together(
    wanted=Prepared(update(table(Message)).where(CARD).values(wanted=bindparam("v"))),
    hurried=Prepared(
        update(table(Message))
        .where(CARD)
        .values(wanted=bindparam("v"), urgent=True, not_before=bindparam("now"))
    ),
)
NOTED = Together(
    events=ADD_EVENT,
    heads=SET_HEAD,
    said=Prepared(insert(table(Message)).values(**BLANK | {name: bindparam(name) for name in SAID}).inline()),
    **CARDS.parts,
)


@dataclass
class Note:
    """One move, as the journal and the thread tell it. `seq` is its place in the plan's chain."""

    plan: int
    verb: str
    actor: str
    data: Mapping[str, Any]
    quiet: bool = False
    seq: int = 0
    event: dict[str, Any] = field(default_factory=dict)  # its row, once it is linked


class Linked(Protocol):
    """A plan's row, by what its chain needs."""

    @property
    def channel(self) -> str: ...
    @property
    def version(self) -> int: ...
    @property
    def head(self) -> str: ...
    @property
    def events(self) -> int: ...


@dataclass
class Chain:
    """A plan's journal while a transaction appends to it."""

    channel: str
    version: int
    head: str
    events: int

    @classmethod
    def of(cls, plan: Linked) -> "Chain":
        return cls(plan.channel, plan.version, plan.head, plan.events)

    def add(self, note: Note, at: datetime) -> None:
        note.seq = self.events = self.events + 1
        told: dict[str, Any] = {"verb": note.verb, "actor": note.actor, "data": note.data}
        link = told | {"seq": note.seq, "at": at, "prev": self.head}
        self.head = event_hash(plan=note.plan, **link)
        note.event = {"plan_id": note.plan, "hash": self.head, **link}

    def values(self, plan_id: int) -> dict[str, Any]:
        return {"plan": plan_id, "h": self.head, "e": self.events, "v": self.version}


def message(note: Note, channel: str, now: datetime) -> dict[str, Any]:
    """The outbox row of the thread message that a move asks for."""
    kind = THREAD[note.verb]
    about = {"plan_id": note.plan, "seq": note.seq, "step": str(note.data.get("step", ""))}
    where = {"key": f"{kind}:{note.plan}:{note.seq}", "kind": kind, "channel": channel}
    return about | where | {"urgent": goes_first(note), "not_before": now}


def goes_first(note: Note) -> bool:
    """Whether people wait for it: a question, a decision, an end. Of a review, what it must ask."""
    return note.verb in FIRST or (note.verb == "decide" and note.data.get("verb") == "ask")


def cards(
    versions: Mapping[int, int], urgent: Collection[int], now: datetime
) -> dict[str, list[dict[str, Any]]]:
    """These plans' cards at their versions, for CARDS."""
    rows = {plan_id: {"card": f"card:{plan_id}", "v": v, "now": now} for plan_id, v in versions.items()}
    return {
        "wanted": [row for plan_id, row in rows.items() if plan_id not in urgent],
        "hurried": [row for plan_id, row in rows.items() if plan_id in urgent],
    }
