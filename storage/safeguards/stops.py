"""The kill switch: what is stopped does not start, whatever was approved, until somebody resumes it."""

import typing
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, String, and_, cast, delete, exists, insert, literal, or_, select, update
from sqlalchemy.exc import IntegrityError
from sqlmodel import col

from storage.contract.states import PlanState
from storage.database.statements import table
from storage.database.tables import Event, Message, Plan, Step, Stop, System
from storage.errors import Conflict
from storage.journal.chain import event_hash
from storage.journal.events import ADD_EVENT
from storage.transaction import Ledger, rows

EVERYTHING = "everything"
# What changes something, here or anywhere; reads go on, and so do rollbacks, which mend.
ALL_CHANGES, CHANGES_IN = "all changes", "changes in "
LATEST = col(Event.seq).desc()


def covers(scope: str, step: Step) -> bool:
    """Whether a stop of this scope holds the step: everything, `plan 7`, `environment x`, changes."""
    if scope == ALL_CHANGES or scope.startswith(CHANGES_IN):
        here = scope in (ALL_CHANGES, f"{CHANGES_IN}{step.environment}")
        return here and step.changes and not step.undo
    kind, _, name = scope.partition(" ")
    held = {EVERYTHING: True, "plan": name == str(step.plan_id), "environment": name == step.environment}
    return held.get(kind, True)  # a scope nobody understands stops: the safe reading


# A stop that holds a step. A scope that nobody understands holds everything, the safe reading.
CHANGING = col(Step.changes).is_(True) & col(Step.undo).is_(False)
STOPPED = exists().where(
    or_(
        CHANGING & (col(Stop.scope) == ALL_CHANGES),
        CHANGING & (col(Stop.scope) == literal(CHANGES_IN).concat(col(Step.environment))),
        col(Stop.scope) == literal("plan ").concat(cast(col(Step.plan_id), String)),
        col(Stop.scope) == literal("environment ").concat(col(Step.environment)),
        and_(
            *(col(Stop.scope).notlike(known) for known in ("plan %", "environment %", f"{CHANGES_IN}%")),
            col(Stop.scope) != ALL_CHANGES,
        ),
    )
)


class Stops(Ledger):
    """stop, resume, adopt."""

    def stop(
        self, scope: str, *, reason: str, user: str, channel: str = "", channels: Sequence[str] = ()
    ) -> None:
        """Nothing in this scope starts from now on. What runs goes on to its end. The channels hear of it."""
        with self._write() as c:
            try:
                with c.begin_nested():
                    c.execute(
                        insert(Stop).values(
                            scope=scope, reason=self.redact.text(reason), by=user, since=self.clock()
                        )
                    )
            except IntegrityError:
                raise Conflict(f"“{scope}” is stopped already.") from None
            self._journal_system(c, "stop", actor=user, data={"scope": scope, "reason": reason})
            self._tell(c, channels or [channel], "stop", f"{scope}: {reason}", user)

    def resume(self, scope: str, *, user: str, channel: str = "", channels: Sequence[str] = ()) -> None:
        with self._write() as c:
            if not c.execute(delete(Stop).where(col(Stop.scope) == scope)).rowcount:
                known = ", ".join(f"“{stop.scope}”" for stop in rows(c, Stop)) or "nothing"
                raise Conflict(f"“{scope}” is not stopped. Stopped now: {known}.")
            self._journal_system(c, "resume", actor=user, data={"scope": scope})
            self._tell(c, channels or [channel], "resume", scope, user)

    def adopt(self, version: str, rules: dict[str, Any], *, actor: str) -> None:
        """The policy that holds from now on goes on record, whenever it is another one than before."""
        with self._write() as c:
            known = rows(
                c, Event, col(Event.plan_id) == 0, col(Event.verb) == "policy", order=LATEST, limit=1
            )
            if not known or known[0].data["version"] != version:
                data = {"version": version, "rules": rules}
                self._journal_system(c, "policy", actor=actor, data=data)

    def _stopped(self, c: Connection, step: Step) -> Stop | None:
        return next((stop for stop in rows(c, Stop) if covers(stop.scope, step)), None)

    def _journal_system(self, c: Connection, verb: str, *, actor: str, data: dict[str, Any]) -> None:
        bump = update(System).values(events=col(System.events) + 1).returning(table(System))
        system = typing.cast(System, c.execute(bump).one())
        link: dict[str, Any] = {"seq": system.events, "at": self.clock(), "prev": system.head}
        event = link | {"verb": verb, "actor": actor, "data": self._told(data)}
        head = event_hash(plan=0, **event)
        ADD_EVENT.run(c, plan_id=0, hash=head, **event)
        c.execute(update(System).values(head=head))

    def _tell(self, c: Connection, channels: Sequence[str], verb: str, text: str, user: str) -> None:
        """Redraw the cards, and say it in the channels that it concerns."""
        number = c.execute(select(col(System.events))).scalar_one()
        for channel in filter(None, channels):
            key = f"{verb}:{number}:{channel}"
            self._queue(c, Message(key=key, kind=verb, channel=channel, user=user, text=text, urgent=True))
        plans = rows(c, Plan, col(Plan.state) == PlanState.approved, order=col(Plan.id))
        versions = {plan.id or 0: self._touch(c, plan.id or 0).version for plan in plans}
        self._want_cards(c, versions, set(versions))
