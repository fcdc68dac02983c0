"""The rows. Made and moved only in `storage`; cards, planner and terminal read views."""

import json
from datetime import UTC, date, datetime
from typing import Any

from sqlalchemy import JSON, Dialect, Index, UniqueConstraint, false, text
from sqlalchemy.types import DateTime, String, Text, TypeDecorator
from sqlmodel import Field, SQLModel

from storage.contract.states import PlanState, StepState
from storage.database.packed import Digest, Document, Paper


class Moment(TypeDecorator[datetime]):
    """An instant: aware and in UTC in Python, whatever the database keeps."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return value.astimezone(UTC) if value else None

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return value.replace(tzinfo=UTC) if value and value.tzinfo is None else value


class Lines(TypeDecorator[list[str]]):
    """A few sentences, kept as JSON in a text: PostgreSQL compares no JSON, and a default is compared."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: list[str] | None, dialect: Dialect) -> str | None:
        return None if value is None else json.dumps(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> list[str] | None:
        return None if value is None else json.loads(value)


STALE = text("wanted > shown")
LOOSE = text("away = 0")
DUE = text("due_at IS NOT NULL")
AGEING = text("again_at IS NOT NULL")
UNHANDLED = text("handled_at IS NULL")
TROUBLE = ("fail", "retry", "lose")  # the events of attempts that did not succeed
TROUBLED = text("verb IN ('fail', 'retry', 'lose')")
USUAL = (
    "claim",
    "succeed",
    "permit",
    "preview",
)  # the events that every step has: no index finds them sooner
RARE: Any = text("verb NOT IN ('claim', 'succeed', 'permit', 'preview')")  # said so in a query, or not used
RUNG = text("rung != ''")


def moment(**options: Any) -> Any:
    return Field(sa_type=Moment, **options)


def numbered() -> Any:
    """A number that the database gives: rows that were read have it, and a row to be written has none."""
    return Field(default=None, primary_key=True)


def zero() -> Any:
    return Field(default=0, sa_column_kwargs={"server_default": text("0")})


def prose() -> Any:
    return Field(default="", sa_type=Text, sa_column_kwargs={"server_default": text("''")})


def empty() -> Any:
    return Field(default="", sa_column_kwargs={"server_default": text("''")})


def listed() -> Any:
    return Field(default_factory=list, sa_type=Lines, sa_column_kwargs={"server_default": text("'[]'")})


class Plan(SQLModel, table=True):
    """One wish and where it stands."""

    __table_args__ = (Index("ix_plan_loose", "id", sqlite_where=LOOSE, postgresql_where=LOOSE),)

    id: int = numbered()
    state: PlanState = Field(sa_type=String, index=True)
    version: int = 1  # grows with every move; the card shows one version
    revision: int = 0  # the current revision's number
    text: str = Field(sa_type=Text)  # the wish, as said
    team: str
    requester: str
    channel: str
    thread: str = ""  # where the request was made, when in a thread
    outcome: str = ""
    reason: str = Field(default="", sa_type=Text)  # why it is where it is
    cancelled_by: str = empty()  # who wants it ended, while a step of it still runs
    form: str = prose()  # what the requester is asked before there can be a plan; "" when nothing
    given: str = prose()  # what they have answered
    look: int = zero()  # the event that the review has yet to answer; 0 when none waits for it
    outdated: list[str] = listed()  # what has changed since its revision was made, in people's words
    ahead: list[str] = listed()  # the freezes that would hold it
    starts_at: datetime | None = Field(default=None, sa_type=Moment)  # nothing of it starts before that
    starts_zone: str = empty()  # in which that is said
    machine: str = empty()  # what asked in the requester's name, as in token:ci or hook:alerts; "" for them
    private: bool = Field(default=False, sa_column_kwargs={"server_default": false()})  # answers one person
    behind: list[str] = listed()  # authors besides the requester, from the beginning: whom a machine names
    head: str = ""  # hash of the newest journal event
    events: int = 0
    away: int = zero()  # 1: it has ended, and its rows were put away; -1: its journal does not hold, so not
    created_at: datetime = moment()


class Revision(SQLModel, table=True):
    """A numbered, frozen document, and what policy asked for it."""

    plan_id: int = Field(foreign_key="plan.id", primary_key=True)
    number: int = Field(primary_key=True)
    parent: int = zero()  # the approved revision whose mandate it was made under; 0 when approved itself
    postpones: int = zero()  # the approved revision that it only moves later, and whose approvals it keeps
    spec: str = Field(sa_type=Paper)
    digest: str
    author: str
    note: str = Field(default="", sa_type=Text)
    notes: list[str] = listed()  # how the wish was read, and what of it was not used
    risk: str
    reasons: list[str] = Field(sa_type=JSON)
    needed: int
    approvers: list[str] = Field(sa_type=JSON)
    authors: list[str] = Field(sa_type=JSON)  # may not approve
    policy: str  # version of the policy that asked
    seconds: float  # estimated duration
    changes: list[str] = Field(sa_type=JSON)  # difference to the revision before, in words
    demands: str = Field(
        default="", sa_type=Paper, sa_column_kwargs={"server_default": text("''")}
    )  # what the rules of policy ask for it, as JSON
    lost: list[str] = listed()  # what its changes relied on, and do without since somebody left it out
    lengthy: bool = Field(default=False, sa_column_kwargs={"server_default": text("false")})  # for a card
    made_at: datetime = moment()
    expires_at: datetime = moment()


class Approval(SQLModel, table=True):
    """One person's yes to one digest."""

    __table_args__ = (UniqueConstraint("plan_id", "revision", "team", "user"),)

    id: int = numbered()
    plan_id: int = Field(foreign_key="plan.id", index=True)
    revision: int
    digest: str
    team: str
    user: str
    policy: str
    shown: str = empty()  # hash of the previews that stood on the card
    held: str = prose()  # who they were then: their own id, and those of the groups that policy names
    factor: str = empty()  # the second factor that was shown with it: code, signature, or none
    earlier: str = empty()  # the digest that they said yes to, where this one only moves it later
    at: datetime = moment()


class Preview(SQLModel, table=True):
    """What one step would do, as its worker says: made for people before they approve. Never a Step."""

    plan_id: int = Field(foreign_key="plan.id", primary_key=True)
    revision: int = Field(primary_key=True)
    key: str = Field(primary_key=True)
    worker: str
    action: str
    state: str = Field(default="wanted", index=True)  # wanted, made, failed
    text: str = Field(default="", sa_type=Text)
    basis: str = ""  # hash of what it rests on, "" for nothing
    found: list[str] | None = Field(
        default=None, sa_type=JSON
    )  # verdicts for the card; bad ones begin with “!”
    was: str = empty()  # what is there now, in a word or two
    at: datetime = moment()


class PlanningRead(SQLModel, table=True):
    """What the planner looks at before it plans: a read of a worker. Never a Step, nor a preview."""

    plan_id: int = Field(foreign_key="plan.id", primary_key=True)
    number: int = Field(primary_key=True)
    worker: str
    action: str
    parameters: dict[str, Any] = Field(sa_type=JSON)
    state: str = Field(default="wanted", index=True)  # wanted, made, failed
    summary: str = prose()
    data: dict[str, Any] | None = Field(default=None, sa_type=JSON)
    asked_at: datetime = moment()
    at: datetime | None = Field(default=None, sa_type=Moment)


class Shown(SQLModel, table=True):
    """A plan that has no room on its card, and the file with all of it that Slack has taken."""

    plan_id: int = Field(foreign_key="plan.id", primary_key=True)
    revision: int = Field(primary_key=True)
    digest: str
    content: str  # SHA-256 of the file's bytes
    file: str  # Slack's id of it
    at: datetime = moment()


class Workspace(SQLModel, table=True):
    """What a workspace's Slack has refused: how plainly it is spoken to, and since when."""

    team: str = Field(primary_key=True)
    plainness: int
    since: datetime = moment()


class Step(SQLModel, table=True):
    """One approved step. Exists only because its revision was approved."""

    __table_args__ = (
        UniqueConstraint("plan_id", "revision", "key"),
        Index("ix_step_due", "state", "not_before"),
        Index("ix_step_due_at", "due_at", "id", sqlite_where=DUE, postgresql_where=DUE),
        Index("ix_step_of_action", "worker", "action", "id"),
        # As `is_(True)` is said to each of them.
        Index(
            "ix_step_drafts", "id", sqlite_where=text("drafts IS 1"), postgresql_where=text("drafts IS true")
        ),
    )

    id: int = numbered()
    plan_id: int = Field(foreign_key="plan.id")
    revision: int
    position: int
    key: str
    undo: bool = False
    digest: str
    worker: str
    action: str
    changes: bool
    repeat: str
    timeout: float
    target: str = ""
    environment: str = empty()
    state: StepState = Field(sa_type=String)
    choice: str = ""
    attempt: int = 0
    not_before: datetime | None = moment(default=None)
    not_after: datetime | None = moment(default=None)
    start_by: datetime | None = moment(default=None)  # later, it could not end before `not_after`
    due_at: datetime | None = moment(default=None)  # None while others keep it from starting
    permit_until: datetime | None = moment(default=None)
    withheld: str = prose()
    owner: str = ""
    lease_until: datetime | None = moment(default=None)
    basis: str = empty()  # what its preview rested on, until the first attempt has found it unchanged
    progress: str = empty()  # how far a running attempt is, in its own words
    drafts: bool = Field(default=False, sa_column_kwargs={"server_default": text("false")})
    most_usd: float = Field(default=0.0, sa_column_kwargs={"server_default": text("0")})  # of one attempt
    overran: bool = Field(default=False, sa_column_kwargs={"server_default": text("false")})  # its time
    probing: bool = False  # an interrupted attempt waits for its probe
    previous: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)
    report: dict[str, Any] | None = Field(default=None, sa_type=Document)
    started_at: datetime | None = moment(default=None)
    ended_at: datetime | None = moment(default=None)


