"""Several thoughts at once, in several bots: in time, each plan once, within the budgets."""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import replace
from typing import Any

import pytest

import bot.turns.thinking
from bot.context import Bot
from bot.planner.model.usage import Usage
from bot.planner.runbooks.book import Planned
from bot.turns.claims import Claims
from bot.turns.thinking import Thinker
from storage.config import ModelConfig
from storage.contract.states import PlanState
from storage.errors import Unavailable
from tests.support.fakes import CONTRACTS, TEAM, Everybody, plan_spec, tamper, together, verbs
from tests.support.room import Room
from tests.support.store import Store


def thinks(store: Store, ask: Any, **model: Any) -> Bot:
    store.publish(CONTRACTS.values())
    made = Room(store).bot
    config = made.config.model_copy(update={"model": ModelConfig(**model)})
    return replace(made, ask_model=ask, config=config, people=Everybody())


def wishes(store: Store, number: int) -> list[int]:
    return [store.request(f"wish {n}", team=TEAM, user=f"U{n}", channel="C1") for n in range(number)]


def settled(*thinkers: Thinker) -> None:
    until(lambda: not any(one.busy() for one in thinkers))


def until(look: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not look() and time.monotonic() < end:
        threading.Event().wait(0.01)
    assert look()


def one_of(store: Store, ask: Any, at_once: int = 8, **model: Any) -> Thinker:
    """What one of several bots thinks with."""
    return Thinker(thinks(store, ask, **model), Claims(store.engine, "think"), at_once)


def claimed(store: Store) -> set[str]:
    return Claims(store.engine, "think").busy()


class Model:
    """Answers when it may; counts who asks, and how many of one plan at a time."""

    def __init__(self) -> None:
        self.may, self.inside, self.asked, self.most = threading.Event(), Counter[str](), Counter[str](), 0
        self._lock = threading.Lock()

    def __call__(self, text: str, spend: Any, ground: Any) -> Planned:
        with self._lock:
            self.asked[text] += 1
            self.inside[text] += 1
            self.most = max(self.most, *self.inside.values())
        self.may.wait(60)
        with self._lock:
            self.inside[text] -= 1
        return Planned(plan_spec(), "by a model")


def test_as_many_as_there_is_room_for_are_thought_about_at_once(on_disk):
    together, most = threading.Barrier(5, timeout=30), [0]

    def ask(text: str, spend: Any, ground: Any) -> Planned:
        together.wait()  # nobody goes on until all five are asked
        return Planned(plan_spec(), "by a model")

    plans = wishes(on_disk, 5)
    thinker = Thinker(thinks(on_disk, ask), Claims(on_disk.engine, "think"), at_once=8)
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
    thinker = Thinker(thinks(on_disk, ask), Claims(on_disk.engine, "think"), at_once=2)
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
    thinker = Thinker(thinks(on_disk, ask, per_day=1.0), Claims(on_disk.engine, "think"), at_once=8)
    thinker.turn()
    settled(thinker)

    spent = on_disk.spent(1)[2]
    assert 1.0 <= spent < 1.0 + usd


def test_what_was_thought_about_before_it_was_claimed_is_left_alone(on_disk):
    model = Model()
    model.may.set()
    thinker, claims = one_of(on_disk, model), Claims(on_disk.engine, "think")
    (plan_id,) = wishes(on_disk, 1)
    look = [plan_id]

    def meanwhile(wanted: Any) -> Any:
        found = Claims.take(claims, wanted)
        if look:
            on_disk.stall(look.pop(), actor="planner", reason="elsewhere")
        return found

    claims.take = meanwhile
    thinker._claims = claims
    thinker.turn()
    settled(thinker)

    assert (model.asked, claims.busy()) == (Counter(), set())


def test_a_database_that_goes_away_after_a_claim_leaves_the_plan_for_the_next_turn(on_disk, monkeypatch):
    model = Model()
    model.may.set()
    thinker, looks = one_of(on_disk, model), [0]
    to_think = bot.turns.thinking.to_think

    def away(*given: Any) -> Any:
        looks[0] += 1
        if looks[0] == 2:
            raise Unavailable("away")
        return to_think(*given)

    monkeypatch.setattr(bot.turns.thinking, "to_think", away)
    wishes(on_disk, 1)
    with pytest.raises(Unavailable):
        thinker.turn()
    thinker.turn()
    settled(thinker)

    assert model.asked.total() == 1


@pytest.mark.postgres
@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
class TestManyBots:
    def test_each_wish_is_thought_about_once_and_every_bot_thinks(self, store):
        model = Model()
        bots = [one_of(store.stranger(), model, at_once=4) for _ in range(3)]
        plans = wishes(store, 12)
        together([one.turn for one in bots])
        for _ in range(10):  # who found all of its first ones taken looks again
            for one in bots:
                one.turn()
        busy = [one.busy() for one in bots]
        until(lambda: model.asked.total() == 12)
        model.may.set()
        settled(*bots)

        assert busy == [4, 4, 4]
        assert (model.most, {*model.asked.values()}, len(model.asked)) == (1, {1}, 12)
        assert {store.view(plan_id).state for plan_id in plans} == {PlanState.proposed}
        assert claimed(store) == set()

    def test_who_stands_still_loses_its_plan_and_writes_nothing_more_of_it(self, store, caplog):
        slow, quick = Model(), Model()
        quick.may.set()
        late, other = one_of(store.stranger(), slow), one_of(store.stranger(), quick)
        (plan_id,) = wishes(store, 1)
        late.turn()
        until(lambda: slow.asked.total() == 1)
        other.turn()
        meanwhile = quick.asked.total()
        tamper(store, "UPDATE lease SET until = now() - interval '1 second'")
        other.turn()
        settled(other)
        told = verbs(store, plan_id)
        caplog.set_level(logging.INFO, "bot.turns.thinking")
        slow.may.set()
        settled(late)

        assert (meanwhile, quick.asked.total()) == (0, 1)
        assert verbs(store, plan_id) == told
        assert told.count("propose") == 1
        assert f"plan={plan_id} was thought about for nothing: Another bot does" in caplog.text

    def test_what_is_thought_about_is_kept_and_what_ends_is_left_to_others_at_once(self, store):
        model = Model()
        claims = Claims(store.engine, "think")
        thinker, other = Thinker(thinks(store, model), claims, 8), one_of(store.stranger(), model)
        (plan_id,) = wishes(store, 1)
        with ExitStack() as stack:
            stack.enter_context(closing(thinker))
            thinker.turn()
            until(lambda: model.asked.total() == 1)
            tamper(store, "UPDATE lease SET until = now() - interval '1 second'")
            claims.keep()
            other.turn()
            kept = other.busy()
        other.turn()
        taken = other.busy()
        model.may.set()
        settled(thinker, other)

        assert (kept, taken) == (0, 1)
        assert verbs(store, plan_id).count("propose") == 1

    def test_what_ends_before_the_others_have_it_writes_nothing_either(self, store):
        model = Model()
        thinker = one_of(store, model)
        (plan_id,) = wishes(store, 1)
        thinker.turn()
        until(lambda: model.asked.total() == 1)
        thinker.close()
        told = verbs(store, plan_id)
        model.may.set()
        settled(thinker)

        assert (verbs(store, plan_id), store.view(plan_id).state) == (told, PlanState.planning)

    @pytest.mark.parametrize("usd", [0.4, 0.9])
    def test_a_budget_holds_for_calls_at_once_of_several_bots_but_for_one_call(self, store, usd):
        def ask(text: str, spend: Any, ground: Any) -> Planned:
            threading.Event().wait(0.02)
            spend("claude-opus-5-5", Usage(1, 1, 0, 0, usd))
            return Planned(plan_spec(), "by a model")

        bots = [one_of(store.stranger(), ask, at_once=3, per_day=1.0) for _ in range(3)]
        plans = wishes(store, 9)
        together([one.turn for one in bots])
        for one in bots:
            one.turn()
        settled(*bots)

        assert 1.0 <= store.spent(plans[0])[2] < 1.0 + usd
