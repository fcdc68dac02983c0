"""Commits are told to other processes: each at once, or many together, but always the last one.

And what tells them commits what, and raises what, a plain engine does.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, Engine, create_engine
from sqlalchemy.exc import DBAPIError, InternalError

from storage.database.commit_notices import CHANNEL, CommitListener, CommitNotifier
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
        other.execute("CREATE TABLE noted (n int)")
        other.execute(f"LISTEN {CHANNEL}")
        yield other


def last(engine: Engine) -> int:
    with engine.begin() as connection:
        return connection.exec_driver_sql("SELECT max(n) FROM noted").scalar_one()


def write(engine: Engine, n: int) -> None:
    with engine.execution_options(writes=True).begin() as connection:
        connection.exec_driver_sql("INSERT INTO noted VALUES (%s)", (n,))


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
    commits, found = CommitListener(engine, own=False), [-1]

    def listen(stopped: Callable[[], bool]) -> None:
        while not stopped():
            commits.wait(1, stopped)
        commits.close()

    def look(stopped: Callable[[], bool]) -> None:
        while not stopped():  # what another process finds each time that it is woken
            found.extend(last(engine) for _ in listener.notifies(timeout=0.1))

    notifier = engine.get_execution_options()["notifier"]
    with aside(listen), aside(look):
        until(lambda: notifier.deferring, "somebody to listen")
        for n in range(MANY):
            write(engine, n)
            if n % 3 == 2:
                until(lambda n=n: found[-1] == n, f"commit {n} to be told", patience=5)

    assert len(found) < MANY
    assert not notifier.deferring  # nobody catches up any more


def test_reading_tells_nobody(engine, listener):
    with engine.begin() as connection:
        connection.exec_driver_sql("SELECT 1")

    assert [*listener.notifies(timeout=0.5)] == []


# Nothing that is owed is forgotten


def notifier(engine: Engine) -> CommitNotifier:
    return engine.get_execution_options()["notifier"]


def owing(engine: Engine) -> CommitNotifier:
    """Somebody of this process listens, and the newest commit has not been told."""
    found = notifier(engine)
    found.deferring = True
    until(lambda: _untold(engine, found), "a commit that came soon after another")
    return found


def _untold(engine: Engine, found: CommitNotifier) -> bool:
    for _ in range(2):
        write(engine, 1)
    return found._untold


def heard(listener: psycopg.Connection) -> int:
    return len([*listener.notifies(timeout=0.2)])


def test_who_stops_listening_tells_the_rest(engine, listener):
    commits = CommitListener(engine, own=False)
    commits.wait(0)  # it begins to listen
    owing(engine)
    heard(listener)
    commits.close()

    assert heard(listener) == 1


def test_a_commit_that_fails_leaves_what_is_owed(engine, listener):
    listener.execute("CREATE TABLE strict (n int UNIQUE DEFERRABLE INITIALLY DEFERRED)")
    found = owing(engine)
    heard(listener)
    found.deferring = False  # the next commit tells
    with pytest.raises(DBAPIError), engine.execution_options(writes=True).begin() as connection:
        connection.exec_driver_sql("INSERT INTO strict VALUES (1), (1)")
    silent = heard(listener)
    found.tell_rest(listener)

    assert (silent, heard(listener)) == (0, 1)


def test_a_lost_listener_leaves_what_is_owed(engine, listener):
    found = owing(engine)
    heard(listener)
    lost = psycopg.connect(listener.info.dsn, autocommit=True)
    lost.close()
    with pytest.raises(psycopg.OperationalError):
        found.tell_rest(lost)
    found.tell_rest(listener)

    assert heard(listener) == 1


@pytest.mark.parametrize("deferring", [False, True])
def test_a_write_that_failed_is_not_taken_for_committed(engine, listener, deferring):
    notifier(engine).deferring = deferring
    write(engine, 1)
    with engine.execution_options(writes=True).connect() as connection:
        connection.exec_driver_sql("INSERT INTO noted VALUES (2)")
        with suppress(DBAPIError):
            connection.exec_driver_sql("SELECT 1 / 0")
        with pytest.raises(InternalError):
            connection.commit()

    assert last(engine) == 1


# Beside a plain engine

TABLES = "CREATE TABLE kept (n int PRIMARY KEY, twin int UNIQUE DEFERRABLE INITIALLY DEFERRED)"
DOES = ("write", "write", "write in a savepoint", "take back a savepoint", "read", "fail in a savepoint")
ENDS = (
    "commit",
    "commit",
    "roll back",
    "break",
    "fail",
    "fail and go on",
    "fail at the commit",
    "lose the server",
)


@dataclass(frozen=True)
class Transaction:
    """What is done in one transaction, and how it ends."""

    does: list[str]
    end: str
    writes: bool

    @property
    def hides_a_failure(self) -> bool:
        return self.writes and self.end == "fail and go on"


class Hand:
    """Does transactions with one engine, and keeps what came of them."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self.count, self.errors, self.committed = engine, 0, list[str](), False
        with engine.begin() as c:
            c.exec_driver_sql("TRUNCATE kept")

    def rows(self) -> list[Any]:
        with self.engine.begin() as c:
            return [tuple(row) for row in c.exec_driver_sql("SELECT n, twin FROM kept ORDER BY n")]

    def run(self, one: Transaction) -> None:
        self.committed = False
        try:
            with self.engine.execution_options(writes=one.writes).connect() as c, c.begin() as transaction:
                for deed in one.does:
                    self.do(c, deed)
                if one.end == "roll back":
                    transaction.rollback()
                else:
                    self.finish(c, one.end)
        except (DBAPIError, ZeroDivisionError) as error:
            self.errors.append(type(error).__name__)
        else:
            self.errors.append("")
            self.committed = one.end != "roll back"

    def do(self, c: Connection, deed: str) -> None:
        if deed == "write":
            self.insert(c)
        elif deed == "read":
            c.exec_driver_sql("SELECT count(*) FROM kept").scalar_one()
        else:
            with suppress(DBAPIError), c.begin_nested() as savepoint:
                self.insert(c)
                if deed == "fail in a savepoint":
                    c.exec_driver_sql("SELECT 1 / 0")
                elif deed == "take back a savepoint":
                    savepoint.rollback()

    def finish(self, c: Connection, end: str) -> None:
        if end == "break":
            raise ZeroDivisionError
        if end == "fail":
            c.exec_driver_sql("SELECT 1 / 0")
        if end == "fail and go on":
            with suppress(DBAPIError):
                c.exec_driver_sql("SELECT 1 / 0")
        if end == "fail at the commit":
            self.insert(c, twin=1)
            self.insert(c, twin=1)
        if end == "lose the server":
            self.insert(c)  # else the driver has nothing to commit, and does not notice
            lose(c)

    def insert(self, c: Connection, twin: int | None = None) -> None:
        self.count += 1
        c.exec_driver_sql("INSERT INTO kept VALUES (%s, %s)", (self.count, twin))


