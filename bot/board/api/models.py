"""What the API promises, in models of its own; made from views by pure functions."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from bot.board.pages.fleet import FRESH, FleetFacts
from bot.cards.face.lines import subject, title
from bot.cards.phrases import standing
from storage.board.agents import Agent
from storage.board.happenings import Happening
from storage.board.lines import PlanLine
from storage.board.sums import Sums
from storage.database.tables import Approval, Process
from storage.reading.plan_view import PlanView, StepView
from storage.reading.words import HIDDEN


class Out(BaseModel):
    """Closed: a field that is not here is not promised."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class PlanBrief(Out):
    """A plan as a line of the list."""

    id: int
    state: str
    outcome: str
    wish: str
    requester: str
    channel: str
    created_at: datetime


class PlanList(Out):
    """One page, newest first; `before` fetches the next one, and is 0 on the last."""

    plans: list[PlanBrief]
    before: int


class StepOut(Out):
    """One step: what it does, and how it stands."""

    id: str
    number: int
    worker: str
    action: str
    title: str
    parameters: dict[str, Any]
    depends_on: list[str]
    state: str
    undo: bool
    attempt: int
    progress: str
    summary: str
    not_before: datetime | None
    not_after: datetime | None
    started_at: datetime | None
    ended_at: datetime | None


class ApprovalOut(Out):
    """One person's yes to exactly one digest."""

    user: str
    digest: str
    factor: str
    policy: str
    at: datetime


class PlanPage(Out):
    """One plan, whole."""

    id: int
    state: str
    outcome: str
    standing: str
    title: str
    wish: str
    reason: str
    requester: str
    channel: str
    created_at: datetime
    revision: int
    digest: str
    risk: str
    needed: int
    approvers: list[str]
    authors: list[str]
    approvals: list[ApprovalOut]
    policy: str
    expires_at: datetime | None
    cost_usd: float
    steps: list[StepOut]


class EventOut(Out):
    """One event of a plan's journal."""

    seq: int
    at: datetime
    verb: str
    actor: str
    data: dict[str, Any]
    hash: str


class EventList(Out):
    """A plan's journal, oldest first."""

    plan: int
    events: list[EventOut]


class ProcessOut(Out):
    """A process, and its last sign of life."""

    name: str
    kind: str
    release: str
    alive: bool
    started_at: datetime
    seen_at: datetime
    steps: int


class AgentOut(Out):
    """An agent: an attempt of a step that drafts, or a step that waits for its turn (attempt 0)."""

    plan: int
    step: str
    state: str
    attempt: int
    owner: str
    progress: str
    late: bool
    started_at: datetime | None
    ended_at: datetime | None
    usd: float


class FleetOut(Out):
    """Who is alive, and the agents of plans that you may see, of the last eight hours."""

    processes: list[ProcessOut]
    agents: list[AgentOut]
    agents_at_work: int
    agents_hidden: int = Field(description="at work for plans that you may not see")
    subtasks: int = Field(description="of the last seven days")
    landed: int
    late_seconds: float = Field(description="that a step which nothing holds back could have started by now")


class LaneOut(Out):
    """A plan's time on the night's axis; of a private one neither number nor words."""

    plan: int | None
    title: str
    environment: str
    start: datetime
    usual_end: datetime
    long_end: datetime


class TonightOut(Out):
    """What is planned between two moments."""

    start: datetime
    end: datetime
    lanes: list[LaneOut]


class RungOut(Out):
    plans: int
    lost_seconds: float | None = Field(description="median time from the first failure until it went on")


class FiguresOut(Out):
    """Sums over the plans that ended in a time, as far as who asks may see them."""

    since: datetime | None
    until: datetime
    plans: int
    outcomes: dict[str, int]
    failed_on_the_way: int
    recovered: int
    rungs: dict[str, RungOut]
    asked_people: int
    approved: int
    rejected: int
    expired: int
    abandoned: int
    edited: int
    approvals: int
    approvals_unopened: int
    approve_seconds: float | None = Field(description="median")
    approve_p95_seconds: float | None
    approve_longest: float | None
    usd: float


