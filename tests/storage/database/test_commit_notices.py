"""Commits are told to other processes: each at once, or many together, but always the last one."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
import pytest
from sqlalchemy import Engine

from storage.database.commit_notices import CHANNEL, Bell
from tests.conftest import opened
from tests.support.carriers import until
from tests.support.postgres import fresh_database

pytestmark = pytest.mark.postgres
MANY = 60


@pytest.fixture
def engine(postgres: str) -> Iterator[Engine]:
    with opened(fresh_database(postgres)) as engine:
        yield engine


@pytest.fixture
def listener(engine: Engine) -> Iterator[psycopg.Connection]:
    url = engine.url.set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(url, autocommit=True) as other:
        other.execute("CREATE TABLE rung (n int)")
        other.execute(f"LISTEN {CHANNEL}")
        yield other


def last(engine: Engine) -> int:
    with engine.begin() as connection:
        return connection.exec_driver_sql("SELECT max(n) FROM rung").scalar_one()


def write(engine: Engine, n: int) -> None:
    with engine.execution_options(writes=True).begin() as connection:
        connection.exec_driver_sql("INSERT INTO rung VALUES (%s)", (n,))


@contextmanager
def aside(work: Callable[[Callable[[], bool]], None]) -> Iterator[None]:
    """Work that goes on beside the test, until it is told to stop."""
    stop = threading.Event()
    thread = threading.Thread(target=work, args=[stop.is_set])
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def test_each_commit_is_told_where_nobody_catches_up(engine, listener):
    for n in range(MANY):
        write(engine, n)

    assert len([*listener.notifies(timeout=1)]) == MANY


def test_commits_in_a_row_are_told_together_and_the_last_one_is_not_forgotten(engine, listener):
    bell, found = Bell(engine, own=False), [-1]

    def listen(stopped: Callable[[], bool]) -> None:
        while not stopped():
            bell.wait(1, stopped)
        bell.close()

    def look(stopped: Callable[[], bool]) -> None:
        while not stopped():  # what another process finds each time that it is woken
            found.extend(last(engine) for _ in listener.notifies(timeout=0.1))

    ring = engine.get_execution_options()["ring"]
    with aside(listen), aside(look):
        until(lambda: ring.patient, "the bell to listen")
        for n in range(MANY):
            write(engine, n)
            if n % 3 == 2:
                until(lambda n=n: found[-1] == n, f"commit {n} to be told", patience=5)

    assert len(found) < MANY
    assert not ring.patient  # nobody catches up any more


def test_reading_tells_nobody(engine, listener):
    with engine.begin() as connection:
        connection.exec_driver_sql("SELECT 1")

    assert [*listener.notifies(timeout=0.5)] == []
