"""What follows from the steps as they are: births, skips, rollbacks, ends. Runs inside a verb."""

import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Engine, and_, bindparam, insert, select, update
from sqlmodel import col

from storage.contract.capability import Contract
from storage.contract.documents import readable
from storage.contract.spec import PlanSpec, StepSpec
from storage.contract.states import (
    BUSY,
    PlanState,
    Settlement,
    StepFact,
    StepState,
    settle,
    startable,
    undo_order,
)
from storage.database.statements import Among, Prepared, Together, table
from storage.database.tables import Capability, Plan, Preview, Revision, Step
from storage.errors import Conflict, NotFound
from storage.journal.events import NOTED, Chain, Note
from storage.safeguards.stops import Stops
from storage.secrets.redaction import Redactor
from storage.transaction import Write, rows

PERMIT = timedelta(seconds=60)
FRAMES = 1024  # kept in memory
logger = logging.getLogger(__name__)

CURRENT = and_(col(Step.plan_id) == col(Plan.id), col(Step.revision) == col(Plan.revision))
PLAN_FACTS = (
    "id", "state", "revision", "version", "cancelled_by", "reason", "channel", "head", "events",
)  # fmt: skip
AMONG = Among(table(Plan).c.id, "ids")
PLANS = Prepared(
    select(*(table(Plan).c[name] for name in PLAN_FACTS))
    .where(AMONG)
    .order_by(col(Plan.id))  # every transaction takes its plans in this order
    .with_for_update()
)
SPECS = Prepared(
    select(table(Revision).c.plan_id, table(Revision).c.spec)
    .join(Plan, and_(col(Revision.plan_id) == col(Plan.id), col(Revision.number) == col(Plan.revision)))
    .where(AMONG)
)
FACTS = (
    "id", "plan_id", "key", "state", "choice", "attempt", "undo", "target", "owner", "not_before", "due_at",
)  # fmt: skip
STEPS = Prepared(
    select(*(table(Step).c[name] for name in FACTS))
    .join(Plan, CURRENT)
    .where(AMONG)
    .order_by(col(Step.plan_id), col(Step.position))
)
REPORTS = Prepared(
    select(*(table(Step).c[name] for name in ("plan_id", "key", "report"))).join(Plan, CURRENT).where(AMONG)
)
SET_DUE = Prepared(
    update(table(Step)).where(col(Step.id) == bindparam("step")).values(due_at=bindparam("due"))
)
DUES = Together(due=SET_DUE)


@dataclass
class Frame:
    """A plan while a transaction holds it: its document, and where its steps stand."""

    plan: Any  # PLAN_FACTS
    spec: PlanSpec
    steps: dict[str, Any]  # FACTS
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

    def changed(self, now: datetime) -> list[dict[str, Any]]:
        """The steps whose `due_at` must change: set while nothing but time keeps them from starting."""
        free, steps = self.free(), self.steps
        early = [key for key, step in steps.items() if step.due_at and key not in free]
        late = {key: steps[key].not_before or steps[key].due_at or now for key in free}
        changes = dict.fromkeys(early) | {key: due for key, due in late.items() if due != steps[key].due_at}
        return [{"key": key, "step": steps[key].id, "due": due} for key, due in changes.items()]


