"""What a database raises that does not answer, whichever driver has been imported."""

import sqlite3
import sys

import psycopg
import pytest

from storage.database.drivers import away


def test_the_error_of_each_driver_and_what_is_asked_for_besides_count() -> None:
    assert away(TimeoutError) == (TimeoutError, sqlite3.OperationalError, psycopg.OperationalError)


def test_a_driver_that_nobody_imported_is_not_imported_for_that(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "psycopg")

    assert away() == (sqlite3.OperationalError,)
    assert "psycopg" not in sys.modules
