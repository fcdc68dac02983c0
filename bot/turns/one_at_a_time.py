"""Several bots over the same rows: each kind of work is done by one of them at a time, without a leader."""

from collections.abc import Callable
from contextlib import suppress
from zlib import crc32

from sqlalchemy import Engine, func, select
from sqlalchemy.exc import OperationalError

SPACE = 7365  # of our advisory locks


def in_turn(engine: Engine, name: str, work: Callable[[], None]) -> Callable[[], None]:
    """The same work, left out while another process is at it. The lock goes with its connection.

    It spares work, no more: who stands still may lose it and go on. What must happen once has a condition.
    """
    if engine.dialect.name != "postgresql":
        return work  # one machine, one bot

    def turn() -> None:
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            key = (SPACE, crc32(name.encode()) & 0x7FFFFFFF)
            if connection.execute(select(func.pg_try_advisory_lock(*key))).scalar_one():
                try:
                    work()
                finally:
                    with suppress(OperationalError):  # the connection is lost, and the lock with it
                        connection.execute(select(func.pg_advisory_unlock(*key)))

    return turn
