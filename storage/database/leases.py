"""Leases: which process does one kind of work, until when. Rows that lapse, by the database's clock.

Who stands still loses its lease, and what it writes afterwards is refused by the lease's fence.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Engine, Select, bindparam, func, select, text, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import OperationalError
from sqlmodel import col

from storage.database.statements import table
from storage.database.tables import Lease

SECONDS = 10.0  # that a lease lasts unless it is renewed
WAIT = text("SET LOCAL lock_timeout = '1s'")  # who writes under a lease holds its row; a frozen one, longer
NOW = func.clock_timestamp()
UNTIL = NOW + func.make_interval(0, 0, 0, 0, 0, 0, bindparam("seconds"))


@dataclass(frozen=True)
class Held:
    """A lease that a process has. The fence grows whenever it goes to another one."""

    name: str
    owner: str
    fence: int


def hold(engine: Engine, names: Iterable[str], owner: str, seconds: float = SECONDS) -> dict[str, Held]:
    """Renew what we have, take what nobody has; what is ours now. Nobody is woken by it."""
    found = ((name, _hold(engine, name, owner, seconds)) for name in names)
    return {name: Held(name, owner, fence) for name, fence in found if fence}


def _hold(engine: Engine, name: str, owner: str, seconds: float) -> int:
    row = insert(table(Lease)).values(name=name, owner=owner, fence=1, until=UNTIL)
    mine = col(Lease.owner) == row.excluded.owner
    values = {
        "owner": row.excluded.owner,
        "until": row.excluded.until,
        "fence": col(Lease.fence) + func.cast(~mine, table(Lease).c.fence.type),
    }
    free = mine | (col(Lease.until) < NOW)
    taken = row.on_conflict_do_update(index_elements=["name"], set_=values, where=free)
    try:
        with engine.begin() as connection:
            connection.execute(WAIT)
            found = connection.execute(taken.returning(col(Lease.fence)), {"seconds": seconds}).scalar()
            return int(found or 0)
    except OperationalError as error:
        if getattr(error.orig, "sqlstate", "") == "55P03":  # lock_not_available: somebody writes under it
            return 0
        raise


def give_back(engine: Engine, owner: str) -> None:
    """Who ends leaves its work to the others at once."""
    with engine.begin() as connection:
        connection.execute(update(table(Lease)).where(col(Lease.owner) == owner).values(until=NOW))


def still_held(held: Held) -> Select[int]:
    """The statement that finds a lease's row as long as it is ours, and keeps it so until the commit."""
    same = (col(Lease.name) == held.name, col(Lease.owner) == held.owner, col(Lease.fence) == held.fence)
    return select(col(Lease.fence)).where(*same).with_for_update(read=True)
