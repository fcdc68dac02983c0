"""A plan as cards, planner, terminal and tests see it: a frozen document."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from storage.contract.capability import Contract
from storage.contract.demands import NOTHING, Demands, Quorum
from storage.contract.report import AnyReport
from storage.contract.spec import PlanSpec, StepSpec
from storage.contract.states import OPEN, PlanState, StepState


@dataclass(frozen=True)
class StepView:
    """One step: as approved, and as it stands."""

    spec: StepSpec
    state: StepState = StepState.pending
    undo: bool = False
    changes: bool = False  # something outside; known once it was approved
    attempt: int = 0
    report: AnyReport | None = None
    choice: str = ""  # what was said after it failed
    not_before: datetime | None = None
    not_after: datetime | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    probing: bool = False
    withheld: str = ""  # why the bot gives it no permit
    held_by: int = 0  # the plan that holds its target
    held_at: tuple[str, str] = ("", "")  # that plan's card: channel and message
    stopped: str = ""  # what was stopped, and why
    stopped_by: str = ""
    choices: tuple[str, ...] = ()  # what a person may answer to its failure
    opens: datetime | None = None  # the next time that it may run, where it has missed its own
    previous: Mapping[str, Any] = field(
        default_factory=dict
    )  # what was there before it, as its worker recorded
    progress: str = ""  # how far its attempt is
    preview: str = ""  # what it would do, as its worker says
    found: tuple[str, ...] = ()  # the same in short verdicts; a bad one begins with “!”
    was: str = ""  # what is there now, as its worker says
    previewing: bool = False  # that is still being found out

    @property
    def movable(self) -> bool:
        """Whether it can be moved later: it has a time of its own, and has not begun, or has missed it."""
        timed = self.spec.schedule.not_before is not None and not self.undo
        return timed and (self.state == StepState.pending or "next" in self.choices)

    @property
    def took(self) -> timedelta | None:
        return self.ended_at - self.started_at if self.ended_at and self.started_at else None


@dataclass(frozen=True)
class AlarmView:
    """The matter that a hook called about."""

    count: int
    open: bool
    last_at: datetime
    words: str  # foreign


@dataclass(frozen=True)
class PlanView:
    """One plan as it stands."""

    id: int
    state: PlanState
    version: int
    text: str
    team: str
    requester: str
    channel: str
    thread: str
    card: str  # the card's message, "" until it is shown
    outcome: str
    reason: str
    created_at: datetime
    revision: int = 0
    spec: PlanSpec | None = None
    digest: str = ""
    risk: str = ""
    reasons: tuple[str, ...] = ()
    needed: int = 0
    approvers: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()
    approved_by: tuple[str, ...] = ()
    held: tuple[tuple[str, ...], ...] = ()  # by each of those: their own id and their groups, at the time
    factors: tuple[str, ...] = ()  # what each of those showed besides: code, signature, or ""
    demands: Demands = NOTHING
    overrides: tuple[str, ...] = ()  # what somebody broke the glass for: window, freeze, approvals
    broken_by: str = ""
    reviewed_by: str = ""  # who looked at that afterwards
    policy: str = ""
    seconds: float = 0.0
    changes: tuple[str, ...] = ()
    author: str = ""
    note: str = ""
    lost: tuple[str, ...] = ()  # what its changes relied on, and do without since somebody left it out
    outdated: tuple[str, ...] = ()  # what has changed since the revision was made: then nobody approves it
    ahead: tuple[str, ...] = ()  # the freezes that would hold it
    made_at: datetime | None = None  # the revision
    expires_at: datetime | None = None
    starts_at: datetime | None = None  # nothing of it starts before that, said in that zone
    starts_zone: str = "UTC"
    machine: str = ""  # what asked in the requester's name; "" for themselves
    private: bool = False  # answers a question of the requester alone
    behind: tuple[str, ...] = ()  # authors besides the requester, whom a machine names
    alarm: AlarmView | None = None  # what it is about, where a hook called
    stands: int = 0  # runs of what recurs for which an approval of it stands
    cancelled_by: str = ""  # who wants it ended, while a step of it still runs
    steps: tuple[StepView, ...] = ()
    parent: PlanSpec | None = None  # what was approved, where this revision was made under its mandate
    form: str = ""  # what the requester is asked before there can be a plan
    given: str = ""  # and what they have answered
    looking: bool = False  # the review has yet to say how it goes on
    tried: tuple[str, ...] = ()  # what the review has decided so far, oldest first
    put_to_people: tuple[str, ...] = ()  # which of these went beyond the mandate, so that people decided
    spent: float = 0.0  # USD for thinking about it
    contracts: Mapping[tuple[str, str], Contract] = field(default_factory=dict)  # as published now
    lengthy: bool = False  # a card has no room for what people must read of it
    filed: bool = False  # all of it stands in a file that Slack has taken
    unfiled: str = ""  # why Slack has not taken that file (yet)
    notes: tuple[str, ...] = ()  # how the wish was read, and what of it was not used

    @property
    def planned(self) -> bool:
        """Whether it is a plan or becomes one; a wish that was refused, or asks for more, is none."""
        return bool(self.revision) or (self.state in OPEN and not self.form)

    def step(self, key: str) -> StepView:
        """The step of the current revision with that key."""
        return next(step for step in self.steps if step.spec.id == key)

    def has(self, key: str) -> bool:
        return any(step.spec.id == key for step in self.steps)

    def contract(self, step: StepSpec) -> Contract | None:
        """What a step's action promises, if a worker has published it."""
        return self.contracts.get((step.worker, step.action))

    def changes_something(self, step: StepSpec) -> bool:
        """Whether it does; what nobody knows may."""
        found = self.contract(step)
        return found is None or found.changes

    @property
    def askers(self) -> tuple[str, ...]:
        """Who wanted it from the beginning: they are its authors, whoever changes it later."""
        return (*dict.fromkeys((self.requester, *self.behind)),)

    @property
    def unreviewed(self) -> bool:
        """Whether the glass was broken, and nobody has looked at it since."""
        return bool(self.overrides) and not self.reviewed_by

    @property
    def shown(self) -> bool:
        """Whether all that people would say yes to stands before them: on its card, or in a file."""
        return not any(step.previewing for step in self.steps) and (self.filed or not self.lengthy)

    @property
    def quorums(self) -> tuple[Quorum, ...]:
        """Who must approve; without any rule, so many of the approvers."""
        plain = (Quorum(needed=self.needed, of=self.approvers, general=True),) if self.needed else ()
        return self.demands.quorums or plain
