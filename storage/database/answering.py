"""Telling a database that does not answer from everything else that can go wrong with it."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, OperationalError, TimeoutError

from storage.database.drivers import away
from storage.errors import Unavailable


@contextmanager
def answering() -> Iterator[None]:
    """Unavailable, whatever way the database has of not answering; all else goes on as it is."""
    try:
        yield
    except away(DBAPIError, TimeoutError) as error:
        if isinstance(error, DBAPIError) and not _is_away(error):
            raise
        raise Unavailable(f"The database does not answer: {error}") from error


def _is_away(error: DBAPIError) -> bool:
    """A connection that was lost says so in many ways: also as an error of its transaction, when it idled."""
    return isinstance(error, OperationalError) or error.connection_invalidated
