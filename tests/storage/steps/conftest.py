"""What workers do to the rows holds on both databases, and with no more rights than their role has."""

from typing import Any

import pytest


@pytest.fixture
def store(hands: Any) -> Any:
    return hands
