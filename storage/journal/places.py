"""Where in the journal a time is, without an index of times: events lie in the order of their numbers.

A clock that was put back puts some of them out of order, so that a place is sought a day beside the time.
"""

from datetime import datetime, timedelta

from sqlalchemy import Connection, func, select
from sqlmodel import col

from storage.database.tables import Event

ASTRAY = timedelta(days=1)  # that a clock may have been wrong by


def first_from(c: Connection, moment: datetime) -> int:
    """A number below which everything is older than that, by a day at the most."""
    return _first(c, moment - ASTRAY)


def first_after(c: Connection, moment: datetime) -> int:
    """A number from which on everything is younger than that, by a day at the most."""
    return _first(c, moment + ASTRAY)


def _first(c: Connection, moment: datetime) -> int:
    """The number of the first event that is not older; one behind the last where all are."""
    low, high = 1, (c.execute(select(func.max(col(Event.id)))).scalar() or 0) + 1
    while low < high:
        middle = (low + high) // 2
        behind = select(col(Event.id), col(Event.at)).where(col(Event.id) >= middle)
        found = c.execute(behind.order_by(col(Event.id)).limit(1)).one_or_none()
        if found is None or found.at >= moment:
            high = middle
        else:
            low = found.id + 1  # numbers may be missing: what was pruned, or rolled back
    return low
