"""Several thoughts at once: in time, each plan once, within the budgets."""

import threading
import time
from dataclasses import replace
from typing import Any

import pytest

from bot.context import Bot
from bot.planner.model.usage import Usage
from bot.planner.runbooks.book import Planned
from bot.turns.thinking import Thinker
from storage.config import ModelConfig
from storage.contract.states import PlanState
from tests.support.fakes import CONTRACTS, TEAM, Everybody, plan_spec
from tests.support.room import Room
from tests.support.store import Store


def bot(store: Store, ask: Any, **model: Any) -> Bot:
    store.publish(CONTRACTS.values())
    made = Room(store).bot
    config = made.config.model_copy(update={"model": ModelConfig(**model)})
    return replace(made, ask_model=ask, config=config, people=Everybody())


def wishes(store: Store, number: int) -> list[int]:
    return [store.request(f"wish {n}", team=TEAM, user=f"U{n}", channel="C1") for n in range(number)]


def settled(thinker: Thinker) -> None:
    end = time.monotonic() + 60
    while thinker.busy() and time.monotonic() < end:
        threading.Event().wait(0.01)
    assert not thinker.busy()


def test_as_many_as_there_is_room_for_are_thought_about_at_once(on_disk):
    together, most = threading.Barrier(5, timeout=30), [0]

    def ask(text: str, spend: Any, ground: Any) -> Planned:
        together.wait()  # nobody goes on until all five are asked
        return Planned(plan_spec(), "by a model")

    plans = wishes(on_disk, 5)
    thinker = Thinker(bot(on_disk, ask), at_once=8)
    thinker.turn()
    most[0] = thinker.busy()
    thinker.turn()
    settled(thinker)

    assert most == [5], "the second turn began none of them twice"
    assert {on_disk.view(plan_id).state for plan_id in plans} == {PlanState.proposed}


def test_no_more_than_configured_are_asked_at_once(on_disk):
    inside, most, lock = [0], [0], threading.Lock()

    def ask(text: str, spend: Any, ground: Any) -> Planned:
        with lock:
            inside[0] += 1
            most[0] = max(most[0], inside[0])
        threading.Event().wait(0.05)
        with lock:
            inside[0] -= 1
        return Planned(plan_spec(), "by a model")

    plans = wishes(on_disk, 6)
    thinker = Thinker(bot(on_disk, ask), at_once=2)
    while any(on_disk.view(plan_id).state == PlanState.planning for plan_id in plans):
        thinker.turn()
        settled(thinker)

    assert most == [2]


@pytest.mark.parametrize("usd", [0.4, 0.9])
def test_a_budget_holds_for_calls_at_once_but_for_one_call(on_disk, usd):
    def ask(text: str, spend: Any, ground: Any) -> Planned:
        threading.Event().wait(0.02)
        spend("claude-opus-5-5", Usage(1, 1, 0, 0, usd))
        return Planned(plan_spec(), "by a model")

    wishes(on_disk, 8)
    thinker = Thinker(bot(on_disk, ask, per_day=1.0), at_once=8)
    thinker.turn()
    settled(thinker)

    spent = on_disk.spent(1)[2]
    assert 1.0 <= spent < 1.0 + usd
