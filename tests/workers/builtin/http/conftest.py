"""Sites on the loopback to ask, and to be led to."""

from collections.abc import Iterator

import pytest

from tests.support.loopback import Site, serving


@pytest.fixture
def site() -> Iterator[Site]:
    with serving() as found:
        yield found


@pytest.fixture
def other() -> Iterator[Site]:
    with serving() as found:
        yield found
