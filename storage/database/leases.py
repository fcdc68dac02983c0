"""Leases: which process does one kind of work, or works on one thing, until when, by the database's clock.

Who stands still loses its lease, and what it writes afterwards is refused by the lease's fence.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import ColumnElement, Engine, Select, bindparam, delete, func, select, text, tuple_, update
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


# What nobody has is taken at once; what somebody is just taking, or writes under, is left alone.
CLAIM = text("""
    WITH free AS (SELECT name FROM lease WHERE name = ANY(:names) AND until < clock_timestamp()
                  ORDER BY name FOR UPDATE SKIP LOCKED),
         taken AS (UPDATE lease SET owner = :owner, fence = fence + 1, until = clock_timestamp() + :lasts
                   FROM free WHERE lease.name = free.name RETURNING lease.name, lease.fence),
         made AS (INSERT INTO lease (name, owner, fence, until)
                  SELECT name, :owner, 1, clock_timestamp() + :lasts FROM unnest(:names) AS name ORDER BY name
                  ON CONFLICT (name) DO NOTHING RETURNING name, fence)
    SELECT name, fence FROM taken UNION ALL SELECT name, fence FROM made""")
RENEW = text("""
    WITH mine AS (SELECT name FROM lease WHERE owner = ANY(:owners) FOR UPDATE SKIP LOCKED)
    UPDATE lease SET until = clock_timestamp() + :lasts FROM mine WHERE lease.name = mine.name""")
# Whose claim is lost with the server is refused by what is there: it need not be on the disk.
QUICKLY = text("SELECT set_config('lock_timeout', '1s', true), set_config('synchronous_commit', 'off', true)")


def claim(
    engine: Engine, names: Iterable[str], owner: str, done: Collection[Held] = (), seconds: float = SECONDS
) -> dict[str, Held]:
    """Take those of these names that nobody has, after giving back what is done.

    `owner` is a new one for each claim: names come and go, and with them their fences.
    """
    wanted = {"names": sorted(names), "owner": owner, "lasts": timedelta(seconds=seconds)}
    with engine.begin() as connection:
        connection.execute(QUICKLY)
        if done:
            connection.execute(delete(Lease).where(_these(done)))
        found = [*connection.execute(CLAIM, wanted)] if wanted["names"] else []
    return {name: Held(name, owner, fence) for name, fence in found}


def renew(engine: Engine, owners: Iterable[str], seconds: float = SECONDS) -> None:
    """They last on; but not those under which a commit is just being made: nobody takes these meanwhile."""
    with engine.begin() as connection:
        connection.execute(QUICKLY)
        connection.execute(RENEW, {"owners": [*owners], "lasts": timedelta(seconds=seconds)})


def live(engine: Engine) -> set[str]:
    """What is held just now, by whomever."""
    with engine.connect() as connection:
        return {*connection.execute(select(col(Lease.name)).where(col(Lease.until) >= NOW)).scalars()}


def still_held(held: Collection[Held]) -> Select[str]:
    """The statement that finds the rows of leases that are ours, and keeps them so until the commit."""
    return select(col(Lease.name)).where(_these(held)).order_by(col(Lease.name)).with_for_update(read=True)


def _these(held: Collection[Held]) -> ColumnElement[bool]:
    row = tuple_(col(Lease.name), col(Lease.owner), col(Lease.fence))
    return row.in_([(one.name, one.owner, one.fence) for one in held])