class Problem(Out):
    """What went wrong (RFC 9457)."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str


def brief_out(line: PlanLine, why: str = "") -> PlanBrief:
    """`why`: what in its words the journal does not bear out; then they are not shown."""
    return PlanBrief(
        id=line.id,
        state=line.state,
        outcome=line.outcome,
        wish=f"{HIDDEN}{why}" if why else line.text,
        requester=line.requester,
        channel=line.channel,
        created_at=line.created_at,
    )


def plan_out(view: PlanView, given: list[Approval], now: datetime) -> PlanPage:
    return PlanPage(
        id=view.id,
        state=view.state,
        outcome=view.outcome,
        standing=standing(view, now),
        title=subject(view),
        wish=view.text,
        reason=view.reason,
        requester=view.requester,
        channel=view.channel,
        created_at=view.created_at,
        revision=view.revision,
        digest=view.digest,
        risk=view.risk,
        needed=view.needed,
        approvers=list(view.approvers),
        authors=list(view.authors),
        policy=view.policy,
        approvals=[
            ApprovalOut(user=one.user, digest=one.digest, factor=one.factor, policy=one.policy, at=one.at)
            for one in given
        ],
        expires_at=view.expires_at,
        cost_usd=view.spent,
        steps=[step_out(view, number, step) for number, step in enumerate(view.steps, 1)],
    )


def step_out(view: PlanView, number: int, step: StepView) -> StepOut:
    return StepOut(
        id=step.spec.id,
        number=number,
        worker=step.spec.worker,
        action=step.spec.action,
        title=title(view, step.spec),
        parameters=step.spec.parameters,
        depends_on=list(step.spec.depends_on),
        state=step.state,
        undo=step.undo,
        attempt=step.attempt,
        progress=step.progress,
        summary=step.report.summary if step.report else "",
        not_before=step.not_before,
        not_after=step.not_after,
        started_at=step.started_at,
        ended_at=step.ended_at,
    )


def event_out(one: Happening) -> EventOut:
    return EventOut(seq=one.seq, at=one.at, verb=one.verb, actor=one.actor, data=one.data, hash=one.hash)


def process_out(one: Process, *, alive: bool, steps: int) -> ProcessOut:
    return ProcessOut(
        name=one.name,
        kind=one.kind,
        release=one.release,
        alive=alive,
        started_at=one.started_at,
        seen_at=one.seen_at,
        steps=steps,
    )


def agent_out(one: Agent) -> AgentOut:
    return AgentOut(
        plan=one.plan,
        step=one.key,
        state=one.state,
        attempt=one.number,
        owner=one.owner if one.works else "",
        progress=one.progress if one.works else "",
        late=one.overran,
        started_at=one.started_at,
        ended_at=one.ended_at,
        usd=one.usd,
    )


def fleet_out(facts: FleetFacts, now: datetime) -> FleetOut:
    alive = {one.name: now - one.seen_at <= FRESH for one in facts.processes}
    steps = facts.running
    return FleetOut(
        processes=[
            process_out(one, alive=alive[one.name], steps=steps.get(one.name, 0)) for one in facts.processes
        ],
        agents=[agent_out(one) for one in facts.agents],
        agents_at_work=sum(one.works for one in facts.agents),
        agents_hidden=facts.hidden,
        subtasks=facts.drafted.subtasks,
        landed=facts.drafted.landed,
        late_seconds=facts.late,
    )


def figures_out(sums: Sums, since: datetime | None, until: datetime) -> FiguresOut:
    return FiguresOut(
        since=since,
        until=until,
        plans=sums.ended,
        outcomes=sums.outcomes,
        failed_on_the_way=sums.troubled,
        recovered=sums.recovered,
        rungs={rung: RungOut(plans=count, lost_seconds=lost) for rung, (count, lost) in sums.rungs.items()},
        asked_people=sums.wanted,
        approved=sums.approved,
        rejected=sums.rejected,
        expired=sums.expired,
        abandoned=sums.abandoned,
        edited=sums.edited,
        approvals=sums.approvals,
        approvals_unopened=sums.unopened,
        approve_seconds=sums.waited(50),
        approve_p95_seconds=sums.waited(95),
        approve_longest=max(sums.waits, default=None),
        usd=round(sums.usd, 6),
    )
