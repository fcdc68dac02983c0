"""What limits are counted by: wishes, plans on a target, failed changes, stops. Nothing moves."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from itertools import starmap

from sqlalchemy import func, or_, select
from sqlmodel import col

from storage.contract.spec import PlanSpec, readable
from storage.contract.states import OPEN, PlanState, StepState
from storage.database.tables import RARE, Event, Plan, Revision, Step, Stop
from storage.journal import stories
from storage.memory import Memory
from storage.settling.frames import CURRENT

UNDONE = (StepState.pending, StepState.running, StepState.unknown)


@dataclass(frozen=True)
class Failure:
    """A change that failed, or of which nobody knows whether it happened."""

    channel: str
    environment: str
    at: datetime


def requested(memory: Memory, user: str, since: datetime, *, machine: str = "") -> int:
    """How many plans this person has asked for, themselves or by this machine.

    What was refused, or waits for an answer of theirs, is no plan.
    """
    whose = (col(Plan.requester) == user, col(Plan.machine) == machine, col(Plan.created_at) > since)
    planned = col(Plan.state).in_(OPEN) & (col(Plan.form) == "")
    mine = (*whose, or_(col(Plan.revision) > 0, planned))
    with memory.read() as t:
        return int(t.execute(select(func.count()).select_from(Plan).where(*mine)).scalar_one())


def holders(memory: Memory, targets: Collection[str]) -> set[int]:
    """Approved plans that have yet to touch one of these, or do so now."""
    wanted = (col(Plan.state).in_(OPEN), col(Step.target).in_(targets), col(Step.state).in_(UNDONE))
    with memory.read() as t:
        return {*t.execute(select(col(Plan.id)).join(Step, CURRENT).where(*wanted)).scalars()}


def proposals(memory: Memory) -> dict[int, PlanSpec]:
    """What waits for approval, by plan."""
    current = (col(Revision.plan_id) == col(Plan.id)) & (col(Revision.number) == col(Plan.revision))
    query = select(col(Plan.id), col(Revision.spec)).join(Revision, current)
    with memory.read() as t:
        found = t.execute(query.where(col(Plan.state) == PlanState.proposed)).all()
    return {id_: spec for id_, text in found if id_ and (spec := readable(text, ()))}


def failures(memory: Memory, since: datetime) -> list[Failure]:
    """The changes that failed since then, rollbacks aside: they are how a failure is mended."""
    ended = col(Step.state) == StepState.failed, col(Step.ended_at) > since
    lost = col(Step.state) == StepState.unknown, col(Step.started_at) > since
    counted = (col(Step.changes).is_(True), col(Step.undo).is_(False), col(Step.attempt) > 0)
    when = func.coalesce(col(Step.ended_at), col(Step.started_at))
    query = select(col(Plan.channel), col(Step.environment), when).join(Step, CURRENT)
    with memory.read() as t:
        found = t.execute(query.where(*counted, or_(ended[0] & ended[1], lost[0] & lost[1])))
        return [*starmap(Failure, found)]


def resumed(memory: Memory, scope: str) -> datetime | None:
    """When this was last resumed, as far as the newest hundred resumptions tell."""
    lifted = (col(Event.plan_id) == 0, col(Event.verb) == "resume", RARE)
    with memory.read() as t:
        found = t.rows(Event, *lifted, order=col(Event.seq).desc(), limit=100)
    return next((event.at for event in found if event.data.get("scope") == scope), None)


def waiting_channels(memory: Memory) -> list[str]:
    """Where there are plans that run, or wait to."""
    with memory.read() as t:
        query = select(col(Plan.channel)).distinct().where(col(Plan.state) == PlanState.approved)
        return sorted(t.execute(query).scalars())


def stops(memory: Memory) -> list[Stop]:
    """What is stopped now."""
    with memory.read() as t:
        return t.rows(Stop, order=col(Stop.since))


def recovery(memory: Memory) -> stories.Recovery:
    """How often a failure needed nobody, over all plans."""
    with memory.read() as t:
        return stories.recovery(t.connection)
