"""How a row moves: one transaction, one conditional update, one journal event, and what Slack shall show."""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, Protocol, TypeVar

from sqlalchemy import ColumnElement, Connection, CursorResult, Executable, bindparam, insert, update
from sqlalchemy.orm import Session
from sqlalchemy.util.typing import TupleAny, Unpack
from sqlmodel import SQLModel, col, select

from storage.contract.spec import PlanSpec, read_spec
from storage.contract.states import PLAN_MOVES, STEP_MOVES
from storage.database.models import Models
from storage.database.statements import table
from storage.database.tables import Approval, Message, Plan, Preview, Revision, Spending, Step, System
from storage.errors import Conflict, NotFound
from storage.journal.chain import event_hash
from storage.journal.events import ADD_EVENT, CARDS, HEADS, NOTED, THREAD, URGENT, Chain, Note, cards, message
from storage.secrets.redaction import Redactor

logger = logging.getLogger(__name__)
T = TypeVar("T", bound=SQLModel)

# A card that is proposed at once shall not first be posted as "planning".
FIRST_CARD = timedelta(seconds=0.5)
Write = Callable[..., object]
MINE: tuple[Any, Any] = bindparam("plan"), bindparam("revision")
PLAN = Models(Plan, col(Plan.id) == MINE[0])
REVISION = Models(Revision, col(Revision.plan_id) == MINE[0], col(Revision.number) == MINE[1])
STEPS = Models(Step, col(Step.plan_id) == MINE[0], col(Step.revision) == MINE[1], order=col(Step.position))
TOUCH = Models.moved(
    Plan, update(table(Plan)).where(col(Plan.id) == MINE[0]).values(version=col(Plan.version) + 1)
)
PREVIEWS = Models(Preview, col(Preview.plan_id) == MINE[0], col(Preview.revision) == MINE[1])
NONE: Mapping[int, Chain] = MappingProxyType({})
LINE = "plan=%s verb=%s actor=%s step=%s"


class Fenced(Protocol):
    """A step, by what fences it."""

    @property
    def id(self) -> int: ...
    @property
    def key(self) -> str: ...
    @property
    def attempt(self) -> int: ...


