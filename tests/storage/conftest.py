"""The store as two processes hold it, for whatever workers do to the rows."""

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Engine

from storage.database.engine import open_engine
from storage.execution import Execution
from storage.intention import Intention
from tests.conftest import emptied
from tests.support.fakes import FakeClock
from tests.support.postgres import workers_role
from tests.support.store import Store, TwoHands


@pytest.fixture(scope="session")
def role_engine(postgres_engine: Engine) -> Iterator[Engine]:
    """PostgreSQL, as a workers process reaches it that has only the rights of execution."""
    engine = open_engine(workers_role(postgres_engine.url.render_as_string(hide_password=False)))
    yield engine
    engine.dispose()


@pytest.fixture(
    params=["sqlite", *(pytest.param(name, marks=pytest.mark.postgres) for name in ("postgres", "role"))]
)
def hands(request: pytest.FixtureRequest, clock: FakeClock) -> Any:
    """On both databases, and with workers that have no more rights than their role."""
    if request.param != "role":
        return Store(emptied(request.getfixturevalue(f"{request.param}_engine")), clock)
    owner = emptied(request.getfixturevalue("postgres_engine"))
    return TwoHands(Intention(owner, clock), Execution(request.getfixturevalue("role_engine"), clock))
