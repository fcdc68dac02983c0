"""Ended plans in figures, told from their journal alone; and the rows that keep them for quick sums."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any

from sqlalchemy import delete, insert, select
from sqlmodel import col

from storage.database.tables import RARE, Event, Opened, Plan
from storage.database.tables import Story as Row
from storage.journal.stories import ENDS, OURS, Story, story
from storage.memory import Memory
from storage.transaction import Transaction

FAILS = frozenset({"fail", "lose"})
GOES_ON = frozenset({"succeed", "resolve", "answer", "rollback", *ENDS})
BATCH = 500
BEHIND = 500  # PostgreSQL gives numbers before it commits: an event may appear behind a newer one


def rung(told: Story) -> str:
    """What ended its trouble, in a word; "" when there was none."""
    if not told.failures:
        return ""
    if told.recovered:
        return (told.rungs or ("probe",))[-1]
    return "person" if told.outcome == "succeeded" and told.helped else "nobody"


def row(events: Sequence[Any], *, channel: str, opened: Collection[tuple[int, str, datetime]]) -> Row:
    """The same as a row. `opened`: who had looked at which revision whole, and since when."""
    told, last = story(events), next(event for event in reversed(events) if event.verb in ENDS)
    wanted = any(event.verb in {"propose", "amend"} and event.data.get("needed") for event in events)
    given = [event for event in events if event.verb == "approve" and event.actor not in OURS]
    decided = bool(given) or told.outcome == "rejected"
    return Row(
        plan_id=events[0].plan_id, event_id=getattr(last, "id", 0), ended_at=last.at, channel=channel,
        outcome=told.outcome, rung=rung(told), wanted=wanted, approved=bool(given),
        edited=any(event.verb == "amend" and event.actor not in OURS for event in events),
        abandoned=wanted and not decided and told.outcome in {"expired", "cancelled"},
        approvals=len(given), unopened=sum(not _had_opened(event, opened) for event in given),
        waited=waited(events), lost=_lost(events), usd=cost(events),
        seconds=(last.at - events[0].at).total_seconds(),
    )  # fmt: skip


def rows(events: Iterable[Any], opened: Iterable[Opened] = ()) -> Iterator[Row]:
    """Those of a whole journal, in the order of plans and their events: of plans that have ended."""
    looks: dict[int, list[tuple[int, str, datetime]]] = {}
    for one in opened:
        looks.setdefault(one.plan_id, []).append((one.revision, one.user, one.first_at))
    for plan_id, found in groupby(events, key=lambda event: event.plan_id):
        mine = [*found]
        verbs = {event.verb for event in mine}
        if verbs & ENDS.keys() and "propose" in verbs and not mine[0].data.get("private"):
            yield row(mine, channel="", opened=looks.get(plan_id, ()))


def all_opened(memory: Memory) -> list[Opened]:
    with memory.read() as t:
        return t.rows(Opened)


def tell(memory: Memory) -> int:
    """Keep the stories of what has ended since, oldest first; how many. They may be dropped at any time."""
    with memory.write() as t:
        newest = t.execute(select(col(Row.event_id)).order_by(col(Row.event_id).desc()).limit(1)).scalar()
        fresh = _ended(t, max(0, (newest or 0) - BEHIND))
        for plan_id, channel in fresh:
            _keep(t, plan_id, channel)
    return len(fresh)


def _ended(t: Transaction, after: int) -> list[tuple[int, str]]:
    """Plans that have ended by an event after that one, and have no story."""
    told = select(col(Row.plan_id)).where(col(Row.plan_id) == col(Event.plan_id)).exists()
    query = select(col(Event.plan_id), col(Plan.channel)).join(Plan, col(Plan.id) == col(Event.plan_id))
    # An answer to one person is no plan of anybody, nor is a wish that ended before there was one.
    asked = col(Plan.private).is_(False) & (col(Plan.revision) > 0)
    ends = query.where(col(Event.verb).in_(ENDS), RARE, col(Event.id) > after, ~told, asked)
    return [(plan, channel) for plan, channel in t.execute(ends.order_by(col(Event.id)).limit(BATCH))]


def _keep(t: Transaction, plan_id: int, channel: str) -> None:
    events = t.rows(Event, col(Event.plan_id) == plan_id, order=col(Event.seq))
    looks = t.rows(Opened, col(Opened.plan_id) == plan_id)
    opened = [(one.revision, one.user, one.first_at) for one in looks]
    t.execute(insert(Row).values(**row(events, channel=channel, opened=opened).model_dump()))


def drop(memory: Memory) -> None:
    """Forget every story; the journal tells them again."""
    with memory.write() as t:
        t.execute(delete(Row))


def _had_opened(event: Any, opened: Collection[tuple[int, str, datetime]]) -> bool:
    """In Slack, which the approval says itself, or at the board."""
    return bool(event.data.get("opened")) or any(
        (revision, user) == (event.data.get("revision"), event.actor) and at <= event.at
        for revision, user, at in opened
    )


def _lost(events: Sequence[Any]) -> float | None:
    """From the first failure until the plan went on."""
    since: datetime | None = None
    for event in events:
        if since is None and event.verb in FAILS:
            since = event.at
        elif since is not None and event.verb in GOES_ON:
            return float((event.at - since).total_seconds())
    return None


def waited(events: Sequence[Any]) -> float | None:
    """Seconds from the proposal until the first approval by a person."""
    since: datetime | None = None
    for event in events:
        if event.verb in {"propose", "amend"}:
            since = event.at
        elif event.verb == "approve" and event.actor not in OURS and since:
            return float((event.at - since).total_seconds())
    return None


def cost(events: Sequence[Any]) -> float:
    return sum(float(event.data.get("usd", 0.0)) for event in events if event.verb == "book")