class Attempt(SQLModel, table=True):
    """One try of a step: START is this row, committed before the effect."""

    step_id: int = Field(foreign_key="step.id", primary_key=True)
    number: int = Field(primary_key=True)
    owner: str
    outcome: str = ""
    report: dict[str, Any] | None = Field(default=None, sa_type=JSON)
    late: dict[str, Any] | None = Field(default=None, sa_type=JSON)  # kept as evidence, changes nothing
    started_at: datetime = moment()
    ended_at: datetime | None = moment(default=None)


class Target(SQLModel, table=True):
    """A lock: what a running or unknown step touches."""

    name: str = Field(primary_key=True)
    step_id: int = Field(foreign_key="step.id", index=True)
    plan_id: int
    since: datetime = moment()


class Recurring(SQLModel, table=True):
    """A wish that recurs: at which times of which zone, and when next."""

    id: int = numbered()
    state: str  # active, paused, removed
    text: str = Field(sa_type=Text)
    said: str  # how often, in the person's words
    cron: str
    zone: str
    team: str
    user: str  # who asked, and so the requester of each run
    channel: str
    next_at: datetime | None = moment(default=None, index=True)  # None while it is paused
    offered: int = zero()  # the plan in whose thread a standing approval was offered, once
    made_at: datetime = moment()


