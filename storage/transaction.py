"""How a row moves: one transaction, one conditional update, one journal event, and what Slack shall show."""

import logging
import sqlite3
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, TypeVar, cast

import psycopg
from sqlalchemy import ColumnElement, Connection, Engine, insert, select, update
from sqlalchemy.exc import OperationalError
from sqlmodel import SQLModel, col

from storage.contract.documents import read_spec
from storage.contract.spec import PlanSpec
from storage.contract.states import PLAN_MOVES, STEP_MOVES
from storage.database.fair_lock import FairLock
from storage.database.statements import table
from storage.database.tables import Delivery, Message, Plan, Revision, Step
from storage.errors import Conflict, NotFound, Unavailable
from storage.journal.events import CARDS, HEADS, NOTED, THREAD, URGENT, Chain, Note, cards, message
from storage.secrets.redaction import Redactor

logger = logging.getLogger(__name__)
T = TypeVar("T", bound=SQLModel)

# A card that is proposed at once shall not first be posted as "planning".
FIRST_CARD = timedelta(seconds=0.5)
Write = Callable[..., object]
NONE: Mapping[int, Chain] = MappingProxyType({})
LINE = "plan=%s verb=%s actor=%s step=%s"


@contextmanager
def _answering() -> Iterator[None]:
    """Tell a database that does not answer from everything else that can go wrong."""
    try:
        yield
    except (OperationalError, sqlite3.OperationalError, psycopg.OperationalError) as error:
        raise Unavailable(f"The database does not answer: {error}") from error


class Ledger:
    """The two gates and the journal. `Store` adds the verbs."""

    def __init__(
        self, engine: Engine, clock: Callable[[], datetime], redactor: Redactor | None = None
    ) -> None:
        self.redact = redactor or Redactor()
        self.engine = engine
        self._writing = engine.execution_options(writes=True)
        self.clock = clock
        self._writer = FairLock()
        self._handled = threading.local()

    @contextmanager
    def _write(self, *, handles: bool = True, urgent: bool = False) -> Iterator[Connection]:
        # One writer at a time in this process: waiting here is fair, waiting inside SQLite is not.
        with (
            self._writer.turn(urgent=urgent),
            _answering(),
            self._writing.connect() as connection,
            connection.begin(),
        ):
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
            with self.coming(key.partition(":")[0]):
                yield
        finally:
            self._handled.key = ""

    @contextmanager
    def coming(self, via: str) -> Iterator[None]:
        """By which way people come to what is written in here: the journal says it with every event."""
        self._handled.via = via
        try:
            yield
        finally:
            self._handled.via = ""

    def _told(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """What an event says: nothing secret, and the way in, if a person came."""
        via = getattr(self._handled, "via", "")
        told: dict[str, Any] = self.redact.data(data)
        return told | {"via": via} if via else told

    @contextmanager
    def _read(self) -> Iterator[Connection]:
        with _answering(), self.engine.begin() as connection:
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
        values = {name: self.redact.data(value) for name, value in values.items()}
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
        self._notes(c, [Note(plan.id or 0, verb, actor, data, quiet)])

    def _notes(
        self,
        c: Connection,
        notes: Sequence[Note],
        known: Mapping[int, Chain] = NONE,
        write: Write = NOTED.run,
    ) -> dict[int, Chain]:
        """The same for several moves, in as few statements; the chains of their plans as they are now.

        `write` may write more in the same statement.
        """
        if not notes:
            return {}
        chains, now = self._link(c, notes, known), self.clock()
        said = [note for note in notes if note.verb in THREAD and not note.quiet]
        urgent = {note.plan for note in notes if note.verb in URGENT}
        versions = {plan_id: chain.version for plan_id, chain in chains.items()}
        write(
            c,
            events=[note.event for note in notes],
            heads=[chain.values(plan_id) for plan_id, chain in chains.items()],
            said=[message(note, chains[note.plan].channel, now) for note in said],
            **cards(versions, urgent, now),
        )
        return chains

    def _journal(self, c: Connection, plan: Plan, verb: str, *, actor: str, data: Mapping[str, Any]) -> None:
        """Write only the journal event."""
        note = Note(plan.id or 0, verb, actor, data)
        (chain,) = self._link(c, [note], NONE).values()
        NOTED.run(c, events=[note.event], heads=[chain.values(note.plan)])

    def _link(self, c: Connection, notes: Sequence[Note], known: Mapping[int, Chain]) -> dict[int, Chain]:
        """Link events to the plans' chains; each head stands in a plan row, which this transaction holds."""
        chains = {note.plan: known[note.plan] for note in notes if note.plan in known}
        if missing := sorted({note.plan for note in notes} - chains.keys()):
            chains |= {row.id: Chain.of(row) for row in HEADS.all(c, ids=missing)}
        for chain in chains.values():
            chain.version += 1
        at = self.clock()
        for note in notes:
            note.data = self._told(note.data)
            chains[note.plan].add(note, at)
            logger.info(LINE, note.plan, note.verb, note.actor, note.data.get("step", "-"))
        return chains

    def _want_cards(self, c: Connection, versions: Mapping[int, int], urgent: Collection[int]) -> None:
        """Have these plans' cards drawn anew, at a version; the urgent ones at once."""
        CARDS.run(c, **cards(versions, urgent, self.clock()))

    def _first_card(self, c: Connection, plan: Plan) -> None:
        card = Message(plan_id=plan.id or 0, key=f"card:{plan.id}", kind="card", channel=plan.channel)
        card.wanted = plan.version
        self._queue(c, card, wait=FIRST_CARD)

    def _queue(self, c: Connection, message: Message, *, wait: timedelta = timedelta(0)) -> None:
        """Put a message into the outbox."""
        message.not_before, message.text = self.clock() + wait, self.redact.text(message.text)
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

    def _numbered(self, c: Connection, plan: Plan, number: int) -> Revision:
        (found,) = rows(c, Revision, col(Revision.plan_id) == plan.id, col(Revision.number) == number)
        return found

    def _spec(self, c: Connection, plan: Plan) -> PlanSpec:
        return read_spec(self._revision(c, plan).spec).spec

    def _step(self, c: Connection, step_id: int) -> Step:
        found = rows(c, Step, col(Step.id) == step_id)
        if not found:
            raise NotFound(f"There is no step {step_id}.")
        return found[0]

    def _steps(self, c: Connection, plan: Plan) -> list[Step]:
        """The steps of the current revision, in their order."""
        mine = (col(Step.plan_id) == plan.id, col(Step.revision) == plan.revision)
        return rows(c, Step, *mine, order=col(Step.position))


def rows(
    c: Connection, model: type[T], *where: ColumnElement[bool], order: Any = None, limit: int | None = None
) -> list[T]:
    """Rows with the model's columns as attributes, to read: making models of them costs ten times more."""
    query = select(table(model)).where(*where).order_by(order).limit(limit)
    return cast(list[T], c.execute(query).all())
