"""The one way to read a plan: a frozen view for cards, planner, terminal and tests."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Row, and_, bindparam, or_, select
from sqlmodel import col

from storage.contract.capability import Contract
from storage.contract.demands import read as read_demands
from storage.contract.report import AnyReport, asks, outdated
from storage.contract.spec import PlanSpec, StepSpec, readable
from storage.contract.states import OPEN, PlanState, StepState, can_decline, can_skip, waits
from storage.database.models import Models
from storage.database.statements import Among, Prepared, table
from storage.database.tables import (
    Alarm,
    Approval,
    Capability,
    Event,
    Message,
    Occurrence,
    Override,
    Plan,
    Preview,
    Revision,
    Shown,
    Spending,
    Standing,
    Step,
    Stop,
    System,
    Target,
)
from storage.memory import Memory
from storage.plans.carry_over import earlier, standing
from storage.reading.plan_view import AlarmView, PlanView, StepView
from storage.settling.questions import missed, unanswered
from storage.settling.starting import covers
from storage.transaction import REVISION, Transaction

CONTRACTS = 512  # remembered, by their hash
_known: dict[str, Contract] = {}
LISTED = col(Plan.private).is_(False)  # what answers one person stands in no list
PAGE = 1000  # events that are held at a time
MINE: tuple[Any, Any] = bindparam("plan"), bindparam("revision")
GIVEN = Models(Approval, col(Approval.plan_id) == MINE[0], col(Approval.revision) == MINE[1])
CONFIRMED = Models(
    Override, col(Override.plan_id) == MINE[0], col(Override.revision) == MINE[1],
    col(Override.confirmed_at).is_not(None), order=col(Override.id),
)  # fmt: skip
DECIDED = Models(Event, col(Event.plan_id) == MINE[0], col(Event.verb) == "decide", order=col(Event.seq))
BOOKED = Prepared(select(col(Spending.usd).label("value")).where(col(Spending.plan_id) == MINE[0]))


def view(memory: Memory, plan_id: int) -> PlanView:
    with memory.read() as t:
        return _view(t, t.plan(plan_id))


def known(memory: Memory, plan_id: int) -> int:
    """The same number, if there is such a plan; else 0."""
    with memory.read() as t:
        return plan_id if t.rows(Plan, col(Plan.id) == plan_id) else 0


def recent(memory: Memory, limit: int = 20) -> list[PlanView]:
    """The newest plans, newest first."""
    with memory.read() as t:
        return [_view(t, p) for p in t.rows(Plan, LISTED, order=col(Plan.id).desc(), limit=limit)]


def open_plans(memory: Memory, limit: int | None = None) -> list[PlanView]:
    """What has not ended, oldest first."""
    with memory.read() as t:
        found = t.rows(Plan, LISTED, col(Plan.state).in_(OPEN), order=col(Plan.id), limit=limit)
        return [_view(t, plan) for plan in found]


def plan_at(memory: Memory, channel: str, thread: str) -> int:
    """The newest plan whose thread this is, and that was put before people; 0 for none."""
    card = and_(col(Message.plan_id) == col(Plan.id), col(Message.kind) == "card")
    here = or_(col(Plan.thread) == thread, col(Message.ts) == thread)
    wheres = (col(Plan.revision) > 0, col(Plan.channel) == channel, here)
    query = select(col(Plan.id)).join(Message, card).where(*wheres).order_by(col(Plan.id).desc())
    with memory.read() as t:
        return t.execute(query).scalars().first() or 0 if thread else 0


def spec_before(memory: Memory, plan_id: int, revision: int) -> PlanSpec | None:
    """The plan as it was before this revision, if there was one."""
    one = (col(Revision.plan_id) == plan_id, col(Revision.number) == revision - 1)
    with memory.read() as t:
        return next((readable(found.spec, ()) for found in t.rows(Revision, *one)), None)


def _view(t: Transaction, plan: Plan) -> PlanView:
    card = _sent(t, [f"card:{plan.id}"])
    base = PlanView(
        id=plan.id, state=PlanState(plan.state), version=plan.version, text=plan.text,
        team=plan.team, requester=plan.requester, channel=plan.channel, thread=plan.thread,
        card=card[0].ts if card else "", outcome=plan.outcome, reason=plan.reason,
        created_at=plan.created_at, cancelled_by=plan.cancelled_by,
        private=plan.private, machine=plan.machine, behind=tuple(plan.behind),
        form=plan.form, given=plan.given, starts_at=plan.starts_at, starts_zone=plan.starts_zone or "UTC",
        looking=plan.state == PlanState.stalled and plan.look > 0,
    )  # fmt: skip
    base = replace(base, stands=_stands(t, plan)) if plan.starts_zone else base
    base = replace(base, alarm=_alarm(t, plan)) if plan.machine.startswith("hook:") else base
    return _with_revision(t, plan, base) if plan.revision else base


def _alarm(t: Transaction, plan: Plan) -> AlarmView | None:
    found = t.rows(Alarm, col(Alarm.plan_id) == plan.id)
    return next((AlarmView(one.count, one.open, one.last_at, one.words) for one in found), None)


class Sent(NamedTuple):
    """Where a message stands."""

    plan_id: int
    channel: str
    ts: str
    problem: str


M = table(Message).c
SENT = Prepared(select(M.plan_id, M.channel, M.ts, M.problem).where(Among(M.key, "keys")), Sent)


def _sent(t: Transaction, keys: list[str]) -> Sequence[Sent]:
    """Where these messages stand; not their words, which may be for one person alone."""
    return SENT.all(t.connection, keys=keys)


def _stands(t: Transaction, plan: Plan) -> int:
    """For how many more runs of what recurs an approval stands, if this is one of its runs."""
    mine = col(Occurrence.recurring_id) == col(Standing.recurring_id)
    query = select(Standing).join(Occurrence, mine).where(col(Occurrence.plan_id) == plan.id)
    return max((standing.runs_left for standing in t.models(query)), default=0)


def _with_revision(t: Transaction, plan: Plan, base: PlanView) -> PlanView:
    revision = t.revision(plan)
    number = revision.parent or revision.number
    given = GIVEN.all(t.connection, plan=plan.id, revision=number)
    steps = t.steps(plan)
    spec = readable(revision.spec, (step.key for step in steps))
    if spec is None:
        return base  # it was changed behind our back; the plan's reason says so
    known: Mapping[str, Any] = vars(base) | {
        "revision": revision.number, "spec": spec, "digest": revision.digest, "risk": revision.risk,
        "reasons": tuple(revision.reasons), "needed": revision.needed,
        "approvers": tuple(revision.approvers), "authors": tuple(revision.authors),
        "approved_by": tuple(approval.user for approval in given), "policy": revision.policy,
        "held": tuple(tuple((approval.held or approval.user).split()) for approval in given),
        "factors": tuple(approval.factor for approval in given),
        "demands": read_demands(revision.demands), **_broken(t, plan, revision),
        "seconds": revision.seconds, "changes": tuple(revision.changes), "author": revision.author,
        "lost": tuple(revision.lost), "outdated": tuple(plan.outdated), "ahead": tuple(plan.ahead),
        "note": revision.note, "notes": tuple(revision.notes),
        "made_at": revision.made_at, "expires_at": revision.expires_at,
        "steps": _step_views(t, plan, spec, steps), "parent": _parent(t, revision),
        **_tried(t, plan), "spent": _spent(t, plan), "contracts": _contracts(t, spec),
        **_filing(t, revision),
    }  # fmt: skip
    return PlanView(**known)


class Offer(NamedTuple):
    """What names a contract."""

    worker: str
    action: str
    hash: str


C = table(Capability).c
OFFERS = Prepared(select(C.worker, C.action, C.hash).where(Among(C.worker, "workers")), Offer)


def _contracts(t: Transaction, spec: PlanSpec) -> dict[tuple[str, str], Contract]:
    """Of its actions, without the inventory: how they are said, and whether they change anything."""
    used = {(step.worker, step.action) for step in (*spec.steps, *spec.rollback)}
    offers = OFFERS.all(t.connection, workers=sorted({worker for worker, _ in used}))
    mine = [one for one in offers if (one.worker, one.action) in used]
    known = {one.hash: found for one in mine if (found := _known.get(one.hash))}
    if unknown := {one.hash for one in mine} - known.keys():
        known |= _learnt(t.rows(Capability, col(Capability.hash).in_(unknown)))
    return {(one.worker, one.action): known[one.hash] for one in mine if one.hash in known}


def _learnt(rows: Sequence[Capability]) -> dict[str, Contract]:
    found = {row.hash: Contract.model_validate(row.contract | {"names": {}}) for row in rows}
    if len(_known) >= CONTRACTS:
        _known.clear()
    _known.update(found)
    return found


def _filing(t: Transaction, revision: Revision) -> dict[str, Any]:
    """Whether a plan that has no room on its card stands in a file, or why not yet."""
    if not revision.lengthy:
        return {}
    one = (col(Shown.plan_id) == revision.plan_id, col(Shown.revision) == revision.number)
    filed = any(row.digest == revision.digest for row in t.rows(Shown, *one))
    sent = _sent(t, [f"plan:{revision.plan_id}:{revision.number}"])
    return {"lengthy": True, "filed": filed, "unfiled": sent[0].problem if sent and not filed else ""}


def _broken(t: Transaction, plan: Plan, revision: Revision) -> dict[str, Any]:
    """What was overridden for this revision, or for the one whose mandate it is under."""
    number = revision.parent or revision.number
    found = CONFIRMED.all(t.connection, plan=plan.id, revision=number)
    if not found:
        return {}
    parts = tuple(dict.fromkeys(part for one in found for part in one.parts.split()))
    reviewed = "" if any(not one.reviewed_by for one in found) else found[-1].reviewed_by
    return {"overrides": parts, "broken_by": found[-1].user, "reviewed_by": reviewed}


def _parent(t: Transaction, revision: Revision) -> PlanSpec | None:
    mine = {"plan": revision.plan_id, "revision": revision.parent}
    found = REVISION.first(t.connection, **mine) if revision.parent else None
    return readable(found.spec, ()) if found else None


def _tried(t: Transaction, plan: Plan) -> dict[str, tuple[str, ...]]:
    found = [event.data for event in DECIDED.all(t.connection, plan=plan.id)]
    asked = tuple(data["verb"] for data in found if data.get("changes"))
    return {"tried": tuple(data["verb"] for data in found), "put_to_people": asked}


def _spent(t: Transaction, plan: Plan) -> float:
    return sum(float(one.value) for one in BOOKED.all(t.connection, plan=plan.id))


def _step_views(t: Transaction, plan: Plan, spec: PlanSpec, steps: list[Step]) -> tuple[StepView, ...]:
    if not steps:
        previews = {preview.key: preview for preview in t.previews(plan)}
        ran = {row.key: row for row in standing(earlier(t, plan), spec) if row.attempt}
        known = {key: _step_view(row, spec, {}, [], set(), t.clock()) for key, row in ran.items()}
        return tuple(known.get(s.id) or _unborn(s, previews.get(s.id)) for s in spec.steps)
    held = {target.name: target.plan_id for target in t.rows(Target)}
    cards = _sent(t, [f"card:{number}" for number in {*held.values()}])
    shown = {card.plan_id: (card.channel, card.ts) for card in cards}
    stopped = t.rows(Stop)
    stops = {step.key: _stopped(stopped, step) for step in steps if step.state == StepState.pending}
    stalled = plan.state == PlanState.stalled
    asking = {s.key for s in unanswered(steps)} if stalled else set()
    views = (_step_view(step, spec, held, steps, asking, t.clock()) for step in steps)
    if plan.outdated:
        views = (replace(view, choices=_updatable(view.choices)) for view in views)
    views = (replace(view, held_at=shown.get(view.held_by, ("", ""))) for view in views)
    return tuple(_held(view, stops.get(view.spec.id)) for view in views)


def _step_view(
    step: Step,
    spec: PlanSpec,
    held: Mapping[str, int],
    steps: list[Step],
    asking: set[str],
    now: datetime,
) -> StepView:
    holder = held.get(step.target, 0)
    return StepView(
        spec=spec.find(step.key), state=StepState(step.state), undo=step.undo, changes=step.changes,
        attempt=step.attempt,
        report=AnyReport.model_validate(step.report) if step.report else None,
        not_before=step.not_before, not_after=step.not_after, started_at=step.started_at,
        ended_at=step.ended_at, probing=step.probing, choice=step.choice,
        withheld=step.withheld, progress=step.progress, previous=step.previous or {},
        held_by=holder if holder != step.plan_id else 0,
        choices=_choices(step, spec, steps, now) if step.key in asking else (),
    )  # fmt: skip


def _held(view: StepView, stop: Stop | None) -> StepView:
    if stop is None:
        return view
    return replace(view, stopped=f"{stop.scope} was stopped: {stop.reason}", stopped_by=stop.by)


def _unborn(step: StepSpec, preview: Preview | None) -> StepView:
    when = step.schedule
    view = StepView(step, not_before=when.not_before, not_after=when.not_after)
    if preview is None:
        return view
    found, wanted = tuple(map(_flat, preview.found or ())), preview.state == "wanted"
    return replace(view, preview=preview.text, found=found, was=_flat(preview.was), previewing=wanted)


def _flat(text: str) -> str:
    """A worker's words stay on the line that they are shown on: a second one could pass for a step."""
    return " ".join(text.split())