@dataclass
class Transaction:
    """What every verb writes with, for one commit: the two gates, the journal, the outbox."""

    connection: Connection
    clock: Callable[[], datetime]
    redact: Redactor
    via: str = ""  # by which way a person came
    _session: Session | None = None

    def execute(self, statement: Executable, *values: Any) -> CursorResult[Unpack[TupleAny]]:
        return self.connection.execute(statement, *values)

    def rows(
        self, model: type[T], *where: ColumnElement[bool], order: Any = None, limit: int | None = None
    ) -> list[T]:
        """The rows as they are now. On the hot path `Prepared` reads them at a tenth of the cost."""
        return self.models(select(model).where(*where).order_by(order).limit(limit))

    def models(self, statement: Any, **values: Any) -> list[Any]:
        """What a statement finds, or returns of what it wrote, as models that nothing else holds.

        The session forgets them at once: whatever is read is read from the rows.
        """
        if self._session is None:
            self._session = Session(self.connection, autoflush=False, join_transaction_mode="rollback_only")
        unseen = {"synchronize_session": False}
        found = self._session.scalars(statement, values, execution_options=unseen).all()
        self._session.expunge_all()
        return [*found]

    def move(
        self,
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
        moved: list[Plan] = self.models(update(Plan).where(*guard).values(**values).returning(Plan))
        if not moved:
            raise Conflict(self.why_not(plan_id, verb))
        self.note(moved[0], verb, actor=actor, data=data or {}, quiet=quiet)
        return moved[0]

    def touch(self, plan_id: int) -> Plan:
        """Lock the plan's row first, so that verbs on one plan happen one after the other."""
        if touched := TOUCH.first(self.connection, plan=plan_id):
            return touched
        raise NotFound(f"There is no plan {plan_id}.")

    def change(self, plan: Plan, **values: Any) -> None:
        """Change what a plan says of itself; where it stands is for `move`."""
        self.execute(update(Plan).where(col(Plan.id) == plan.id).values(**values))

    def move_step(self, step: Fenced, verb: str, **values: Any) -> None:
        """Move a step along its table. The attempt number fences: whoever lost the step changes nothing."""
        before, after = STEP_MOVES[verb]
        guard = col(Step.id) == step.id, col(Step.state).in_(before), col(Step.attempt) == step.attempt
        if not self.execute(update(Step).where(*guard).values(state=after, **values)).rowcount:
            raise Conflict(f"Step {step.key} has moved on; {verb} came too late.")

    def change_step(self, step: Fenced, **values: Any) -> None:
        """Change what a step says of itself; where it stands is for `move_step`."""
        self.execute(update(Step).where(col(Step.id) == step.id).values(**values))

    def note(
        self, plan: Plan, verb: str, *, actor: str, data: Mapping[str, Any], quiet: bool = False
    ) -> None:
        """Write the journal event and the outbox rows of one move."""
        self.notes([Note(plan.id, verb, actor, data, quiet)])

    def notes(
        self, notes: Sequence[Note], known: Mapping[int, Chain] = NONE, write: Write = NOTED.run
    ) -> dict[int, Chain]:
        """The same for several moves, in as few statements; the chains of their plans as they are now.

        `write` may write more in the same statement.
        """
        if not notes:
            return {}
        chains, now = self._link(notes, known), self.clock()
        said = [note for note in notes if note.verb in THREAD and not note.quiet]
        urgent = {note.plan for note in notes if note.verb in URGENT}
        versions = {plan_id: chain.version for plan_id, chain in chains.items()}
        write(
            self.connection,
            events=[note.event for note in notes],
            heads=[chain.values(plan_id) for plan_id, chain in chains.items()],
            said=[message(note, chains[note.plan].channel, now) for note in said],
            **cards(versions, urgent, now),
        )
        return chains

    def journal(self, plan: Plan, verb: str, *, actor: str, data: Mapping[str, Any]) -> None:
        """Write only the journal event."""
        note = Note(plan.id, verb, actor, data)
        (chain,) = self._link([note], NONE).values()
        NOTED.run(self.connection, events=[note.event], heads=[chain.values(note.plan)])

    def journal_system(self, verb: str, *, actor: str, data: Mapping[str, Any]) -> None:
        """Write what belongs to no plan into the system's own chain."""
        bump = update(System).values(events=col(System.events) + 1).returning(System)
        (system,) = self.models(bump)
        link: dict[str, Any] = {"seq": system.events, "at": self.clock(), "prev": system.head}
        event = link | {"verb": verb, "actor": actor, "data": self._told(data)}
        head = event_hash(plan=0, **event)
        ADD_EVENT.run(self.connection, plan_id=0, hash=head, **event)
        self.execute(update(System).values(head=head))

    def _link(self, notes: Sequence[Note], known: Mapping[int, Chain]) -> dict[int, Chain]:
        """Link events to the plans' chains; each head stands in a plan row, which this transaction holds."""
        chains = {note.plan: known[note.plan] for note in notes if note.plan in known}
        if missing := sorted({note.plan for note in notes} - chains.keys()):
            chains |= {row.id: Chain.of(row) for row in HEADS.all(self.connection, ids=missing)}
        for chain in chains.values():
            chain.version += 1
        at = self.clock()
        for note in notes:
            note.data = self._told(note.data)
            chains[note.plan].add(note, at)
            logger.info(LINE, note.plan, note.verb, note.actor, note.data.get("step", "-"))
        return chains

    def _told(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """What an event says: nothing secret, and the way in, if a person came."""
        told: dict[str, Any] = self.redact.data(data)
        if "machine" in data:
            told["machine"] = data["machine"]  # “token:NAME” is no secret, though it looks like one
        return told | {"via": self.via} if self.via else told

    def book(self, plan_id: int, model: str, usd: float, tokens: Mapping[str, int]) -> Note:
        """What a model cost, in the commit that learns of it; the journal event that tells it."""
        user = self.plan(plan_id).requester
        row = {"plan_id": plan_id, "user": user, "model": model, "usd": usd, "at": self.clock()}
        self.execute(insert(Spending).values(**row))
        return Note(plan_id, "book", model, {"usd": round(usd, 6), **tokens})

    def want_cards(self, versions: Mapping[int, int], urgent: Collection[int]) -> None:
        """Have these plans' cards drawn anew, at a version; the urgent ones at once."""
        CARDS.run(self.connection, **cards(versions, urgent, self.clock()))

    def first_card(self, plan: Plan) -> None:
        card = Message(plan_id=plan.id, key=f"card:{plan.id}", kind="card", channel=plan.channel)
        card.wanted = plan.version
        self.queue(card, wait=FIRST_CARD)

    def queue(self, message: Message, *, wait: timedelta = timedelta(0)) -> None:
        """Put a message into the outbox."""
        message.not_before, message.text = self.clock() + wait, self.redact.text(message.text)
        self.execute(insert(table(Message)), message.model_dump(exclude={"id"}))

    def redraw(self, plan_id: int, keys: Collection[str]) -> None:
        """Show the messages about these steps anew, at once: their buttons come or go."""
        guard = col(Message.plan_id) == plan_id, col(Message.step).in_(keys)
        values = {"wanted": col(Message.wanted) + 1, "urgent": True, "not_before": self.clock()}
        self.execute(update(Message).where(*guard).values(**values))

    def why_not(self, plan_id: int, verb: str) -> str:
        plan = self.plan(plan_id)
        how = f" ({plan.outcome})" if plan.outcome else ""
        return f"Plan {plan_id} is {plan.state}{how} now, so {verb} is no longer possible."

    def plan(self, plan_id: int) -> Plan:
        if found := PLAN.first(self.connection, plan=plan_id):
            return found
        raise NotFound(f"There is no plan {plan_id}.")

    def revision(self, plan: Plan, number: int = 0) -> Revision:
        """The plan's revision of that number, or its current one."""
        if found := REVISION.first(self.connection, plan=plan.id, revision=number or plan.revision):
            return found
        raise NotFound(f"Plan {plan.id} has no revision yet.")

    def spec(self, plan: Plan) -> PlanSpec:
        return read_spec(self.revision(plan).spec).spec

    def step(self, step_id: int) -> Step:
        found = self.rows(Step, col(Step.id) == step_id)
        if not found:
            raise NotFound(f"There is no step {step_id}.")
        return found[0]

    def steps(self, plan: Plan) -> list[Step]:
        """The steps of the current revision, in their order."""
        return STEPS.all(self.connection, plan=plan.id, revision=plan.revision)

    def previews(self, plan: Plan) -> list[Preview]:
        """Those of the current revision."""
        return PREVIEWS.all(self.connection, plan=plan.id, revision=plan.revision)


def of_revision(
    model: type[Approval] | type[Preview] | type[Step], plan: Plan
) -> tuple[ColumnElement[bool], ...]:
    """Which rows belong to the current revision of a plan."""
    return col(model.plan_id) == plan.id, col(model.revision) == plan.revision
