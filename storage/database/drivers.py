"""The databases' drivers. PostgreSQL's weighs 8 MB in memory, and is imported where PostgreSQL is used."""

import sqlite3
import sys


def away(*more: type[Exception]) -> tuple[type[Exception], ...]:
    """What a driver raises itself when its database does not answer; and what else somebody counts so."""
    psycopg = sys.modules.get("psycopg")
    return (*more, sqlite3.OperationalError, *([psycopg.OperationalError] if psycopg else []))
