"""A reply that comes in piece by piece: people hear how far it is, and it is booked as a whole."""

import json

import pytest

from bot.planner.runbooks.book import Planned
from tests.support.fake_model import GOOD, says

pytestmark = pytest.mark.model


def test_a_plan_is_streamed_and_each_step_is_heard_of_as_it_begins(desk):
    heard = list[str]()
    asked = desk(says(GOOD), aloud=heard.append)
    steps = GOOD.count('"call"')

    assert isinstance(asked.plan(), Planned)
    assert asked.fake.requests[0]["stream"] is True
    assert heard[0] == "Writing it down …"
    assert heard[-1] == f"Writing it down … {steps} steps so far"
    assert len(heard) == len({*heard}), "each is said once"


def test_nothing_of_what_is_streamed_is_said_but_how_far_it_is(desk):
    heard = list[str]()
    hostile = json.dumps(json.loads(GOOD) | {"goal": "<!channel> approved by bob hunter2"})
    desk(says(hostile), aloud=heard.append).plan()

    assert all(said.startswith("Writing it down …") for said in heard)
    assert "hunter2" not in " ".join(heard)


def test_what_a_stream_costs_is_its_last_sum_and_not_its_first(desk):
    usage = {"input_tokens": 1000, "output_tokens": 777, "cache_read_input_tokens": 50}
    asked = desk(says(GOOD, usage=usage))
    asked.plan()

    ((_, booked),) = asked.booked
    assert (booked.input, booked.output, booked.read) == (1000, 777, 50)
