"""A plan while a transaction holds it: read once, kept in step with what is written, and never stale."""

import logging
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import and_, bindparam, select, update
from sqlmodel import col

from storage.contract.spec import PlanSpec, readable
from storage.contract.states import PlanState, StepFact, StepState, startable
from storage.database.statements import Among, Prepared, Together, table
from storage.database.tables import Plan, Revision, Step
from storage.journal.events import NOTED, Chain, Note
from storage.transaction import Transaction, Write

logger = logging.getLogger(__name__)


class PlanFacts(NamedTuple):
    """As much of a plan's row as deciding needs."""

    id: int
    state: PlanState
    revision: int
    version: int
    cancelled_by: str
    reason: str
    channel: str
    head: str
    events: int


class StepFacts(NamedTuple):
    """As much of a step's row as deciding needs."""

    id: int
    plan_id: int
    key: str
    state: StepState
    choice: str
    attempt: int
    undo: bool
    target: str
    owner: str
    not_before: datetime | None
    due_at: datetime | None


class Documented(NamedTuple):
    """A plan's document."""

    plan_id: int
    spec: str


class Reported(NamedTuple):
    """What a step has reported."""

    plan_id: int
    key: str
    report: dict[str, Any] | None


class DueChange(NamedTuple):
    """From when on a step may start; None while others keep it from that."""

    key: str
    step: int
    due: datetime | None


Reports = dict[str, dict[str, Any]]  # the data of each step's report, by its key

CURRENT = and_(col(Step.plan_id) == col(Plan.id), col(Step.revision) == col(Plan.revision))
AMONG = Among(table(Plan).c.id, "ids")
PLANS = Prepared(
    select(*(table(Plan).c[name] for name in PlanFacts._fields))
    .where(AMONG)
    .order_by(col(Plan.id))  # every transaction takes its plans in this order
    .with_for_update(),
    PlanFacts,
)
SPECS = Prepared(
    select(table(Revision).c.plan_id, table(Revision).c.spec)
    .join(Plan, and_(col(Revision.plan_id) == col(Plan.id), col(Revision.number) == col(Plan.revision)))
    .where(AMONG),
    Documented,
)
STEPS = Prepared(
    select(*(table(Step).c[name] for name in StepFacts._fields))
    .join(Plan, CURRENT)
    .where(AMONG)
    .order_by(col(Step.plan_id), col(Step.position)),
    StepFacts,
)
REPORTS = Prepared(
    select(*(table(Step).c[name] for name in Reported._fields)).join(Plan, CURRENT).where(AMONG), Reported
)
SET_DUE = Prepared(
    update(table(Step)).where(col(Step.id) == bindparam("step")).values(due_at=bindparam("due"))
)
DUES = Together(due=SET_DUE)


@dataclass
class Frame:
    """A plan while a transaction holds it: its document, and where its steps stand."""

    plan: PlanFacts
    spec: PlanSpec
    steps: dict[str, StepFacts]
    facts: dict[str, StepFact]
    _free: set[str] | None = None

    def put(self, key: str, data: dict[str, Any] | None = None, **moved: Any) -> None:
        """A step has moved, and may have reported data."""
        row = self.steps[key] = self.steps[key]._replace(**moved)
        self._free = None if moved.keys() - {"due_at"} else self._free
        self.facts[key] = _fact(row, self.facts[key].data if data is None else data)

    def at(self, chain: Chain) -> None:
        """The plan's row has this version and this head now."""
        self.plan = self.plan._replace(version=chain.version, head=chain.head, events=chain.events)

    def free(self) -> set[str]:
        """The steps that dependencies, siblings and people let start."""
        if self._free is None:
            live = self.plan.state == PlanState.approved and not self.plan.cancelled_by
            self._free = startable(self.spec, self.facts) if live else set()
        return self._free

    def changed(self, now: datetime) -> list[DueChange]:
        """The steps whose `due_at` must change: set while nothing but time keeps them from starting."""
        free, steps = self.free(), self.steps
        early = [key for key, step in steps.items() if step.due_at and key not in free]
        late = {key: steps[key].not_before or steps[key].due_at or now for key in free}
        changes: dict[str, datetime | None] = dict.fromkeys(early)
        changes |= {key: due for key, due in late.items() if due != steps[key].due_at}
        return [DueChange(key, steps[key].id, due) for key, due in changes.items()]


