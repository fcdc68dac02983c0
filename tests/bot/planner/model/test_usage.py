"""What a call cost, and the ways in which a model may fail."""

import pytest

from bot.planner.model import wire
from bot.planner.model.usage import (
    ModelFailed,
    ModelInvalid,
    ModelRefused,
    ModelTruncated,
    ModelUnavailable,
    Price,
    Usage,
)
from storage.errors import BadConfig, SignoffError
from tests.support.fake_model import GOOD, MODEL, says

pytestmark = pytest.mark.model


def test_the_price_of_a_call_counts_the_cache(desk):
    usage = {
        "input_tokens": 1_000, "output_tokens": 2_000,
        "cache_creation_input_tokens": 4_000, "cache_read_input_tokens": 10_000,
    }  # fmt: skip
    asked = desk(says(GOOD, usage=usage), prices={MODEL: Price(input=4, output=20, write=1.25, read=0.05)})
    asked.plan()

    [(model, booked)] = asked.booked
    assert model == MODEL
    cost = pytest.approx(0.004 + 0.04 + 0.02 + 0.002)
    assert booked == Usage(1_000, 2_000, 4_000, 10_000, cost, booked.prompt)


def test_what_is_kept_for_an_hour_costs_more_to_write(desk):
    usage = {
        "input_tokens": 0, "output_tokens": 0, "cache_creation_input_tokens": 4_000,
        "cache_creation": {"ephemeral_5m_input_tokens": 1_000, "ephemeral_1h_input_tokens": 3_000},
    }  # fmt: skip
    asked = desk(says(GOOD, usage=usage), prices={MODEL: Price(input=4, output=20)})
    asked.plan()

    assert asked.booked[0][1].usd == pytest.approx((1_000 * 1.25 + 3_000 * 2.0) * 4 / 1e6)


def test_a_model_without_a_price_is_not_asked(desk):
    with pytest.raises(
        BadConfig, match="no price for the model “claude-next”; prices are known for: claude-f"
    ):
        desk(says(GOOD), model="claude-next")


@pytest.mark.hostile
def test_every_failure_is_of_one_family():
    assert all(issubclass(kind, ModelFailed) for kind in (ModelInvalid, ModelRefused, ModelTruncated))
    assert issubclass(ModelUnavailable, ModelFailed)
    assert issubclass(ModelFailed, SignoffError)
    assert wire.schema([])["$defs"]["Step"]["properties"]["call"]["type"] == "string"
