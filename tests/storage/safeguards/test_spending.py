"""What thoughts may cost is set aside by rows: for calls at once of any number of bots, and not for ever."""

from datetime import timedelta
from typing import Any

import pytest
from sqlmodel import col

from storage.database.tables import SetAside
from storage.safeguards.spending import NoRoom
from tests.support.fakes import TEAM, together
from tests.support.store import Store

LASTS = timedelta(seconds=120)
PLENTY = 99.0


def wish(store: Store, user: str = "ANN") -> int:
    return store.request("deploy a", team=TEAM, user=user, channel="C1")


def keep(
    store: Store, plan_id: int, *, user: float = PLENTY, day: float = PLENTY, plan: float = PLENTY
) -> int:
    return store.set_aside(plan_id, usd=1.0, limits=(plan, user, day), lasts=LASTS)


def pay(store: Store, plan_id: int, usd: float, aside: int = 0) -> None:
    store.book(plan_id, model="m", usd=usd, tokens={}, aside=aside)


def asides(store: Store) -> list[float]:
    with store.read() as t:
        return [round(row.usd, 6) for row in t.rows(SetAside, order=col(SetAside.id))]


def test_what_one_thought_sets_aside_is_not_there_for_another(store):
    keep(store, wish(store), user=1.0, day=2.0)

    with pytest.raises(NoRoom):
        keep(store, wish(store), user=1.0)
    with pytest.raises(NoRoom):
        keep(store, wish(store, "BOB"), user=1.0, day=1.0)
    assert keep(store, wish(store, "BOB"), user=1.0, day=2.0)


def test_what_is_booked_takes_the_place_of_what_was_set_aside(store):
    plan_id = wish(store)
    aside = keep(store, plan_id)
    pay(store, plan_id, 0.4, aside)

    assert (asides(store), store.spent(plan_id)) == ([0.6], (0.4, 0.4, 0.4))
    pay(store, plan_id, 0.7, aside)
    assert asides(store) == [0.0]


def test_what_a_thought_did_not_need_is_there_for_others(store):
    aside = keep(store, wish(store), day=1.0)
    store.release(aside)

    assert keep(store, wish(store), day=1.0)


def test_what_a_process_that_died_has_set_aside_lapses(store, clock):
    keep(store, wish(store), day=1.0)
    clock.advance(seconds=119)
    with pytest.raises(NoRoom):
        keep(store, wish(store), day=1.0)
    clock.advance(seconds=1)

    assert keep(store, wish(store), day=1.0)
    assert asides(store) == [1.0], "what has lapsed is gone"


def test_who_takes_a_plan_over_does_not_wait_for_who_died_over_it(store):
    plan_id = wish(store)
    keep(store, plan_id, plan=1.0)

    assert keep(store, plan_id, plan=1.0)
    with pytest.raises(NoRoom):
        keep(store, plan_id, plan=1.0, day=2.0)


def test_a_budget_that_is_used_up_has_no_room_and_nothing_is_written(store):
    plan_id = wish(store)
    pay(store, plan_id, 1.0)
    for limits in ({"plan": 1.0}, {"user": 1.0}, {"day": 1.0}, {"day": 0.0}):
        with pytest.raises(NoRoom):
            keep(store, plan_id, **limits)

    assert asides(store) == []


@pytest.mark.parametrize("budget", ["user", "day"])
@pytest.mark.parametrize("limit", [0.5, 3.0, 4.5])
def test_of_many_at_once_in_several_bots_as_many_are_let_in_as_one_after_the_other(store, budget, limit):
    bots, plans = [store.stranger() for _ in range(4)], [wish(store) for _ in range(16)]

    def one(number: int) -> Any:
        return keep(bots[number % 4], plans[number], **{budget: limit})

    found = together([lambda number=number: one(number) for number in range(16)])

    let_in = [number for number in found if isinstance(number, int)]
    assert len(let_in) == -(-limit // 1), "so that what is begun is below the limit, but for the last"
    assert all(isinstance(one, int | NoRoom) for one in found)
    assert len({*let_in}) == len(let_in) == len(asides(store))


def test_calls_at_once_in_several_bots_exceed_a_budget_by_less_than_one_call(store):
    """Each sets aside, is asked, books and releases; over and over, until nobody finds room."""
    bots, limit, usd = [store.stranger() for _ in range(4)], 5.0, 0.7

    def thinks(bot: Store) -> None:
        while bot.spent(plan_id := wish(bot))[2] < limit:
            try:
                aside = keep(bot, plan_id, day=limit)
            except NoRoom:
                continue
            pay(bot, plan_id, usd, aside)
            bot.release(aside)

    assert together([lambda bot=bot: thinks(bot) for bot in bots]) == [None] * 4

    spent = store.spent(wish(store))[2]
    assert limit <= spent < limit + usd
    assert asides(store) == []