class Occurrence(SQLModel, table=True):
    """One run per recurring plan, local date and, if it comes several times a day, local hour."""

    recurring_id: int = Field(foreign_key="recurring.id", primary_key=True)
    day: date = Field(primary_key=True)
    hour: int = Field(default=0, primary_key=True)  # 0 for what comes once a day
    plan_id: int = Field(default=0, index=True)  # 0: it was missed


class Standing(SQLModel, table=True):
    """One person's yes to several runs of one digest, at one cadence."""

    recurring_id: int = Field(foreign_key="recurring.id", primary_key=True)
    user: str = Field(primary_key=True)
    team: str
    digest: str
    cron: str
    zone: str
    runs_left: int
    until: datetime = moment()
    policy: str
    at: datetime = moment()


class Stop(SQLModel, table=True):
    """The kill switch, by scope."""

    scope: str = Field(primary_key=True)
    reason: str = Field(sa_type=Text)
    by: str
    since: datetime = moment()


class Override(SQLModel, table=True):
    """Somebody broke the glass for one revision; it holds once they have confirmed it."""

    id: int = numbered()
    plan_id: int = Field(foreign_key="plan.id", index=True)
    revision: int
    digest: str
    user: str
    parts: str  # what is overridden: window, freeze, approvals
    reason: str = Field(sa_type=Text)
    asked_at: datetime = moment()
    confirmed_at: datetime | None = moment(default=None)
    reviewed_by: str = ""
    review: str = Field(default="", sa_type=Text)


class System(SQLModel, table=True):
    """The head of the journal of what belongs to no plan; one row."""

    id: int = Field(default=1, primary_key=True)
    head: str = ""
    events: int = 0