def _choices(step: Step, spec: PlanSpec, steps: list[Step], now: datetime) -> tuple[str, ...]:
    if asks(step.report):
        undoable = any(undo.undoes == other.key for undo in spec.rollback for other in steps if other.attempt)
        open_ = [s.key for s in steps if s.state == StepState.pending or waits(s.state, s.choice)]
        ways = {"decline": can_decline(spec, step.key, open_), "rollback": undoable}
        return ("confirm", *(way for way, possible in ways.items() if possible), "abort")
    changing = {other.key for other in steps if other.changes}
    stuck = bool(step.start_by and step.start_by <= now) or outdated(step.report)
    undoable = any(undo.undoes == other.key for undo in spec.rollback for other in steps if other.attempt)
    if missed(step):
        return ("next", "time", "rollback", "abort") if undoable else ("next", "time", "abort")
    offered = {
        "update": not step.undo and stuck,
        "retry": step.undo or not stuck,
        "skip": not step.undo and (len(spec.steps) > 1 or can_skip(spec, changing, step.key)),
        "rollback": not step.undo and undoable,
        "take_over": True,
        "abort": True,
    }
    return tuple(choice for choice, possible in offered.items() if possible)


def _updatable(choices: tuple[str, ...]) -> tuple[str, ...]:
    """Where something fails in a plan that is out of date, it may be brought up to date besides."""
    return choices if "update" in choices or "take_over" not in choices else ("update", *choices)


