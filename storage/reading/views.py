"""The one way to read a plan: a frozen view for cards, planner, terminal and tests."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, and_, or_, select
from sqlmodel import col

from storage.contract.demands import NOTHING, Demands, Quorum
from storage.contract.demands import read as read_demands
from storage.contract.documents import readable
from storage.contract.report import AnyReport, asks
from storage.contract.spec import PlanSpec, StepSpec
from storage.contract.states import OPEN, PlanState, StepState, can_skip
from storage.database.tables import (
    Approval,
    Event,
    Message,
    Override,
    Plan,
    Preview,
    Revision,
    Spending,
    Step,
    Stop,
    System,
    Target,
)
from storage.safeguards.stops import Stops
from storage.settling.carry_over import earlier, standing
from storage.transaction import rows


@dataclass(frozen=True)
class StepView:
    """One step: as approved, and as it stands."""

    spec: StepSpec
    state: StepState = StepState.pending
    undo: bool = False
    attempt: int = 0
    report: AnyReport | None = None
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


class Views(Stops):
    """view, in_state, recent, open_plans, proposal_at, stops, events, head, event."""

    def view(self, plan_id: int) -> PlanView:
        with self._read() as c:
            return self._view(c, self._plan(c, plan_id))

    def in_state(self, state: PlanState) -> list[int]:
        with self._read() as c:
            found = rows(c, Plan, col(Plan.state) == state, order=col(Plan.id))
            return [plan.id or 0 for plan in found]

    def in_direct_messages(self, state: PlanState) -> list[int]:
        """Plans whose card only one person sees."""
        with self._read() as c:
            alone = col(Plan.channel).startswith("D")
            return [plan.id or 0 for plan in rows(c, Plan, col(Plan.state) == state, alone)]

    def recent(self, limit: int = 20) -> list[PlanView]:
        """The newest plans, newest first."""
        with self._read() as c:
            return [self._view(c, p) for p in rows(c, Plan, order=col(Plan.id).desc(), limit=limit)]

    def open_plans(self, limit: int | None = None) -> list[PlanView]:
        """What has not ended, oldest first."""
        with self._read() as c:
            found = rows(c, Plan, col(Plan.state).in_(OPEN), order=col(Plan.id), limit=limit)
            return [self._view(c, plan) for plan in found]

    def proposal_at(self, channel: str, thread: str) -> int:
        """The newest proposed plan whose thread this is; 0 for none."""
        card = and_(col(Message.plan_id) == col(Plan.id), col(Message.kind) == "card")
        here = or_(col(Plan.thread) == thread, col(Message.ts) == thread)
        wheres = (col(Plan.state) == PlanState.proposed, col(Plan.channel) == channel, here)
        query = select(col(Plan.id)).join(Message, card).where(*wheres).order_by(col(Plan.id).desc())
        with self._read() as c:
            return c.execute(query).scalars().first() or 0 if thread else 0

    def stops(self) -> list[Stop]:
        """What is stopped now."""
        with self._read() as c:
            return rows(c, Stop, order=col(Stop.since))

    def events(self, plan_id: int) -> list[Event]:
        """The plan's journal, oldest first; plan 0 is what belongs to no plan."""
        with self._read() as c:
            return rows(c, Event, col(Event.plan_id) == plan_id, order=col(Event.seq))

    def journal(self) -> list[Event]:
        """What happened to all plans, plan by plan."""
        with self._read() as c:
            found = rows(c, Event, col(Event.plan_id) > 0)
        return sorted(found, key=lambda event: (event.plan_id, event.seq))

    def head(self, plan_id: int) -> tuple[int, str]:
        """How many events the plan's journal must have, and the hash of the last."""
        with self._read() as c:
            chain = self._plan(c, plan_id) if plan_id else rows(c, System)[0]
            return chain.events, chain.head

    def event(self, plan_id: int, seq: int) -> Event | None:
        with self._read() as c:
            return next(iter(rows(c, Event, col(Event.plan_id) == plan_id, col(Event.seq) == seq)), None)

    def _view(self, c: Connection, plan: Plan) -> PlanView:
        card = rows(c, Message, col(Message.key) == f"card:{plan.id}")
        base = PlanView(
            id=plan.id or 0, state=PlanState(plan.state), version=plan.version, text=plan.text,
            team=plan.team, requester=plan.requester, channel=plan.channel, thread=plan.thread,
            card=card[0].ts if card else "", outcome=plan.outcome, reason=plan.reason,
            created_at=plan.created_at, cancelled_by=plan.cancelled_by,
            form=plan.form, given=plan.given,
            looking=plan.state == PlanState.stalled and plan.look > 0,
        )  # fmt: skip
        return self._with_revision(c, plan, base) if plan.revision else base

    def _with_revision(self, c: Connection, plan: Plan, base: PlanView) -> PlanView:
        revision = self._revision(c, plan)
        number = revision.parent or revision.number
        given = rows(c, Approval, col(Approval.plan_id) == plan.id, col(Approval.revision) == number)
        spec = readable(revision.spec, (step.key for step in self._steps(c, plan)))
        if spec is None:
            return base  # it was changed behind our back; the plan's reason says so
        known: Mapping[str, Any] = vars(base) | {
            "revision": revision.number, "spec": spec, "digest": revision.digest, "risk": revision.risk,
            "reasons": tuple(revision.reasons), "needed": revision.needed,
            "approvers": tuple(revision.approvers), "authors": tuple(revision.authors),
            "approved_by": tuple(approval.user for approval in given), "policy": revision.policy,
            "held": tuple(tuple((approval.held or approval.user).split()) for approval in given),
            "factors": tuple(approval.factor for approval in given),
            "demands": read_demands(revision.demands), **self._broken(c, plan, revision),
            "seconds": revision.seconds, "changes": tuple(revision.changes), "author": revision.author,
            "note": revision.note, "made_at": revision.made_at, "expires_at": revision.expires_at,
            "steps": self._step_views(c, plan, revision, spec), "parent": self._parent(c, revision),
            "tried": self._tried(c, plan), "spent": self._spent(c, plan),
        }  # fmt: skip
        return PlanView(**known)

    def _broken(self, c: Connection, plan: Plan, revision: Revision) -> dict[str, Any]:
        """What was overridden for this revision, or for the one whose mandate it is under."""
        number = revision.parent or revision.number
        mine = (col(Override.plan_id) == plan.id, col(Override.revision) == number)
        found = rows(c, Override, *mine, col(Override.confirmed_at).is_not(None), order=col(Override.id))
        if not found:
            return {}
        parts = tuple(dict.fromkeys(part for one in found for part in one.parts.split()))
        reviewed = "" if any(not one.reviewed_by for one in found) else found[-1].reviewed_by
        return {"overrides": parts, "broken_by": found[-1].user, "reviewed_by": reviewed}

    def _parent(self, c: Connection, revision: Revision) -> PlanSpec | None:
        one = (col(Revision.plan_id) == revision.plan_id, col(Revision.number) == revision.parent)
        return next((readable(found.spec, ()) for found in rows(c, Revision, *one)), None)

    def _tried(self, c: Connection, plan: Plan) -> tuple[str, ...]:
        decided = (col(Event.plan_id) == plan.id, col(Event.verb) == "decide")
        return tuple(event.data["verb"] for event in rows(c, Event, *decided, order=col(Event.seq)))

    def _spent(self, c: Connection, plan: Plan) -> float:
        return sum(row.usd for row in rows(c, Spending, col(Spending.plan_id) == plan.id))

    def _step_views(
        self, c: Connection, plan: Plan, revision: Revision, spec: PlanSpec
    ) -> tuple[StepView, ...]:
        steps = self._steps(c, plan)
        if not steps:
            mine = (col(Preview.plan_id) == plan.id, col(Preview.revision) == plan.revision)
            previews = {preview.key: preview for preview in rows(c, Preview, *mine)}
            ran = {row.key: row for row in standing(earlier(c, plan), spec) if row.attempt}
            known = {key: self._step_view(row, spec, {}, [], set()) for key, row in ran.items()}
            return tuple(known.get(s.id) or _unborn(s, previews.get(s.id)) for s in spec.steps)
        held = {target.name: target.plan_id for target in rows(c, Target)}
        cards = rows(c, Message, col(Message.key).in_([f"card:{number}" for number in {*held.values()}]))
        shown = {card.plan_id: (card.channel, card.ts) for card in cards}
        stops = {step.key: self._stopped(c, step) for step in steps if step.state == StepState.pending}
        stalled = plan.state == PlanState.stalled
        asking = {s.key for s in steps if s.state == StepState.failed} if stalled else set()
        views = (self._step_view(step, spec, held, steps, asking) for step in steps)
        views = (replace(view, held_at=shown.get(view.held_by, ("", ""))) for view in views)
        return tuple(_held(view, stops.get(view.spec.id)) for view in views)

    def _step_view(
        self,
        step: Step,
        spec: PlanSpec,
        held: Mapping[str, int],
        steps: list[Step],
        asking: set[str],
    ) -> StepView:
        now = self.clock()
        holder = held.get(step.target, 0)
        return StepView(
            spec=spec.find(step.key), state=StepState(step.state), undo=step.undo, attempt=step.attempt,
            report=AnyReport.model_validate(step.report) if step.report else None,
            not_before=step.not_before, not_after=step.not_after, started_at=step.started_at,
            ended_at=step.ended_at, probing=step.probing,
            withheld=step.withheld, progress=step.progress,
            held_by=holder if holder != step.plan_id else 0,
            choices=_choices(step, spec, steps, now) if step.key in asking else (),
        )  # fmt: skip


def _held(view: StepView, stop: Stop | None) -> StepView:
    return replace(view, stopped=f"{stop.scope} was stopped by {stop.by}: {stop.reason}") if stop else view


def _unborn(step: StepSpec, preview: Preview | None) -> StepView:
    when = step.schedule
    view = StepView(step, not_before=when.not_before, not_after=when.not_after)
    return replace(view, preview=preview.text, previewing=preview.state == "wanted") if preview else view


def _choices(step: Step, spec: PlanSpec, steps: list[Step], now: datetime) -> tuple[str, ...]:
    if asks(step.report):
        undoable = any(undo.undoes == other.key for undo in spec.rollback for other in steps if other.attempt)
        return ("confirm", "rollback", "abort") if undoable else ("confirm", "abort")
    changing = {other.key for other in steps if other.changes}
    missed = bool(step.start_by and step.start_by <= now)
    undoable = any(undo.undoes == other.key for undo in spec.rollback for other in steps if other.attempt)
    offered = {
        "retry": not missed,
        "skip": not step.undo and (len(spec.steps) > 1 or can_skip(spec, changing, step.key)),
        "rollback": not step.undo and undoable,
        "take_over": True,
        "abort": True,
    }
    return tuple(choice for choice, possible in offered.items() if possible)
