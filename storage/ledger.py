"""How a row moves: one transaction, one conditional update, one journal event, and what Slack shall show."""

import logging
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, TypeVar, cast

from sqlalchemy import ColumnElement, Connection, Engine, Table, insert, select, update
from sqlmodel import SQLModel, col

from storage.audit import event_hash
from storage.errors import Conflict, NotFound
from storage.spec import PlanSpec
from storage.states import PLAN_MOVES, STEP_MOVES, StepFact
from storage.tables import Delivery, Event, Message, Plan, Revision, Step

logger = logging.getLogger(__name__)
T = TypeVar("T", bound=SQLModel)

# Which thread message a move asks for. Every move redraws the card besides.
THREAD = {
    "amend": "changes",
    "approve": "decision",
    "reject": "decision",
    "expire": "decision",
    "cancel": "decision",
    "succeed": "outcome",
    "fail": "outcome",
    "lose": "question",
    "withhold": "waits",
    "stall": "question",
    "finish": "summary",
}
URGENT = frozenset({"propose", "amend", "approve", "reject", "expire", "cancel", "stall", "finish", "lose"})
# A card that is proposed at once shall not first be posted as "planning".
FIRST_CARD = timedelta(seconds=0.5)


class Ledger:
    """The two gates and the journal. `Store` adds the verbs."""

    def __init__(self, engine: Engine, clock: Callable[[], datetime]) -> None:
        self.engine = engine
        self.clock = clock
        self._writer = threading.Lock()
        self._handled = threading.local()

    @contextmanager
    def _write(self, *, handles: bool = True) -> Iterator[Connection]:
        # One writer at a time in this process: waiting here is fair, waiting inside SQLite is not.
        with self._writer, self.engine.execution_options(writes=True).begin() as connection:
            yield connection
            if handles and (key := getattr(self._handled, "key", "")):
                # The body may hold a person's words and a trigger; once handled, the key is all we need.
                done = {"handled_at": self.clock(), "body": {}}
                connection.execute(update(Delivery).where(col(Delivery.key) == key).values(**done))

    @contextmanager
    def handling(self, key: str) -> Iterator[None]:
        """What is written in here marks the delivery as handled in the same commit: both, or neither."""
        self._handled.key = key
        try:
            yield
        finally:
            self._handled.key = ""

    @contextmanager
    def _read(self) -> Iterator[Connection]:
        with self.engine.begin() as connection:
            yield connection

    def _move(
        self,
        c: Connection,
        plan_id: int,
        verb: str,
        *,
        actor: str,
        data: Mapping[str, Any] | None = None,
        quiet: bool = False,
        **values: Any,
    ) -> Plan:
        """Move a plan along its table, or say why not."""
        before, after = PLAN_MOVES[verb]
        guard = col(Plan.id) == plan_id, col(Plan.state).in_(before)
        values |= {"state": after, "version": col(Plan.version) + 1}
        row = c.execute(update(Plan).where(*guard).values(**values).returning(table(Plan))).one_or_none()
        if row is None:
            raise Conflict(self._why_not(c, plan_id, verb))
        plan = cast(Plan, row)
        self._note(c, plan, verb, actor=actor, data=data or {}, quiet=quiet)
        return plan

    def _touch(self, c: Connection, plan_id: int) -> Plan:
        """Lock the plan's row first, so that verbs on one plan happen one after the other."""
        bump = update(Plan).where(col(Plan.id) == plan_id).values(version=col(Plan.version) + 1)
        row = c.execute(bump.returning(table(Plan))).one_or_none()
        if row is None:
            raise NotFound(f"There is no plan {plan_id}.")
        return cast(Plan, row)

    def _move_step(self, c: Connection, step: Step, verb: str, **values: Any) -> Step:
        """Move a step along its table. The attempt number fences: whoever lost the step changes nothing."""
        before, after = STEP_MOVES[verb]
        guard = (
            col(Step.id) == step.id,
            col(Step.state).in_(before),
            col(Step.attempt) == step.attempt,
        )
        moved = update(Step).where(*guard).values(state=after, **values).returning(table(Step))
        row = c.execute(moved).one_or_none()
        if row is None:
            raise Conflict(f"Step {step.key} has moved on; {verb} came too late.")
        return cast(Step, row)

    def _note(
        self,
        c: Connection,
        plan: Plan,
        verb: str,
        *,
        actor: str,
        data: Mapping[str, Any],
        quiet: bool = False,
    ) -> None:
        """Write the journal event and the outbox rows of one move."""
        event_id = self._journal(c, plan, verb, actor=actor, data=data)
        logger.info("plan=%s verb=%s actor=%s step=%s", plan.id, verb, actor, data.get("step", "-"))
        self._want_card(c, plan, urgent=verb in URGENT)
        if verb in THREAD and not quiet:
            kind = THREAD[verb]
            key, step = f"{kind}:{plan.id}:{event_id}", str(data.get("step", ""))
            self._want(c, plan, key=key, kind=kind, event_id=event_id, step=step)

    def _journal(self, c: Connection, plan: Plan, verb: str, *, actor: str, data: Mapping[str, Any]) -> int:
        """Append to the plan's chain; its head stands in the plan row, which this transaction holds."""
        head, events = c.execute(
            select(col(Plan.head), col(Plan.events)).where(col(Plan.id) == plan.id)
        ).one()
        link = {"verb": verb, "actor": actor, "data": dict(data)}
        event_id, digest = self._append(c, plan.id or 0, events + 1, head, link)
        c.execute(update(Plan).where(col(Plan.id) == plan.id).values(head=digest, events=events + 1))
        return event_id

    def _append(
        self, c: Connection, plan_id: int, seq: int, prev: str, link: Mapping[str, Any]
    ) -> tuple[int, str]:
        """Add one event to a chain; its id and its hash, which is the chain's new head."""
        at = self.clock()
        digest = event_hash(prev=prev, plan=plan_id, seq=seq, at=at, **link)
        row = {"plan_id": plan_id, "seq": seq, "at": at, "prev": prev, "hash": digest, **link}
        event_id = c.execute(insert(Event).values(**row).returning(col(Event.id))).scalar_one()
        return int(event_id or 0), digest

    def _want_card(self, c: Connection, plan: Plan, *, urgent: bool) -> None:
        values: dict[str, Any] = {"wanted": plan.version}
        if urgent:
            values |= {"urgent": True, "not_before": self.clock()}
        found = c.execute(update(Message).where(col(Message.key) == f"card:{plan.id}").values(**values))
        if not found.rowcount:
            self._want(c, plan, key=f"card:{plan.id}", kind="card", wanted=plan.version, wait=FIRST_CARD)

    def _want(
        self,
        c: Connection,
        plan: Plan,
        *,
        key: str,
        kind: str,
        event_id: int = 0,
        step: str = "",
        wanted: int = 1,
        wait: timedelta = timedelta(0),
    ) -> None:
        message = Message(plan_id=plan.id or 0, key=key, kind=kind, channel=plan.channel, event_id=event_id)
        message.wanted, message.step = wanted, step
        self._queue(c, message, wait=wait)

    def _queue(self, c: Connection, message: Message, *, wait: timedelta = timedelta(0)) -> None:
        """Put a message into the outbox."""
        message.not_before = self.clock() + wait
        c.execute(insert(Message).values(**message.model_dump(exclude={"id"})))

    def _redraw(self, c: Connection, plan_id: int, keys: Collection[str]) -> None:
        """Show the messages about these steps anew, at once: their buttons come or go."""
        guard = col(Message.plan_id) == plan_id, col(Message.step).in_(keys)
        values = {"wanted": col(Message.wanted) + 1, "urgent": True, "not_before": self.clock()}
        c.execute(update(Message).where(*guard).values(**values))

    def _why_not(self, c: Connection, plan_id: int, verb: str) -> str:
        plan = self._plan(c, plan_id)
        how = f" ({plan.outcome})" if plan.outcome else ""
        return f"Plan {plan_id} is {plan.state}{how} now, so {verb} is no longer possible."

    def _plan(self, c: Connection, plan_id: int) -> Plan:
        found = rows(c, Plan, col(Plan.id) == plan_id)
        if not found:
            raise NotFound(f"There is no plan {plan_id}.")
        return found[0]

    def _revision(self, c: Connection, plan: Plan) -> Revision:
        found = rows(c, Revision, col(Revision.plan_id) == plan.id, col(Revision.number) == plan.revision)
        if not found:
            raise NotFound(f"Plan {plan.id} has no revision yet.")
        return found[0]

    def _spec(self, c: Connection, plan: Plan) -> PlanSpec:
        return read_spec(self._revision(c, plan).spec)[0]

    def _step(self, c: Connection, step_id: int) -> Step:
        found = rows(c, Step, col(Step.id) == step_id)
        if not found:
            raise NotFound(f"There is no step {step_id}.")
        return found[0]

    def _steps(self, c: Connection, plan: Plan) -> list[Step]:
        """The steps of the current revision, in their order."""
        mine = (col(Step.plan_id) == plan.id, col(Step.revision) == plan.revision)
        return rows(c, Step, *mine, order=col(Step.position))


@lru_cache(maxsize=512)
def read_spec(text: str) -> tuple[PlanSpec, str]:
    """A stored document and the digest of what it says now; remembered by its text, so an edit is seen."""
    spec = PlanSpec.model_validate_json(text)
    return spec, spec.digest()


def table(model: type[SQLModel]) -> Table:
    """The Core table behind a model: moves go round the ORM session, which costs 2-4 times as much."""
    return SQLModel.metadata.tables[str(model.__tablename__)]


def rows(
    c: Connection, model: type[T], *where: ColumnElement[bool], order: Any = None, limit: int | None = None
) -> list[T]:
    """Rows with the model's columns as attributes, to read: making models of them costs ten times more."""
    query = select(table(model)).where(*where).order_by(order).limit(limit)
    return cast(list[T], c.execute(query).all())


def facts(steps: list[Step]) -> dict[str, StepFact]:
    """What deciding needs of the rows."""
    return {
        step.key: StepFact(
            key=step.key,
            state=step.state,
            choice=step.choice,
            started=step.attempt > 0,
            undo=step.undo,
            data=(step.report or {}).get("data") or {},
        )
        for step in steps
    }
