"""What follows from a report follows with no more rights than the workers' role has."""

from typing import Any

import pytest


@pytest.fixture
def store(hands: Any) -> Any:
    return hands