class Kept:
    """Frames as this process left them; a plan's version says if one still holds."""

    MOST = 1024

    def __init__(self) -> None:
        self._frames: dict[int, Frame] = {}

    def all_of(self, ids: set[int]) -> dict[int, Frame] | None:
        """Taken out, if every one of these is known."""
        known = self._frames.keys() >= ids
        return {plan_id: self._frames.pop(plan_id) for plan_id in ids} if known else None

    def still(self, row: PlanFacts) -> Frame | None:
        """Taken out, if nobody has touched the plan since."""
        kept = self._frames.pop(row.id, None)
        return kept if kept and kept.plan.version == row.version else None

    def keep(self, frames: Mapping[int, Frame]) -> None:
        """For the next turn. Only after the commit: what was rolled back never was."""
        if len(self._frames) > self.MOST:
            self._frames.clear()
        self._frames.update(frames)


def read_frames(t: Transaction, ids: Collection[int], kept: Kept | None = None) -> dict[int, Frame]:
    """Lock these plans and read them. One that cannot be read stalls, and the others go on."""
    plans = {row.id: row for row in PLANS.all(t.connection, ids=sorted(ids))} if ids else {}
    known = {id_: frame for id_, row in plans.items() if kept and (frame := kept.still(row))}
    return known | _read(t, {id_: row for id_, row in plans.items() if id_ not in known})


def _read(t: Transaction, plans: Mapping[int, PlanFacts]) -> dict[int, Frame]:
    if not plans:
        return {}
    steps: dict[int, dict[str, StepFacts]] = {plan_id: {} for plan_id in plans}
    for row in STEPS.all(t.connection, ids=sorted(plans)):
        steps[row.plan_id][row.key] = row
    found = SPECS.all(t.connection, ids=sorted(plans))
    read = {d.plan_id: readable(d.spec, steps[d.plan_id]) for d in found}
    specs = {plan_id: spec for plan_id, spec in read.items() if spec}
    _alarm(t, [plans[plan_id] for plan_id in set(read) - set(specs)])
    data = reported(t, [plan_id for plan_id, spec in specs.items() if spec.done_when])
    return {
        id_: Frame(plans[id_], spec, steps[id_], facts_of(steps[id_], data.get(id_, {})))
        for id_, spec in specs.items()
    }


def _alarm(t: Transaction, plans: Iterable[PlanFacts]) -> None:
    """Stored plans that cannot be read: nothing of them starts, and people hear of it."""
    reason = "the stored plan cannot be read: it was changed behind the bot's back"
    for plan in plans:
        logger.error("plan=%s stops: %s", plan.id, reason)
        if plan.state == PlanState.approved:
            t.move(plan.id, "stall", actor="rules", data={"reason": reason}, reason=reason)


def reported(t: Transaction, ids: Collection[int]) -> dict[int, Reports]:
    """What the steps of these plans have reported."""
    found: dict[int, Reports] = {plan_id: {} for plan_id in ids}
    for row in REPORTS.all(t.connection, ids=sorted(ids)) if ids else ():
        found[row.plan_id][row.key] = (row.report or {}).get("data") or {}
    return found


def so_far(t: Transaction, plan_id: int) -> Reports:
    """What the steps of a plan have reported that succeeded, in whichever revision."""
    succeeded = (col(Step.plan_id) == plan_id, col(Step.state) == StepState.succeeded)
    rows = t.rows(Step, *succeeded, order=col(Step.revision))
    return {row.key: (row.report or {}).get("data") or {} for row in rows}


def record(t: Transaction, notes: list[Note], frames: Mapping[int, Frame], write: Write = NOTED.run) -> None:
    """Tell what has happened, once."""
    known = {note.plan: Chain.of(frames[note.plan].plan) for note in notes if note.plan in frames}
    for plan_id, chain in t.notes(notes, known, write).items():
        if plan_id in frames:
            frames[plan_id].at(chain)
    notes.clear()


def facts_of(steps: Mapping[str, StepFacts | Step], data: Reports) -> dict[str, StepFact]:
    """As much of these rows, and of what they reported, as deciding needs."""
    return {key: _fact(row, data.get(key, {})) for key, row in steps.items()}


def _fact(row: StepFacts | Step, data: Mapping[str, Any] | None) -> StepFact:
    return StepFact(row.key, row.state, row.choice, row.attempt > 0, row.undo, data)
