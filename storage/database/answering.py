"""Telling a database that does not answer from everything else that can go wrong with it."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from sqlalchemy.exc import DBAPIError, OperationalError, TimeoutError

from storage.errors import Unavailable


@contextmanager
def answering() -> Iterator[None]:
    """Unavailable, whatever way the database has of not answering; all else goes on as it is."""
    try:
        yield
    except (DBAPIError, TimeoutError, sqlite3.OperationalError, psycopg.OperationalError) as error:
        if isinstance(error, DBAPIError) and not _is_away(error):
            raise
        raise Unavailable(f"The database does not answer: {error}") from error


def _is_away(error: DBAPIError) -> bool:
    """A connection that was lost says so in many ways: also as an error of its transaction, when it idled."""
    return isinstance(error, OperationalError) or error.connection_invalidated
