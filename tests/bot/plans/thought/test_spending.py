"""A thought waits for room beside the others, not for ever; and what was paid for is booked, however late."""

from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest

from bot.context import Bot
from bot.planner.model.usage import ModelUnavailable, Usage
from bot.plans.thought.spending import affordable
from storage.config import ModelConfig
from storage.database.leases import Held
from storage.errors import LeaseLost, Unavailable
from tests.support.fakes import TEAM, verbs
from tests.support.room import Room
from tests.support.store import Store

USAGE = Usage(1, 1, 0, 0, 0.25)


class Waiting:
    """A clock that goes on only while somebody waits; after some looks something happens."""

    def __init__(self, after: int = -1, then: Any = None) -> None:
        self.now, self.looks, self._after, self._then = 0.0, 0, after, then

    def clock(self) -> float:
        return self.now

    def pause(self, seconds: float) -> None:
        self.now, self.looks = self.now + seconds, self.looks + 1
        if self.looks == self._after:
            self._then()


def bot(store: Store, **model: Any) -> Bot:
    made = Room(store).bot
    return replace(made, config=made.config.model_copy(update={"model": ModelConfig(**model)}))


def wish(store: Store) -> int:
    return store.request("deploy a", team=TEAM, user="ANN", channel="C1")


def thought(one: Bot, time: Waiting | None = None) -> Any:
    at = time or Waiting()
    return affordable(one, one.store.view(wish(one.store)), at.clock, at.pause)


def test_a_thought_waits_until_another_bot_has_done(store):
    first, second = bot(store, per_day=1.0), bot(store.stranger(), per_day=1.0)
    others = ExitStack()
    others.enter_context(thought(first))
    time = Waiting(3, others.close)
    with thought(second, time):
        pass

    assert time.looks == 3


def test_it_waits_no_longer_than_what_a_dead_one_has_set_aside_may_last(lite):
    one = bot(lite, per_day=1.0, deadlines={"plan": 100.0})
    time = Waiting()
    with thought(one), pytest.raises(ModelUnavailable, match="set aside by other calls"), thought(one, time):
        raise AssertionError

    assert time.now == 160.0


def test_what_is_used_up_meanwhile_is_not_waited_for(lite):
    one = bot(lite, per_day=1.0)
    with thought(one):
        time = Waiting(2, lambda: lite.book(wish(lite), model="m", usd=1.2, tokens={}))
        with pytest.raises(ModelUnavailable, match=r"1\.20 of 1\.00 USD"), thought(one, time):
            raise AssertionError


def test_a_thought_that_breaks_sets_nothing_aside_any_more(lite):
    one = bot(lite, per_day=1.0)
    with pytest.raises(ZeroDivisionError), thought(one):
        raise ZeroDivisionError
    with thought(one):
        pass


def test_a_database_that_goes_away_takes_no_answer_with_it(lite, monkeypatch):
    def away(*_: Any) -> None:
        raise Unavailable("away")

    with thought(bot(lite)):
        monkeypatch.setattr(Store, "release", away)


@pytest.mark.postgres
@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
def test_a_bot_that_has_lost_its_plan_sets_nothing_aside_but_books_what_it_has_paid(store):
    one, plan_id = bot(store, per_day=1.0), wish(store)
    view, late = store.view(plan_id), Held("think: plan 1", "somebody", 1)
    at = Waiting()
    with affordable(one, view, at.clock, at.pause) as spend, store.under(late):
        spend("m", USAGE)
        with pytest.raises(LeaseLost):
            store.think_aloud(plan_id, "Thinking …", channel="C1", user="ANN")
    with store.under(late), pytest.raises(LeaseLost), affordable(one, view, at.clock, at.pause):
        raise AssertionError
    with thought(one):  # what was set aside for the first is free
        pass

    assert (verbs(store, plan_id), store.spent(plan_id)[0]) == (["request", "book"], 0.25)