class Settling(Stops):
    """Steps are born by an approval or a rollback, and after each report the plan settles."""

    def __init__(
        self, engine: Engine, clock: Callable[[], datetime], redactor: Redactor | None = None
    ) -> None:
        super().__init__(engine, clock, redactor)
        # As this process left them; a plan's version says if it still holds.
        self._held: dict[int, Frame] = {}

    def _bear(
        self, c: Connection, plan: Plan, specs: list[StepSpec], *, undo: bool, permits: bool = True
    ) -> None:
        """Make step rows from approved specs; what a worker promised must still be what was approved."""
        taken = len(self._steps(c, plan))
        contracts = [self._contract(c, spec) for spec in specs]
        shown = (col(Preview.plan_id) == plan.id, col(Preview.revision) == plan.revision)
        bases = {preview.key: preview.basis for preview in rows(c, Preview, *shown)}
        touched: set[str] = set()
        for position, (spec, contract) in enumerate(zip(specs, contracts, strict=True), start=taken):
            until, target = None if undo else spec.schedule.not_after, contract.locks(spec.parameters)
            step = Step(
                plan_id=plan.id or 0, revision=plan.revision, position=position, key=spec.id, undo=undo,
                digest=spec.digest(), worker=contract.worker, action=spec.action, changes=contract.changes,
                repeat=contract.repeat, timeout=contract.timeout, target=target,
                environment=contract.environment(spec.parameters), state=StepState.pending,
                permit_until=self.clock() + (PERMIT if permits else timedelta(0)),
                basis="" if target in touched else bases.get(spec.id, ""),
                not_before=None if undo else spec.schedule.not_before,
                not_after=until, start_by=until and until - timedelta(seconds=contract.timeout),
            )  # fmt: skip
            c.execute(insert(Step).values(**step.model_dump(exclude={"id"})))
            touched |= {target} - {""}  # what an earlier step moves is no surprise to a later one

    def _contract(self, c: Connection, spec: StepSpec) -> Contract:
        found = rows(
            c, Capability, col(Capability.worker) == spec.worker, col(Capability.action) == spec.action
        )
        if not found:
            raise NotFound(f"No worker offers {spec.worker}.{spec.action} any more.")
        if found[0].hash != spec.contract:
            raise Conflict(
                f"{spec.worker}.{spec.action} has changed since this was proposed; please plan again."
            )
        return Contract.model_validate(found[0].contract)

    def _settle(self, c: Connection, *ids: int) -> None:
        """Do what follows from the steps of these plans as they are now."""
        self._settle_frames(c, self._frames(c, ids), [])

    def _settle_frames(
        self, c: Connection, frames: dict[int, Frame], notes: list[Note], write: Write = DUES.run
    ) -> None:
        """The same for plans that are held; each frame stays what the rows say.

        `notes` are what has happened to them so far, and `write` puts it into their rows: both come first,
        should more follow from it.
        """
        for plan_id in [*frames]:
            while plan_id in frames and (next_ := _next(frames[plan_id])):
                write(c)
                write = DUES.run
                self._record(c, notes, frames)
                self._follow(c, frames.pop(plan_id), next_)
                frames |= self._frames(c, [plan_id])
        now, changed = self.clock(), []
        for frame in frames.values():
            for change in frame.changed(now):
                frame.put(change["key"], due_at=change["due"])
                changed.append(change)
        write(c, due=changed)

    def _record(
        self, c: Connection, notes: list[Note], frames: Mapping[int, Frame], write: Write = NOTED.run
    ) -> None:
        """Tell what has happened, once."""
        known = {note.plan: Chain.of(frames[note.plan].plan) for note in notes if note.plan in frames}
        for plan_id, chain in self._notes(c, notes, known, write).items():
            if plan_id in frames:
                frames[plan_id].at(chain)
        notes.clear()

    def _frames(self, c: Connection, ids: Collection[int]) -> dict[int, Frame]:
        """Lock these plans and read them. One that cannot be read stalls, and the others go on."""
        plans = {row.id: row for row in PLANS.all(c, ids=sorted(ids))} if ids else {}
        known = {id_: kept for id_, row in plans.items() if (kept := self._kept(row))}
        return known | self._read_frames(c, {id_: row for id_, row in plans.items() if id_ not in known})

    def _known(self, ids: set[int]) -> dict[int, Frame] | None:
        """The frames of these plans as this process left them, if it knows them all."""
        return {id_: self._held.pop(id_) for id_ in ids} if self._held.keys() >= ids else None

    def _kept(self, row: Any) -> Frame | None:
        """The frame as this process left it, if nobody has touched the plan since."""
        kept = self._held.pop(row.id, None)
        return kept if kept and kept.plan.version == row.version else None

    def _hold(self, frames: Mapping[int, Frame]) -> None:
        """Remember these for the next turn. Only after the commit: what was rolled back never was."""
        if len(self._held) > FRAMES:
            self._held.clear()
        self._held.update(frames)

    def _read_frames(self, c: Connection, plans: Mapping[int, Any]) -> dict[int, Frame]:
        if not plans:
            return {}
        steps: dict[int, dict[str, Any]] = {plan_id: {} for plan_id in plans}
        for row in STEPS.all(c, ids=sorted(plans)):
            steps[row.plan_id][row.key] = row
        read = {d.plan_id: readable(d.spec, steps[d.plan_id]) for d in SPECS.all(c, ids=sorted(plans))}
        specs = {plan_id: spec for plan_id, spec in read.items() if spec}
        self._alarm(c, [plans[plan_id] for plan_id in set(read) - set(specs)])
        data = self._data(c, [plan_id for plan_id, spec in specs.items() if spec.done_when])
        return {
            id_: Frame(plans[id_], spec, steps[id_], facts_of(steps[id_], data.get(id_, {})))
            for id_, spec in specs.items()
        }

    def _alarm(self, c: Connection, plans: Iterable[Any]) -> None:
        """Stored plans that cannot be read: nothing of them starts, and people hear of it."""
        reason = "the stored plan cannot be read: it was changed behind the bot's back"
        for plan in plans:
            logger.error("plan=%s stops: %s", plan.id, reason)
            if plan.state == PlanState.approved:
                self._move(c, plan.id, "stall", actor="rules", data={"reason": reason}, reason=reason)

    def _data(self, c: Connection, ids: Collection[int]) -> dict[int, dict[str, dict[str, Any]]]:
        """What the steps of these plans have reported."""
        found: dict[int, dict[str, dict[str, Any]]] = {plan_id: {} for plan_id in ids}
        for row in REPORTS.all(c, ids=sorted(ids)) if ids else ():
            found[row.plan_id][row.key] = (row.report or {}).get("data") or {}
        return found

    def _follow(self, c: Connection, frame: Frame, next_: Settlement) -> None:
        plan_id, data = frame.plan.id, {"reason": next_.reason, "outcome": next_.outcome}
        plan = self._plan(c, plan_id)
        if next_.verb == "skip":
            self._skip(c, [s for s in self._steps(c, plan) if s.key in next_.keys])
        elif next_.verb == "rollback":
            self._roll_back(c, plan, undo_order(frame.spec, frame.facts), data)
        else:
            if next_.verb != "stall":
                self._skip_pending(c, plan)
            # The failed step's own message asks the question.
            quiet = next_.verb == "stall"
            self._redraw(c, plan_id, next_.keys if quiet else ())
            actor = frame.plan.cancelled_by or "rules"
            look = {"look": table(Plan).c.events + 1 if next_.looks else 0}
            self._move(c, plan_id, next_.verb, actor=actor, data=data, quiet=quiet, **data, **look)

    def _roll_back(self, c: Connection, plan: Plan, undos: list[StepSpec], data: dict[str, str]) -> None:
        """Bear the undo steps; if a worker no longer promises what was approved, a person must decide."""
        self._skip_pending(c, plan)
        try:
            self._bear(c, plan, undos, undo=True)
        except (NotFound, Conflict) as error:
            reason = f"the rollback cannot start: {error}"
            self._move(c, plan.id or 0, "stall", actor="rules", data={"reason": reason}, reason=reason)
        else:
            self._note(c, plan, "rollback", actor="rules", data=data)

    def _skip_pending(self, c: Connection, plan: Plan) -> None:
        mine = (col(Step.plan_id) == plan.id, col(Step.revision) == plan.revision)
        self._skip(c, rows(c, Step, *mine, col(Step.state) == StepState.pending, order=col(Step.position)))

    def _skip(self, c: Connection, steps: list[Step]) -> None:
        for step in steps:
            self._move_step(c, step, "skip", ended_at=self.clock(), due_at=None)


def _next(frame: Frame) -> Settlement | None:
    if frame.plan.state != PlanState.approved:
        return None
    if not frame.plan.cancelled_by:
        return settle(frame.spec, frame.facts)
    busy = any(fact.state in BUSY for fact in frame.facts.values())
    return None if busy else Settlement("cancel", frame.plan.reason)


def facts_of(steps: Mapping[str, Any], data: Mapping[str, dict[str, Any]]) -> dict[str, StepFact]:
    """As much of these rows, and of what they reported, as deciding needs."""
    return {key: _fact(row, data.get(key, {})) for key, row in steps.items()}


def _fact(row: Any, data: Mapping[str, Any] | None) -> StepFact:
    return StepFact(row.key, row.state, row.choice, row.attempt > 0, row.undo, data)
