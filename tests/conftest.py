"""Fixtures for everybody: a clock that stands still, and the store on both databases."""

import logging
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

# Left alone, Hypothesis behaves in one way on CI and in another elsewhere. Here the cases are the same
# everywhere and every time, so that a red run is the change's; `make proof` draws its own.
settings.register_profile(
    "signoff", derandomize=True, deadline=None, database=None, print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)  # fmt: skip
settings.load_profile("signoff")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts what runs in the background deaf to it, and so would be every child of a test.
    signal.signal(signal.SIGINT, signal.default_int_handler)

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from sqlalchemy import Engine

    from tests.support.fakes import FakeClock
    from tests.support.store import Store


# What starts whole processes and waits for them.
PATIENT = {"stories", "soak", "crash", "demo", "kubernetes", "cli"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Spread what waits among what computes: it fills the gaps, and the longest is not the last one."""
    files = dict.fromkeys(item.path for item in items)
    patient = [file for file in files if PATIENT & {*file.parts}]
    quick = [file for file in files if not PATIENT & {*file.parts}]
    place = {file: 0.8 * at / len(patient) for at, file in enumerate(patient)}
    place |= {file: at / len(quick) for at, file in enumerate(quick)}
    items.sort(key=lambda item: place[item.path])


@pytest.fixture(autouse=True)
def own_log() -> Iterator[None]:
    """A command says how its process logs. Here it shares the process with all later tests."""
    root, made = logging.getLogger(), logging.Logger.manager.loggerDict
    known = [root, *(one for one in made.values() if isinstance(one, logging.Logger))]
    levels, handlers = [one.level for one in known], [*root.handlers]
    yield
    root.handlers[:] = handlers
    for one, level in zip(known, levels, strict=True):
        if one.level != level:
            one.setLevel(level)


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of one PostgreSQL server for the whole session."""
    from tests.support.postgres import postgres_server

    with postgres_server(tmp_path_factory.mktemp("postgres")) as url:
        yield url


@pytest.fixture
def clock() -> "FakeClock":
    from tests.support.fakes import FakeClock

    return FakeClock()


@pytest.fixture(scope="session")
def sqlite_engine(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Engine]":
    with opened(f"sqlite:///{tmp_path_factory.mktemp('sqlite') / 'signoff.db'}") as engine:
        yield engine


@pytest.fixture(scope="session")
def postgres_engine(postgres: str) -> "Iterator[Engine]":
    from tests.support.postgres import fresh_database

    with opened(fresh_database(postgres)) as engine:
        yield engine


@pytest.fixture(scope="session")
def memory_engine() -> "Iterator[Engine]":
    with opened("sqlite://") as engine:
        yield engine


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def engine(request: pytest.FixtureRequest) -> "Engine":
    """An empty, migrated database: SQLite in a file, and PostgreSQL."""
    return emptied(request.getfixturevalue(f"{request.param}_engine"))


@pytest.fixture
def store(engine: "Engine", clock: "FakeClock") -> "Store":
    """On SQLite and on PostgreSQL: what holds on one must hold on the other."""
    from tests.support.store import Store

    return Store(engine, clock)


@pytest.fixture
def lite(memory_engine: "Engine", clock: "FakeClock") -> "Store":
    """In memory and for one thread: for what does not depend on the database."""
    from tests.support.store import Store

    return Store(emptied(memory_engine), clock)


@pytest.fixture
def on_disk(sqlite_engine: "Engine", clock: "FakeClock") -> "Store":
    """In a file: for what several threads write, such as what a call of the model cost."""
    from tests.support.store import Store

    return Store(emptied(sqlite_engine), clock)


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    from tests.support.browser import chromium

    with chromium() as found:
        yield found


@contextmanager
def opened(url: str) -> "Iterator[Engine]":
    from storage.database.engine import migrate, open_engine

    engine = open_engine(url)
    migrate(engine)
    yield engine
    engine.dispose()


def emptied(engine: "Engine") -> "Engine":
    """An engine that has compiled its statements is four times as quick as a new one."""
    from sqlmodel import SQLModel

    with engine.execution_options(writes=True).begin() as connection:
        for table in reversed(SQLModel.metadata.sorted_tables):
            one_row = table.name == "system"  # the migration made it, and it stays
            connection.execute(table.update().values(head="", events=0) if one_row else table.delete())
    return engine
