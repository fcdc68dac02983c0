"""Whether a connection to PostgreSQL is a session of ours, or a pooler lends us another one each time.

We listen for commits, prepare statements and have the server end what idles in a transaction: all of it
belongs to a session. Through a pooler that keeps none nothing of it holds, and nobody says so.
"""

from typing import TYPE_CHECKING, Any

from sqlalchemy import Engine
from sqlalchemy.exc import OperationalError

from storage.errors import BadConfig

if TYPE_CHECKING:
    import psycopg

REFUSED = (
    "SIGNOFF_DATABASE_URL leads to a pooler that keeps no sessions, as PgBouncer in transaction mode, or "
    "drops our {option}. Signoff listens for commits, prepares statements and sets timeouts. "
    "Please name PostgreSQL itself: what a process opens there is bounded (docs/deploying.md)."
)
STARTUP = "unsupported startup parameter"  # what PgBouncer says to our options
OPTION = "idle_in_transaction_session_timeout"


def refused(error: OperationalError) -> bool:
    """Whether it is a pooler that does not let us in as we are."""
    return STARTUP in str(error.orig)


def demand_sessions(engine: Engine) -> None:
    """Go on if a connection is one session from its beginning to its end; BadConfig otherwise."""
    if engine.dialect.name != "postgresql":
        return
    with engine.connect() as connection:
        driver: Any = connection.connection.driver_connection
        if pid(driver) != driver.info.backend_pid and not _keeps(engine, driver):
            raise BadConfig(REFUSED.format(option=OPTION))


def pid(driver: "psycopg.Connection[Any]") -> int:
    """Of the server's process that answers; a pooler has told us another number."""
    return int(driver.execute("SELECT pg_backend_pid()", prepare=False).fetchone()[0])  # type: ignore[index] # one row


def _keeps(engine: Engine, driver: "psycopg.Connection[Any]") -> bool:
    """Whether our options are in force, and it is still our session after somebody else has come."""
    found = driver.execute(f"SHOW {OPTION}", prepare=False).fetchone()
    if found is None or found[0] in {"0", "0ms"}:
        return False
    before = pid(driver)
    driver.rollback()  # here a pooler takes its session back
    with engine.connect() as other:
        pid(other.connection.driver_connection)  # type: ignore[arg-type] # psycopg's
        return pid(driver) == before
