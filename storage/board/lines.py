"""Plans as lines of a list: one select of a few columns, a page by the number it begins below."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, func, or_, select
from sqlmodel import col

from storage.contract.states import OPEN, PlanState
from storage.database.tables import Plan, Story
from storage.memory import Memory

PAGE = 50


@dataclass(frozen=True)
class PlanLine:
    """As much of a plan as a list needs to choose it."""

    id: int
    state: PlanState
    outcome: str
    version: int
    text: str
    team: str
    requester: str
    channel: str
    created_at: datetime


@dataclass(frozen=True)
class Filter:
    """Which plans: below a number, in a state, by words, in a channel, of a person."""

    before: int = 0
    state: str = ""  # a state, an outcome, or "open"
    words: str = ""
    channel: str = ""
    user: str = ""


# What answers one person stands in no list, nor does a wish that was refused.
LISTED = col(Plan.private).is_(False) & or_(col(Plan.revision) > 0, col(Plan.state).in_(OPEN))
COLUMNS = tuple(col(getattr(Plan, name)) for name in PlanLine.__dataclass_fields__)


def page(memory: Memory, wanted: Filter, limit: int = PAGE + 1) -> list[PlanLine]:
    """The newest of them first; one more than a page tells whether there are older ones."""
    query = select(*COLUMNS).where(*_conditions(wanted)).order_by(col(Plan.id).desc()).limit(limit)
    with memory.read() as t:
        return [PlanLine(*found) for found in t.execute(query)]


def lines_of(memory: Memory, plans: Sequence[int]) -> list[PlanLine]:
    """These plans, as far as they are there."""
    query = select(*COLUMNS).where(LISTED, col(Plan.id).in_(plans)).order_by(col(Plan.id))
    with memory.read() as t:
        return [PlanLine(*found) for found in t.execute(query)]


def ended(memory: Memory, since: datetime, limit: int = 2000) -> list[PlanLine]:
    """What has ended since then, the latest end first."""
    query = select(*COLUMNS).join(Story, col(Story.plan_id) == col(Plan.id))
    late = query.where(col(Story.ended_at) >= since).order_by(col(Story.ended_at).desc()).limit(limit)
    with memory.read() as t:
        return [PlanLine(*found) for found in t.execute(late)]


def newest(memory: Memory) -> int:
    """The number of the newest plan; 0 while there is none."""
    with memory.read() as t:
        return int(t.execute(select(func.coalesce(func.max(col(Plan.id)), 0))).scalar_one())


def channels(memory: Memory, after: int = 0) -> set[str]:
    """Where the plans after this one were asked for."""
    with memory.read() as t:
        return {*t.execute(select(col(Plan.channel)).where(col(Plan.id) > after).distinct()).scalars()}


def _conditions(wanted: Filter) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = [LISTED]
    found += [col(Plan.id) < wanted.before] if wanted.before else []
    if wanted.state == "open":
        found.append(col(Plan.state).in_(OPEN))
    elif wanted.state in {*PlanState}:
        found.append(col(Plan.state) == wanted.state)
    elif wanted.state:
        found.append((col(Plan.state) == PlanState.done) & (col(Plan.outcome) == wanted.state))
    if wanted.words:
        like = f"%{_literal(wanted.words)}%"
        number = wanted.words.lstrip("#")
        by_number = [col(Plan.id) == int(number)] if number.isdecimal() and len(number) < 10 else []
        found.append(or_(col(Plan.text).ilike(like, escape="\\"), *by_number))
    if wanted.channel:
        found.append(col(Plan.channel) == wanted.channel)
    if wanted.user:
        found.append(col(Plan.requester) == wanted.user)
    return found


def _literal(words: str) -> str:
    """Without the signs that mean something to LIKE."""
    return words.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
