"""The journal as pages: newest first, by verb, person, plan, words and time."""

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, String, case, cast, func, select
from sqlmodel import col

from storage.database.packed import is_packed
from storage.database.statements import table
from storage.database.tables import (
    RARE,
    USUAL,
    Approval,
    Attempt,
    Event,
    Message,
    Plan,
    Revision,
    Step,
    Target,
)
from storage.journal.chain import ABOVE, broken_link
from storage.journal.places import first_after, first_from
from storage.memory import Memory
from storage.settling.frames import CURRENT
from storage.settling.starting import PENDING, PERMITTED

PAGE = 50
# Since when the oldest step could have started that nothing holds back.
DUE_SINCE = select(func.min(col(Step.due_at))).join(Plan, CURRENT).where(*PENDING, PERMITTED)


@dataclass(frozen=True)
class Happening:
    """One event, with what is needed to say who may see it. `plan` 0 is the system."""

    id: int
    plan: int
    seq: int
    at: datetime
    verb: str
    actor: str
    data: dict[str, Any]
    prev: str
    hash: str
    channel: str
    team: str


@dataclass(frozen=True)
class Sought:
    """Which events: below a number, and by what they say."""

    before: int = 0
    verb: str = ""
    actor: str = ""
    plan: int | None = None
    words: str = ""
    since: datetime | None = None
    until: datetime | None = None


def events(memory: Memory, sought: Sought, limit: int = PAGE + 1) -> list[Happening]:
    """The newest first."""
    event = table(Event).c
    own = (event.id, event.plan_id.label("plan"), event.seq, event.at, event.verb, event.actor, event.data)
    whose = (func.coalesce(table(Plan).c[name], "").label(name) for name in ("channel", "team"))
    packed = is_packed(event.data).label("packed")
    query = select(*own, _prev().label("prev"), event.hash, *whose, packed)
    joined = query.outerjoin(Plan, col(Plan.id) == col(Event.plan_id)).order_by(event.id.desc())
    found: list[Happening] = []
    while len(found) < limit:
        with memory.read() as t:
            within = joined.where(*_conditions(sought), *_place(t.connection, sought))
            rows = t.execute(within.limit(limit)).all()
        made = [(Happening(**_without_mark(row)), row.packed) for row in rows]
        found += [one for one, packed in made if not packed or _says(one, sought.words)]
        if len(rows) < limit:
            break
        sought = replace(sought, before=rows[-1].id)
    return found[:limit]


def _without_mark(row: Any) -> dict[str, Any]:
    return {name: value for name, value in row._mapping.items() if name != "packed"}


def _prev() -> ColumnElement[str]:
    """What was put away does not name the hash of the event before it: that stands in the row before."""
    event, before = table(Event).c, table(Event).alias()
    here = (before.c.plan_id == event.plan_id, before.c.seq == event.seq - 1)
    named = select(before.c.hash).where(*here).correlate(table(Event)).scalar_subquery()
    return case((event.prev == ABOVE, func.coalesce(named, ABOVE)), else_=event.prev)


def _says(one: Happening, words: str) -> bool:
    """What is packed no database can search."""
    low = words.lower()
    return low in json.dumps(one.data).lower() or one.hash.startswith(low)


def _conditions(sought: Sought) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = [func.coalesce(col(Plan.private), False).is_(False)]
    found += [col(Event.id) < sought.before] if sought.before else []
    found += [col(Event.verb) == sought.verb] if sought.verb else []
    found += [RARE] if sought.verb and sought.verb not in USUAL else []
    found += [col(Event.actor) == sought.actor] if sought.actor else []
    found += [col(Event.plan_id) == sought.plan] if sought.plan is not None else []
    found += [col(Event.at) >= sought.since] if sought.since else []
    found += [col(Event.at) < sought.until] if sought.until else []
    if sought.words:
        said = _like(cast(col(Event.data), String), sought.words) | is_packed(col(Event.data))
        found.append(said | col(Event.hash).startswith(sought.words.lower(), autoescape=True))
    return found


def _place(c: Connection, sought: Sought) -> Iterator[ColumnElement[bool]]:
    """Where these times are in the journal, so that nothing else is read."""
    if sought.since:
        yield col(Event.id) >= first_from(c, sought.since)
    if sought.until:
        yield col(Event.id) < first_after(c, sought.until)


def _like(column: Any, words: str) -> ColumnElement[bool]:
    """Without the signs that mean something to LIKE."""
    literal = words.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    found: ColumnElement[bool] = column.ilike(f"%{literal}%", escape="\\")
    return found


def verdict(memory: Memory, plan_id: int) -> tuple[int, str]:
    """How many events the plan's chain has, and what is wrong with it; "" when every link holds."""
    with memory.read() as t:
        chain = t.rows(Event, col(Event.plan_id) == plan_id, order=col(Event.seq))
        plan = t.plan(plan_id)
    if not chain:
        return 0, "" if not plan.events else "its events were pruned; their last hash is known"
    if (at := broken_link([*chain])) is not None:
        return len(chain), f"event {at} does not follow from the one before it"
    if (plan.events, plan.head) != (len(chain), chain[-1].hash):
        return len(chain), "its last event is not the one that the plan remembers"
    return len(chain), ""