class Factor(SQLModel, table=True):
    """A person's second factor. Only the bot has the key that opens the secret."""

    user: str = Field(primary_key=True)
    sealed: str = Field(sa_type=Text)
    counter: int  # of the newest code that was used: it and those before it count no more
    failures: int  # wrong codes in a row
    enrolled_at: datetime = moment()


class Spending(SQLModel, table=True):
    """What one call of the model cost; budgets are sums over these rows."""

    id: int = numbered()
    plan_id: int = Field(index=True)
    user: str
    model: str
    usd: float
    at: datetime = moment(index=True)


class SetAside(SQLModel, table=True):
    """What a thought that is under way may still cost: budgets count it until it is booked, or lapses."""

    id: int = numbered()
    plan_id: int
    user: str
    usd: float
    until: datetime = moment()


class Capability(SQLModel, table=True):
    """A worker's action as published by a workers process."""

    worker: str = Field(primary_key=True)
    action: str = Field(primary_key=True)
    contract: dict[str, Any] = Field(sa_type=JSON)
    hash: str
    seen_at: datetime = moment()


class Process(SQLModel, table=True):
    """A sign of life."""

    name: str = Field(primary_key=True)
    kind: str
    release: str
    started_at: datetime = moment()
    seen_at: datetime = moment()


class Lease(SQLModel, table=True):
    """Who does a kind of work, or works on one thing, until when; the fence grows with each new owner."""

    name: str = Field(primary_key=True)
    owner: str
    fence: int
    until: datetime = moment(index=True)


class Event(SQLModel, table=True):
    """The journal: one hash chain per plan (and one for the system, plan 0)."""

    __table_args__ = (
        UniqueConstraint("plan_id", "seq"),
        Index("ix_event_trouble", "plan_id", sqlite_where=TROUBLED, postgresql_where=TROUBLED),
        Index("ix_event_of_verb", "verb", "id", sqlite_where=RARE, postgresql_where=RARE),
    )

    id: int = numbered()
    plan_id: int
    seq: int
    at: datetime = moment()
    verb: str
    actor: str
    data: dict[str, Any] = Field(sa_type=Document)
    prev: str  # “^” in one that was put away: the hash of the event in the row before
    hash: str = Field(sa_type=Digest)


class Delivery(SQLModel, table=True):
    """Something Slack delivered: committed before it is acked, handled once."""

    __table_args__ = (
        Index("ix_delivery_handled_at", "handled_at", sqlite_where=UNHANDLED, postgresql_where=UNHANDLED),
    )

    key: str = Field(primary_key=True)
    id: int = Field(index=True)
    kind: str
    body: dict[str, Any] = Field(sa_type=JSON)
    received_at: datetime = moment()
    handled_at: datetime | None = moment(default=None)

    @property
    def user(self) -> str:
        """Whose act it is."""
        return str(self.body["user"])


class Token(SQLModel, table=True):
    """What lets a machine ask in somebody's name. The secret itself is nowhere; two of one name rotate."""

    id: int = numbered()
    team: str
    name: str = Field(index=True)
    hash: str = Field(unique=True)  # SHA-256 of the secret, which has 256 bits
    owner: str  # the person behind it: an author of whatever it asks for
    scopes: list[str] = listed()  # propose, look, cancel
    channels: list[str] = listed()
    runbooks: list[str] = listed()  # none named: any wish
    environments: list[str] = listed()  # none named: any
    made_by: str
    made_at: datetime = moment()
    expires_at: datetime = moment()
    used_at: datetime | None = moment(default=None)
    revoked_at: datetime | None = moment(default=None)


class Ask(SQLModel, table=True):
    """What a machine asked for under a key of its own: whoever says the same again finds the same plan."""

    key: str = Field(primary_key=True)
    team: str
    machine: str
    print: str  # SHA-256 of what was asked
    plan_id: int = Field(default=0, index=True)  # 0: there is no plan, and `answer` says why
    answer: str = prose()
    runbooks: list[str] = listed()  # what the token may ask for, at the time
    environments: list[str] = listed()
    at: datetime = moment()


class Alarm(SQLModel, table=True):
    """One matter that a hook calls about: its plan, how often it was said, and whether it is over."""

    __table_args__ = (UniqueConstraint("team", "hook", "key"),)

    id: int = numbered()
    team: str
    hook: str
    key: str
    plan_id: int = Field(default=0, index=True)  # the newest; 0 while none came of it
    open: bool
    count: int
    words: str = prose()  # what it says itself: foreign for ever
    first_at: datetime = moment()
    last_at: datetime = moment()
    planned_at: datetime = moment()  # when it last became a plan, or was to


