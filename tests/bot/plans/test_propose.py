"""What becomes of a wish while it is being planned."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from bot.context import Bot
from bot.inbox.clicks import on_click
from bot.people import People
from bot.planner.model.usage import ModelUnavailable, Usage
from bot.planner.runbooks import book as runbooks
from bot.planner.runbooks.book import Planned
from bot.plans.permits import permit
from storage.config import Approvals, Freeze, PolicyConfig, SignoffConfig
from storage.config import People as ConfigPeople
from storage.contract.states import PlanState
from tests.support.fakes import (
    CONTRACTS,
    DEPLOY,
    NOW,
    Everybody,
    approved,
    demo_config,
    due,
    messages,
    plan_spec,
    propose,
    step,
)
from tests.support.room import think
from tests.support.store import Store

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

    def slow(text: str, spend: Any, ground: Any) -> Planned:
        lite.cancel(plan_id, user="ANN", reason="changed my mind")
        return Planned(plan_spec(), "by a model")

    think(bot(lite, slow))

    assert lite.view(plan_id).state == PlanState.cancelled
    assert lite.view(plan_id).reason == "changed my mind"
    assert messages(lite, "whisper") == []


def test_only_so_many_open_plans_touch_one_thing(lite):
    first, second = propose(lite), approved(lite, step("s1", DEPLOY))
    third, other = wish(lite, "deploy a"), wish(lite, "deploy b")

    def planned(text: str, spend: Any, ground: Any) -> Planned:
        return Planned(plan_spec(step("s1", DEPLOY, parameters={"service": text[-1]})), "by a model")

    limited = {"people": {"approvers": ["BOB", "CAROL"]}, "policy": {"limits": {"plans_per_target": 2}}}
    think(replace(bot(lite, planned), config=SignoffConfig.model_validate(limited)))

    assert lite.view(third).state == PlanState.cancelled
    said = messages(lite, "whisper")[0].text
    assert f"2 open plans touch service:a already ({first}, {second}), and 2 is the most at once" in said
    assert lite.view(other).state == PlanState.proposed


def test_one_wish_that_breaks_the_planner_does_not_stop_the_next(lite):
    broken, fine = wish(lite), wish(lite)

    def moody(text: str, spend: Any, ground: Any) -> Planned:
        if lite.view(broken).state == PlanState.planning:
            raise RuntimeError("a bug")
        return Planned(plan_spec(), "by a model")

    think(bot(lite, moody))

    assert lite.view(broken).state == PlanState.stalled
    assert lite.view(fine).state == PlanState.proposed


def test_a_budget_ends_the_questions_and_everything_is_booked(lite):
    plan_id = wish(lite, "do something odd")

    def dear(text: str, spend: Any, ground: Any) -> Planned:
        for _ in range(5):
            spend("claude-opus-5-5", Usage(input=1, output=1, written=0, read=0, usd=0.6))
        raise AssertionError("it went on asking")

    think(bot(lite, dear))

    assert lite.spent(plan_id) == (1.2, 1.2, 1.2)
    assert "budget for this plan is used up (1.20 of 1.00 USD)" in messages(lite, "whisper")[0].text


def test_a_model_that_is_away_leaves_it_to_the_runbooks(lite):
    plan_id = wish(lite, "sing me a song")

    def away(text: str, spend: Any, ground: Any) -> Planned:
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


# permits: what may come between an approval and its step


def guarded(store: Store, **config: Any) -> Bot:
    books = runbooks.read([runbooks.SHIPPED])
    changed = demo_config().model_copy(update={"people": PEOPLE, **config})
    return Bot(store, changed, Everybody(), lambda trigger, view: None, books)


PEOPLE = ConfigPeople(approvers=("BOB", "CAROL"))
BLACK_FRIDAY = Freeze(
    start=NOW - timedelta(hours=1),
    end=NOW + timedelta(hours=8),
    zone="UTC",
    environments=("production",),
    reason="sales",
)


def waits(store: Store, bot: Bot) -> str:
    plan_id = approved(store, step("s1", DEPLOY))
    store.clock.advance(minutes=5)
    permit(bot)
    return store.view(plan_id).step("s1").withheld


def test_a_step_whose_approval_still_holds_gets_its_permit(lite):
    assert waits(lite, guarded(lite)) == ""
    assert len(due(lite)) == 1


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"freezes": {"friday": BLACK_FRIDAY}}, "production is frozen until Mon 16 Nov 07:00 UTC: sales"),
        ({"policy": PolicyConfig(approvals=Approvals(high=2))}, "the policy now asks for 2 approvals"),
        ({"people": ConfigPeople(approvers=("CAROL",))}, "an approval no longer holds"),
    ],
)
def test_what_came_between_approval_and_run_keeps_the_step_back(lite, config, said):
    assert said in waits(lite, guarded(lite, **config))
    assert due(lite) == []


@pytest.mark.parametrize(("environment", "held"), [("production", True), ("staging", False), ("", True)])
def test_a_freeze_holds_the_environments_it_names_and_what_names_none(environment, held):
    assert BLACK_FRIDAY.holds(environment, NOW) is held
    assert not BLACK_FRIDAY.holds(environment, NOW + timedelta(hours=8))


def test_an_approval_given_in_a_freeze_starts_nothing(lite):
    plan_id = propose(lite, plan_spec(step("s1", DEPLOY)))
    bot = guarded(lite, freezes={"friday": BLACK_FRIDAY})
    value = {"p": plan_id, "r": 1, "d": lite.view(plan_id).digest[:16]}
    on_click(bot, {"action": "approve", "user": "BOB", "channel": "C1", "value": json.dumps(value)})
    permit(bot)

    assert lite.view(plan_id).state == PlanState.approved
    assert due(lite) == []
    assert "frozen" in lite.view(plan_id).step("s1").withheld


def test_a_plan_with_a_secret_in_it_is_not_kept_and_not_planned_again(lite):
    plan_id, calls = wish(lite), []

    def careless(text: str, spend: Any, ground: Any) -> Planned:
        calls.append(text)
        return Planned(plan_spec(goal="use password=hunter22x! for it"), "by a model; password=hunter22x!")

    for _ in range(3):
        think(bot(lite, careless))

    assert len(calls) == 1
    assert lite.view(plan_id).state == PlanState.cancelled
    assert "looks like a secret" in messages(lite, "whisper")[0].text


def test_what_a_planner_says_of_its_plan_is_kept_without_secrets(lite):
    plan_id = wish(lite)
    think(bot(lite, lambda text, spend, ground: Planned(plan_spec(), "assuming password=hunter22x!")))

    assert "hunter22x" not in lite.view(plan_id).note
    assert "[redacted]" in lite.view(plan_id).note
