"""Figures over stories: how plans ended, what recovered, how long people took, what it cost."""

from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from sqlalchemy import ColumnElement, func, or_, select
from sqlmodel import col

from storage.board.spans import Action, percentile
from storage.database.statements import table
from storage.database.tables import Capability, Spending, Story
from storage.memory import Memory
from storage.transaction import Transaction

APART = 500  # stories of channels that somebody cannot read, of which it is asked one by one


@dataclass(frozen=True)
class Sums:
    """Of the plans that ended in a time, as far as somebody may see them."""

    outcomes: dict[str, int] = field(default_factory=dict)
    rungs: dict[str, tuple[int, float | None]] = field(default_factory=dict)  # how many, median time lost
    wanted: int = 0  # people were asked to approve
    approved: int = 0  # and did
    rejected: int = 0
    expired: int = 0
    abandoned: int = 0
    edited: int = 0
    approvals: int = 0
    unopened: int = 0
    waits: tuple[float, ...] = ()  # in seconds, in order
    usd: float = 0.0
    by_day: dict[date, float] = field(default_factory=dict)

    @property
    def ended(self) -> int:
        return sum(self.outcomes.values())

    @property
    def troubled(self) -> int:
        return sum(count for count, _ in self.rungs.values())

    @property
    def recovered(self) -> int:
        return sum(count for rung, (count, _) in self.rungs.items() if rung not in {"person", "nobody"})

    def waited(self, share: int) -> float | None:
        return percentile(self.waits, share) if self.waits else None


@dataclass(frozen=True)
class Reach:
    """Whose stories count: of these channels, and these plans of others. None: of every channel."""

    channels: frozenset[str] | None = None
    plans: frozenset[int] = frozenset()


def sums(memory: Memory, since: datetime, until: datetime, reach: Reach) -> Sums:
    """Of what ended in [since, until)."""
    mine = _mine(since, until, reach)
    with memory.read() as t:
        total = t.execute(select(*_totals()).where(*mine)).one()
        waits = select(col(Story.waited)).where(*mine, col(Story.waited).is_not(None))
        costs = select(col(Story.ended_at), col(Story.usd)).where(*mine, col(Story.usd) > 0)
        return Sums(
            outcomes=_outcomes(t, mine),
            rungs=_rungs(t, mine),
            wanted=total[0],
            approved=total[1],
            rejected=total[2],
            expired=total[3],
            abandoned=total[4],
            edited=total[5],
            approvals=total[6],
            unopened=total[7],
            usd=float(total[8]),
            by_day=_by_day(t.execute(costs).all()),
            waits=(*t.execute(waits.order_by(col(Story.waited))).scalars(),),
        )


def sums_of(stories: Iterable[Story]) -> Sums:
    """The same of stories as they come, one by one: a million take the memory of their figures."""
    outcomes, rungs, yes = Counter[str](), Counter[str](), Counter[str]()
    lost: dict[str, array[float]] = {}
    waits, by_day = array("d"), dict[date, float]()
    for one in stories:
        outcomes[one.outcome] += 1
        yes.update(_counts(one))
        if one.rung:
            rungs[one.rung] += 1
            lost.setdefault(one.rung, array("d")).extend(() if one.lost is None else (one.lost,))
        waits.extend(() if one.waited is None else (one.waited,))
        if one.usd > 0:
            by_day[one.ended_at.date()] = by_day.get(one.ended_at.date(), 0.0) + one.usd
    half = {rung: percentile(took, 50) if took else None for rung, took in lost.items()}
    return Sums(
        outcomes=dict(outcomes), rungs={rung: (count, half[rung]) for rung, count in rungs.items()},
        wanted=yes["wanted"], approved=yes["approved"], rejected=yes["rejected"], expired=yes["expired"],
        abandoned=yes["abandoned"], edited=yes["edited"], approvals=yes["approvals"],
        unopened=yes["unopened"], waits=(*sorted(waits),), usd=sum(by_day.values()), by_day=by_day,
    )  # fmt: skip


def _counts(one: Story) -> dict[str, int]:
    return {
        "wanted": one.wanted, "approved": one.approved, "abandoned": one.abandoned,
        "rejected": one.wanted and one.outcome == "rejected", "edited": one.wanted and one.edited,
        "expired": one.wanted and one.outcome == "expired", "approvals": one.approvals,
        "unopened": one.unopened,
    }  # fmt: skip


def elsewhere(memory: Memory, since: datetime, until: datetime, channels: Collection[str]) -> list[int]:
    """Plans that ended then in other channels than these, the newest first; bounded."""
    query = select(col(Story.plan_id)).where(
        col(Story.ended_at) >= since, col(Story.ended_at) < until, col(Story.channel).not_in(channels)
    )
    with memory.read() as t:
        return [*t.execute(query.order_by(col(Story.ended_at).desc()).limit(APART)).scalars()]


def spending(memory: Memory, since: datetime) -> list[tuple[str, int, float]]:
    """By model: calls, and what they cost."""
    query = select(col(Spending.model), func.count(), func.sum(col(Spending.usd)))
    with memory.read() as t:
        rows = t.execute(query.where(col(Spending.at) >= since).group_by(col(Spending.model)))
        return [(model, count, float(usd)) for model, count, usd in rows]


def actions(memory: Memory) -> list[Action]:
    """Everything that workers have said they can do."""
    with memory.read() as t:
        return [(w, a) for w, a in t.execute(select(col(Capability.worker), col(Capability.action)))]


def _mine(since: datetime, until: datetime, reach: Reach) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = [col(Story.ended_at) >= since, col(Story.ended_at) < until]
    if reach.channels is not None:
        found.append(or_(col(Story.channel).in_(reach.channels), col(Story.plan_id).in_(reach.plans)))
    return found


def _totals() -> list[ColumnElement[Any]]:
    def how_many(where: ColumnElement[bool]) -> ColumnElement[int]:
        return func.count().filter(where)

    asked, usd = col(Story.wanted).is_(True), table(Story).c.usd
    return [
        how_many(asked),
        how_many(col(Story.approved).is_(True)),
        how_many(asked & (col(Story.outcome) == "rejected")),
        how_many(asked & (col(Story.outcome) == "expired")),
        how_many(col(Story.abandoned).is_(True)),
        how_many(asked & col(Story.edited).is_(True)),
        func.coalesce(func.sum(col(Story.approvals)), 0),
        func.coalesce(func.sum(col(Story.unopened)), 0),
        func.coalesce(func.sum(usd), 0.0),
    ]


def _outcomes(t: Transaction, mine: Sequence[ColumnElement[bool]]) -> dict[str, int]:
    query = select(col(Story.outcome), func.count()).where(*mine).group_by(col(Story.outcome))
    return dict(t.execute(query).all())


def _rungs(t: Transaction, mine: Sequence[ColumnElement[bool]]) -> dict[str, tuple[int, float | None]]:
    rows = t.execute(select(col(Story.rung), col(Story.lost)).where(*mine, col(Story.rung) != "")).all()
    counts = Counter(rung for rung, _ in rows)
    lost = {rung: [took for name, took in rows if name == rung and took is not None] for rung in counts}
    half = {rung: percentile(took, 50) if took else None for rung, took in lost.items()}
    return {rung: (count, half[rung]) for rung, count in counts.items()}


def _by_day(costs: Sequence[tuple[datetime, float]]) -> dict[date, float]:
    found: dict[date, float] = {}
    for at, usd in costs:
        found[at.date()] = found.get(at.date(), 0.0) + usd
    return found
