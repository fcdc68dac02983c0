"""A plan as cards, planner, terminal and tests see it: a frozen document."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from storage.contract.demands import NOTHING, Demands, Quorum
from storage.contract.report import AnyReport
from storage.contract.spec import PlanSpec, StepSpec
from storage.contract.states import PlanState, StepState


@dataclass(frozen=True)
class StepView:
    """One step: as approved, and as it stands."""

    spec: StepSpec
    state: StepState = StepState.pending
    undo: bool = False
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
    stopped: str = ""  # who stopped it, and why
    choices: tuple[str, ...] = ()  # what a person may answer to its failure
    progress: str = ""  # how far its attempt is
    preview: str = ""  # what it would do, as its worker says
    previewing: bool = False  # that is still being found out

    @property
    def took(self) -> timedelta | None:
        return self.ended_at - self.started_at if self.ended_at and self.started_at else None


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
    made_at: datetime | None = None  # the revision
    expires_at: datetime | None = None
    cancelled_by: str = ""  # who wants it ended, while a step of it still runs
    steps: tuple[StepView, ...] = ()
    parent: PlanSpec | None = None  # what was approved, where this revision was made under its mandate
    form: str = ""  # what the requester is asked before there can be a plan
    given: str = ""  # and what they have answered
    looking: bool = False  # the review has yet to say how it goes on
    tried: tuple[str, ...] = ()  # what the review has decided so far, oldest first
    spent: float = 0.0  # USD for thinking about it

    def step(self, key: str) -> StepView:
        """The step of the current revision with that key."""
        return next(step for step in self.steps if step.spec.id == key)

    def has(self, key: str) -> bool:
        return any(step.spec.id == key for step in self.steps)

    @property
    def unreviewed(self) -> bool:
        """Whether the glass was broken, and nobody has looked at it since."""
        return bool(self.overrides) and not self.reviewed_by

    @property
    def quorums(self) -> tuple[Quorum, ...]:
        """Who must approve; without any rule, so many of the approvers."""
        plain = (Quorum(needed=self.needed, of=self.approvers, general=True),) if self.needed else ()
        return self.demands.quorums or plain