def address(engine: Engine) -> str:
    return engine.url.set(drivername="postgresql").render_as_string(hide_password=False)


def lose(c: Connection) -> None:
    """The server ends this connection, and has ended it."""
    driver: Any = c.connection.driver_connection
    with psycopg.connect(address(c.engine), autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s, 10000)", [driver.info.backend_pid])


@pytest.fixture(scope="module")
def hands(postgres: str) -> Iterator[tuple[Engine, Engine]]:
    """Our engine and a plain one, each with a database."""
    with opened(fresh_database(postgres)) as ours, opened(fresh_database(postgres)) as other:
        plain = create_engine(other.url)
        for engine in (ours, plain):
            with engine.begin() as c:
                c.exec_driver_sql(TABLES)
        yield ours, plain
        plain.dispose()


@dataclass
class Ear:
    """Another process: what it sees each time that it is told of commits."""

    listener: psycopg.Connection
    told: int = 0

    def hears(self, **how: Any) -> list[Any] | None:
        heard = [*self.listener.notifies(**how)]  # all, before it looks: it holds the connection meanwhile
        self.told += len(heard)
        return self.listener.execute("SELECT n, twin FROM kept ORDER BY n").fetchall() if heard else None


@contextmanager
def ear(engine: Engine) -> Iterator[Ear]:
    with psycopg.connect(address(engine), autocommit=True) as other:
        other.execute(f"LISTEN {CHANNEL}")
        yield Ear(other)


transactions = st.builds(
    Transaction, st.lists(st.sampled_from(DOES), max_size=3), st.sampled_from(ENDS), st.booleans()
)
sequences = settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])


@sequences
@given(st.lists(transactions, min_size=1, max_size=6))
@example([Transaction(["write"], end, writes=True) for end in ENDS])
def test_it_commits_and_raises_what_a_plain_engine_does(hands, ones):
    ours, plain, committed = Hand(hands[0]), Hand(hands[1]), 0
    with ear(hands[0]) as other:
        for one in ones:
            ours.run(one)
            plain.run(one)
            if one.writes and ours.committed:
                committed += 1
                assert other.hears(timeout=5, stop_after=1) == ours.rows()
        other.hears(timeout=0)

        assert other.told == committed
        assert ours.rows() == plain.rows()
        assert ours.errors == [
            "InternalError" if one.hides_a_failure else error
            for one, error in zip(ones, plain.errors, strict=True)
        ]


@sequences
@given(st.lists(transactions, min_size=1, max_size=6))
@example([Transaction(["write"], "commit", writes=True)] * 6)
def test_what_is_told_later_is_told_at_last(hands, ones):
    ours, seen = Hand(hands[0]), list[Any]([None])

    def look(stopped: Callable[[], bool]) -> None:
        while not stopped():
            found = other.hears(timeout=0.05)
            seen.append(seen[-1] if found is None else found)

    with ear(hands[0]) as other, aside(listening(hands[0])), aside(look):
        until(lambda: notifier(hands[0]).deferring, "somebody to listen")
        for one in ones:
            ours.run(one)
            if one.writes and ours.committed:
                rows = ours.rows()
                until(lambda rows=rows: seen[-1] == rows, "the commit to be told", patience=5)


def listening(engine: Engine) -> Callable[[Callable[[], bool]], None]:
    def listen(stopped: Callable[[], bool]) -> None:
        with closing(CommitListener(engine, own=False)) as commits:
            while not stopped():
                commits.wait(1, stopped)

    return listen