class Call(SQLModel, table=True):
    """What a hook was told: redacted and bounded, kept for operators to look at and to say again."""

    key: str = Field(primary_key=True)
    team: str
    hook: str = Field(index=True)
    body: dict[str, Any] = Field(sa_type=JSON)
    answer: str = prose()  # what came of it
    plan_id: int = zero()
    at: datetime = moment(index=True)


class Telling(SQLModel, table=True):
    """How far a listener elsewhere was told of the journal, and what keeps it from hearing more."""

    sink: str = Field(primary_key=True)
    team: str
    event_id: int  # the last that it has taken
    tries: int = 0
    since: datetime | None = moment(default=None)  # when it first did not take the next one
    not_before: datetime = moment()
    problem: str = prose()


class Pace(SQLModel, table=True):
    """How fast Slack is spoken to by all bots together: a bucket, or a pause after a refusal."""

    name: str = Field(primary_key=True)
    version: int  # who changes it has seen the one before
    facts: str = Field(sa_type=Text)


class Message(SQLModel, table=True):
    """The outbox: something Slack shall show. Stale while `wanted` is ahead of `shown`."""

    __table_args__ = (
        UniqueConstraint("key"),
        Index("ix_message_stale", "id", sqlite_where=STALE, postgresql_where=STALE),
        Index("ix_message_again_at", "again_at", sqlite_where=AGEING, postgresql_where=AGEING),
    )

    id: int = numbered()
    plan_id: int = Field(default=0, index=True)
    key: str
    kind: str
    channel: str
    user: str = ""  # whom a whisper is for, or whose act a notice tells of
    ts: str = ""
    seq: int = zero()  # of the event it tells of
    step: str = ""  # the step it is about, if one
    text: str = Field(default="", sa_type=Text)
    urgent: bool = False
    wanted: int = 1
    shown: int = 0
    sending: int = 0  # the version a call is under way for; looked up after a crash
    tries: int = 0
    not_before: datetime = moment()
    again_at: datetime | None = moment(default=None)  # when it has grown old by itself
    problem: str = Field(default="", sa_type=Text)


class Visit(SQLModel, table=True):
    """Somebody at the board: a link that lets them in once, or a program's token; and its session."""

    id: str = Field(primary_key=True)
    team: str
    user: str
    way: str  # link, or token
    name: str = empty()  # what a token is for
    plan_id: int = zero()  # where the link leads to; 0 for the first page
    until: datetime = moment()  # until when the link lets somebody in, or the token holds
    session: str = Field(default="", index=True, sa_column_kwargs={"server_default": text("''")})  # SHA-256
    used_at: datetime | None = moment(default=None)
    seen_at: datetime | None = moment(default=None)
    ended_at: datetime | None = moment(default=None)
    why: str = prose()  # it ended
    refused: int = zero()  # times that somebody came with a link that lets nobody in any more
    noted: str = empty()  # what of it the journal tells
    made_at: datetime = moment()


class Opened(SQLModel, table=True):
    """Somebody has looked at a revision whole: on the board, or by its *Details*."""

    plan_id: int = Field(foreign_key="plan.id", primary_key=True)
    revision: int = Field(primary_key=True)
    user: str = Field(primary_key=True)
    first_at: datetime = moment()


class Story(SQLModel, table=True):
    """An ended plan in figures. Derived from its journal, and made anew at will."""

    __table_args__ = (Index("ix_story_rung", "rung", sqlite_where=RUNG, postgresql_where=RUNG),)

    plan_id: int = Field(foreign_key="plan.id", primary_key=True)
    event_id: int = Field(index=True)  # the event that ended it
    ended_at: datetime = moment(index=True)
    channel: str
    outcome: str
    rung: str  # what ended its trouble: a rung of the ladder, a person, nobody; "" without trouble
    wanted: bool  # people were asked to approve it
    approved: bool  # and did
    edited: bool
    abandoned: bool  # they were asked, and nobody decided
    approvals: int  # given by people
    unopened: int  # of these, by people who had not opened it
    waited: float | None = None  # seconds from the proposal to the first approval by a person
    lost: float | None = None  # seconds from the first failure until it went on
    seconds: float  # from the wish to the end
    usd: float