def attempts(memory: Memory, plan_id: int) -> dict[str, list[Attempt]]:
    """Every try of the steps of the plan's revision, by the step's key, the latest first."""
    current = (col(Plan.id) == col(Step.plan_id)) & (col(Plan.revision) == col(Step.revision))
    steps = select(col(Step.id), col(Step.key)).join(Plan, current).where(col(Plan.id) == plan_id)
    found: dict[str, list[Attempt]] = {}
    with memory.read() as t:
        keys: dict[int, str] = dict(t.execute(steps).all())
        rows = t.rows(Attempt, col(Attempt.step_id).in_([*keys]), order=col(Attempt.number).desc())
        reports = {step.id: step.report for step in t.rows(Step, col(Step.id).in_([*keys]))}
    for row in rows:
        if row.report is None and row.outcome == "succeed":
            row.report = reports[row.step_id]  # it was put away, and its step says the same
        found.setdefault(keys[row.step_id], []).append(row)
    return found


def revisions(memory: Memory, plan_id: int) -> list[Revision]:
    """Every revision of a plan, the latest first."""
    with memory.read() as t:
        return t.rows(Revision, col(Revision.plan_id) == plan_id, order=col(Revision.number).desc())


def moved(memory: Memory, after: int) -> list[tuple[int, int]]:
    """The events after this one, each with its plan, oldest first."""
    query = select(col(Event.id), col(Event.plan_id)).where(col(Event.id) > after)
    with memory.read() as t:
        return [(id_, plan) for id_, plan in t.execute(query.order_by(col(Event.id)).limit(5000))]


def latest(memory: Memory, plans: Collection[int]) -> dict[int, datetime]:
    """When something last happened to each of these plans."""
    query = select(col(Event.plan_id), func.max(col(Event.at))).where(col(Event.plan_id).in_(plans))
    with memory.read() as t:
        return dict(t.execute(query.group_by(col(Event.plan_id))).all()) if plans else {}


def last_event(memory: Memory) -> int:
    with memory.read() as t:
        return int(t.execute(select(col(Event.id)).order_by(col(Event.id).desc()).limit(1)).scalar() or 0)


def progress(memory: Memory, states: Collection[str]) -> dict[int, tuple[int, str]]:
    """How far the running steps are, each with its plan: that changes without an event."""
    query = select(col(Step.id), col(Step.plan_id), col(Step.progress)).where(col(Step.state).in_(states))
    with memory.read() as t:
        return {id_: (plan, said) for id_, plan, said in t.execute(query)}


def approvals(memory: Memory, plan_id: int, revision: int) -> list[Approval]:
    """Who said yes to this revision, or to the one whose mandate it was made under; in order."""
    made = select(col(Revision.parent)).where(
        col(Revision.plan_id) == plan_id, col(Revision.number) == revision
    )
    with memory.read() as t:
        number = t.execute(made).scalar() or revision
        mine = (col(Approval.plan_id) == plan_id, col(Approval.revision) == number)
        return t.rows(Approval, *mine, order=col(Approval.id))


def report(
    memory: Memory, since: datetime, until: datetime, target: str, before: int, limit: int
) -> list[Plan]:
    """The plans below a number that were asked for in [since, until), the latest first. With a target, those
    whose steps touch it; what was never approved has no steps yet, and is looked at by whoever asks."""
    when = [col(Plan.created_at) >= since, col(Plan.created_at) < until, col(Plan.private).is_(False)]
    when += [col(Plan.id) < before] if before else []
    if target:
        steps = select(col(Step.id)).where(col(Step.plan_id) == col(Plan.id))
        when.append(steps.where(_like(col(Step.target), target)).exists() | ~steps.exists())
    with memory.read() as t:
        return t.rows(Plan, *when, order=col(Plan.id).desc(), limit=limit)


def holdings(memory: Memory) -> list[tuple[str, int, datetime, str]]:
    """What is held: target, plan, since when, and how its step stands."""
    query = select(col(Target.name), col(Target.plan_id), col(Target.since), col(Step.state))
    with memory.read() as t:
        rows = t.execute(query.join(Step, col(Step.id) == col(Target.step_id)).order_by(col(Target.since)))
        return [(name, plan, at, str(state)) for name, plan, at, state in rows]


def owners(memory: Memory, states: Collection[str]) -> dict[str, int]:
    """How many steps each process has in hand."""
    query = select(col(Step.owner), func.count()).where(col(Step.state).in_(states)).group_by(col(Step.owner))
    with memory.read() as t:
        return dict(t.execute(query).all())


def unsent(memory: Memory) -> datetime | None:
    """Since when the oldest message that Slack does not show could have gone."""
    stale = select(func.min(col(Message.not_before))).where(col(Message.wanted) > col(Message.shown))
    with memory.read() as t:
        return t.execute(stale).scalar()


def due(memory: Memory) -> datetime | None:
    """Since when the oldest step could have started that has not."""
    with memory.read() as t:
        return t.connection.execute(DUE_SINCE, {"now": memory.clock()}).scalar_one()


def cards(memory: Memory, plans: Collection[int]) -> dict[int, str]:
    """Where in Slack the cards of these plans stand: that changes without an event."""
    keys = [f"card:{plan}" for plan in plans]
    query = select(col(Message.plan_id), col(Message.ts)).where(col(Message.key).in_(keys))
    with memory.read() as t:
        return dict(t.execute(query).all()) if keys else {}
