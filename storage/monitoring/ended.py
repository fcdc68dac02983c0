"""Counts of what moves no more: a process counts each such row once, and then only what has come since."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock

from sqlalchemy import Connection, String, bindparam, func, select
from sqlmodel import col

from storage.contract.states import OPEN
from storage.database.tables import Attempt, Plan, Step

# The newest numbers are counted each time: somebody may have taken one of them, and not committed yet.
LAG = 1000
# Said, not bound: a plan that is made once for any states would read every step.
UNDER_WAY = col(Plan.state).in_(bindparam("open", sorted(OPEN), String, expanding=True, literal_execute=True))
Between = Callable[[int, int | None], Counter[str]]


@dataclass
class Tally:
    """By name, all rows whose number is below this one."""

    below: int = 0
    counts: Counter[str] = field(default_factory=Counter)

    def get(self, between: Between, final: int) -> Counter[str]:
        """With the rest; what is below `final` is not counted again."""
        if final > self.below:
            self.counts, self.below = self.counts + between(self.below, final), final
        return self.counts + between(self.below, None)


@dataclass
class Ended:
    """Plans by state, attempts by outcome: an ended plan never moves, nor does an attempt of its steps.

    What an operator has forgotten since stays counted until the process ends: it has happened.
    """

    _plans: Tally = field(default_factory=Tally)
    _attempts: Tally = field(default_factory=Tally)
    _lock: Lock = field(default_factory=Lock)

    def plans(self, c: Connection) -> Counter[str]:
        """Without what answers one person."""
        number = col(Plan.id)

        def between(first: int, last: int | None) -> Counter[str]:
            # Of no index by state is use here: the range is read, and not all rows in the order of states.
            state = col(Plan.state).concat("")
            wanted = (number >= first, col(Plan.private).is_(False), *([number < last] if last else ()))
            return Counter(dict(c.execute(select(state, func.count()).where(*wanted).group_by(state)).all()))

        # `+ 0`: else PostgreSQL looks for the first open one in the order of numbers, through all that ended.
        still = select(func.min(number + 0)).where(UNDER_WAY)
        final = _final(c.execute(select(func.max(number))).scalar(), c.execute(still).scalar())
        with self._lock:
            return self._plans.get(between, final)

    def attempts(self, c: Connection) -> Counter[str]:
        number = col(Attempt.step_id)

        def between(first: int, last: int | None) -> Counter[str]:
            outcome = col(Attempt.outcome).concat("")
            wanted = (number >= first, *([number < last] if last else ()))
            found = select(outcome, func.count()).where(*wanted).group_by(outcome)
            return Counter(dict(c.execute(found).all()))

        still = select(func.min(col(Step.id) + 0)).join(Plan, col(Plan.id) == col(Step.plan_id))
        first = c.execute(still.where(UNDER_WAY)).scalar()
        final = _final(c.execute(select(func.max(col(Step.id)))).scalar(), first)
        with self._lock:
            return self._attempts.get(between, final)


def _final(newest: int | None, still: int | None) -> int:
    """Below this number nothing moves any more."""
    return max(0, min((newest or 0) - LAG, still or (newest or 0)))
