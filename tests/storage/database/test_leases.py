"""Leases: one owner at a time, by the database's clock; who has lost one writes nothing any more."""

import time
from contextlib import closing

import pytest
from sqlalchemy import Engine

from storage.database.commit_notices import CommitListener
from storage.database.leases import Held, give_back, hold
from storage.errors import LeaseLost
from tests.conftest import emptied
from tests.support.fakes import FakeClock, ask, tamper
from tests.support.store import Store

pytestmark = pytest.mark.postgres


@pytest.fixture
def place(postgres_engine: Engine, clock: FakeClock) -> Store:
    return Store(emptied(postgres_engine), clock)


def lapse(store: Store) -> None:
    tamper(store, "UPDATE lease SET until = now() - interval '1 second'")


def test_one_has_it_and_renews_it_and_another_does_not_get_it(place):
    first = hold(place.engine, ["hear", "speak"], "a")
    again, other = hold(place.engine, ["hear"], "a"), hold(place.engine, ["hear"], "b")

    assert first == {"hear": Held("hear", "a", 1), "speak": Held("speak", "a", 1)}
    assert (again, other) == ({"hear": Held("hear", "a", 1)}, {})


def test_who_lets_it_lapse_loses_it_to_another_with_a_new_fence(place):
    hold(place.engine, ["hear"], "a")
    lapse(place)

    assert hold(place.engine, ["hear"], "b") == {"hear": Held("hear", "b", 2)}
    assert hold(place.engine, ["hear"], "a") == {}


def test_who_ends_gives_it_back_at_once(place):
    hold(place.engine, ["hear"], "a")
    give_back(place.engine, "a")

    assert hold(place.engine, ["hear"], "b") == {"hear": Held("hear", "b", 2)}


def test_what_is_written_under_a_lease_that_was_lost_is_not_written(place):
    mine = hold(place.engine, ["think"], "a")["think"]
    with place.under(mine):
        plan_id = ask(place)
    lapse(place)
    hold(place.engine, ["think"], "b")

    with place.under(mine), pytest.raises(LeaseLost, match="Another bot does “think” by now"):
        place.cancel(plan_id, user="planner", reason="late")
    assert place.view(plan_id).state == "planning"


def test_a_lease_that_lapsed_and_that_nobody_took_still_holds(place):
    mine = hold(place.engine, ["think"], "a")["think"]
    lapse(place)
    with place.under(mine):
        assert ask(place)


def test_nobody_takes_a_lease_in_the_middle_of_a_commit_under_it(place):
    mine = hold(place.engine, ["think"], "a")["think"]
    lapse(place)
    with place.under(mine), place.write():
        during = hold(place.engine, ["think"], "b")

    assert during == {}
    assert hold(place.engine, ["think"], "b")


def test_taking_a_lease_wakes_nobody(place):
    with closing(CommitListener(place.engine)) as listener:
        listener.wait(0.1)
        hold(place.engine, ["hear"], "a")
        began = time.monotonic()
        listener.wait(0.5)

    assert time.monotonic() - began >= 0.45
