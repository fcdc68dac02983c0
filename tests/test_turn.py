"""The bot's turns: what becomes of a wish while it is being planned."""

from typing import Any

import pytest

from bot.hands import Bot
from bot.people import People
from bot.planner import runbooks
from bot.planner.model import ModelUnavailable, Usage
from bot.planner.runbooks import Planned
from bot.turn import think
from storage.states import PlanState
from storage.store import Store
from tests.fakes import CONTRACTS, demo_config, messages, plan_spec

WISH = "deploy auth-service v2.1.4 to production"


class Nobody(People):
    """Planning asks nobody who they are."""

    def __init__(self) -> None:
        pass


def bot(store: Store, ask_model: Any = None) -> Bot:
    books = runbooks.read([runbooks.SHIPPED])
    return Bot(store, demo_config(), Nobody(), lambda trigger, view: None, books, ask_model)


def wish(store: Store, text: str = WISH) -> int:
    store.publish(CONTRACTS.values())
    return store.request(text, team="T1", user="ANN", channel="C1")


def test_a_plan_cancelled_while_it_was_planned_stays_cancelled(lite):
    plan_id = wish(lite)

    def slow(text: str, spend: Any) -> Planned:
        lite.cancel(plan_id, user="ANN", reason="changed my mind")
        return Planned(plan_spec(), "by a model")

    think(bot(lite, slow))

    assert lite.view(plan_id).state == PlanState.cancelled
    assert lite.view(plan_id).reason == "changed my mind"
    assert messages(lite, "whisper") == []


def test_one_wish_that_breaks_the_planner_does_not_stop_the_next(lite):
    broken, fine = wish(lite), wish(lite)

    def moody(text: str, spend: Any) -> Planned:
        if lite.view(broken).state == PlanState.planning:
            raise RuntimeError("a bug")
        return Planned(plan_spec(), "by a model")

    think(bot(lite, moody))

    assert lite.view(broken).state == PlanState.stalled
    assert lite.view(fine).state == PlanState.proposed


def test_a_budget_ends_the_questions_and_everything_is_booked(lite):
    plan_id = wish(lite, "do something odd")

    def dear(text: str, spend: Any) -> Planned:
        for _ in range(5):
            spend("claude-opus-5-5", Usage(input=1, output=1, written=0, read=0, usd=0.6))
        raise AssertionError("it went on asking")

    think(bot(lite, dear))

    assert lite.spent(plan_id) == (1.2, 1.2, 1.2)
    assert "budget for this plan is used up (1.20 of 1.00 USD)" in messages(lite, "whisper")[0].text


def test_a_model_that_is_away_leaves_it_to_the_runbooks(lite):
    plan_id = wish(lite, "sing me a song")

    def away(text: str, spend: Any) -> Planned:
        raise ModelUnavailable("The model is away.")

    think(bot(lite, away))

    assert lite.view(plan_id).state == PlanState.cancelled
    assert messages(lite, "whisper")[0].text.startswith("The model is away. I have no runbook for that.")


@pytest.mark.parametrize("published", [True, False])
def test_nothing_is_planned_before_a_worker_says_what_it_can_do(lite, published):
    plan_id = lite.request("sing", team="T1", user="ANN", channel="C1")
    if published:
        lite.publish(CONTRACTS.values())

    think(bot(lite))

    assert (lite.view(plan_id).state == PlanState.planning) is not published
