"""The kill switch: what is stopped does not start, whatever was approved, until somebody resumes it."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import delete, insert, select
from sqlalchemy.exc import IntegrityError
from sqlmodel import col

from storage.contract.states import PlanState
from storage.database.tables import RARE, Event, Message, Plan, Stop, System
from storage.errors import Conflict
from storage.memory import Memory
from storage.transaction import Transaction

LATEST = col(Event.seq).desc()


def stop(
    memory: Memory, scope: str, *, reason: str, user: str, channel: str = "", channels: Sequence[str] = ()
) -> None:
    """Nothing in this scope starts from now on. What runs goes on to its end. The channels hear of it."""
    with memory.write() as t:
        try:
            with t.connection.begin_nested():
                t.execute(
                    insert(Stop).values(
                        scope=scope, reason=memory.redact.text(reason), by=user, since=memory.clock()
                    )
                )
        except IntegrityError:
            raise Conflict(f"“{scope}” is stopped already.") from None
        t.journal_system("stop", actor=user, data={"scope": scope, "reason": reason})
        _tell(t, channels or [channel], "stop", f"{scope}: {reason}", user)


def resume(memory: Memory, scope: str, *, user: str, channel: str = "", channels: Sequence[str] = ()) -> None:
    with memory.write() as t:
        if not t.execute(delete(Stop).where(col(Stop.scope) == scope)).rowcount:
            known = ", ".join(f"“{stop.scope}”" for stop in t.rows(Stop)) or "nothing"
            raise Conflict(f"“{scope}” is not stopped. Stopped now: {known}.")
        t.journal_system("resume", actor=user, data={"scope": scope})
        _tell(t, channels or [channel], "resume", scope, user)


def adopt(memory: Memory, version: str, rules: dict[str, Any], *, actor: str) -> None:
    """The policy that holds from now on goes on record, whenever it is another one than before."""
    with memory.write() as t:
        known = t.rows(
            Event, col(Event.plan_id) == 0, col(Event.verb) == "policy", RARE, order=LATEST, limit=1
        )
        if not known or known[0].data["version"] != version:
            data = {"version": version, "rules": rules}
            t.journal_system("policy", actor=actor, data=data)


def _tell(t: Transaction, channels: Sequence[str], verb: str, text: str, user: str) -> None:
    """Redraw the cards, and say it in the channels that it concerns."""
    number = t.execute(select(col(System.events))).scalar_one()
    for channel in filter(None, channels):
        key = f"{verb}:{number}:{channel}"
        t.queue(Message(key=key, kind=verb, channel=channel, user=user, text=text, urgent=True))
    plans = t.rows(Plan, col(Plan.state) == PlanState.approved, order=col(Plan.id))
    versions = {plan.id: t.touch(plan.id).version for plan in plans}
    t.want_cards(versions, set(versions))
