"""A machine whose clock is not that of the others says so to whoever can set it."""

from datetime import timedelta

import pytest

from storage.clock import wall
from storage.database.agreed_clock import agreed
from storage.monitoring.health import Health, Pulse
from storage.monitoring.skew import skewed
from tests.conftest import emptied
from tests.support.store import Store


@pytest.mark.postgres
@pytest.mark.parametrize(("ahead", "said"), [(0, ""), (62, "62 s ahead of"), (-7200, "7200 s behind")])
def test_a_machine_whose_clock_is_not_that_of_the_others_says_so(postgres_engine, ahead, said):
    clock = agreed(emptied(postgres_engine), lambda: wall() + timedelta(seconds=ahead))
    health = Health(Store(postgres_engine, clock), Pulse(), undone=lambda: skewed(clock))
    status, text = health.answer("/readyz")

    assert (status, said in text) == (503 if said else 200, True)