def events(memory: Memory, plan_id: int) -> list[Event]:
    """The plan's journal, oldest first; plan 0 is what belongs to no plan."""
    with memory.read() as t:
        return t.rows(Event, col(Event.plan_id) == plan_id, order=col(Event.seq))


def journal(memory: Memory) -> Iterator[Row[Any]]:
    """What happened to all plans, plan by plan; rows come as they are asked for."""
    wanted = (col(Event.plan_id), col(Event.verb), col(Event.actor), col(Event.at), col(Event.data))
    query = select(*wanted).where(col(Event.plan_id) > 0).order_by(col(Event.plan_id), col(Event.seq))
    with memory.reading_on() as t:
        yield from t.connection.execute(query, execution_options={"yield_per": PAGE})


def head(memory: Memory, plan_id: int) -> tuple[int, str]:
    """How many events the plan's journal must have, and the hash of the last."""
    with memory.read() as t:
        chain = t.plan(plan_id) if plan_id else t.rows(System)[0]
        return chain.events, chain.head


def event(memory: Memory, plan_id: int, seq: int) -> Event | None:
    with memory.read() as t:
        return next(iter(t.rows(Event, col(Event.plan_id) == plan_id, col(Event.seq) == seq)), None)


def answer_to(memory: Memory, plan_id: int, key: str, seq: int) -> Event | None:
    """What a person answered to what event `seq` told of a step, if they have."""
    mine = (col(Event.plan_id) == plan_id, col(Event.seq) > seq)
    answers = col(Event.verb).in_(["answer", "resolve"])
    with memory.read() as t:
        found = t.rows(Event, *mine, answers, order=col(Event.seq))
    return next((event for event in found if event.data.get("step") == key), None)


def _stopped(stops: Sequence[Stop], step: Step) -> Stop | None:
    return next((stop for stop in stops if covers(stop.scope, step)), None)
