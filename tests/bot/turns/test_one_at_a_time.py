"""Several bots: each kind of work is one's; who stands still loses it, and gets nothing done late."""

import pytest
from sqlalchemy import Engine

from bot.turns.one_at_a_time import Shifts
from storage.database.engine import open_engine
from storage.database.leases import SECONDS
from storage.errors import LeaseLost
from tests.conftest import emptied
from tests.support.fakes import FakeClock, ask, tamper
from tests.support.store import Store


@pytest.fixture
def place(postgres_engine: Engine, clock: FakeClock) -> Store:
    return Store(emptied(postgres_engine), clock)


def lapse(store: Store) -> None:
    tamper(store, "UPDATE lease SET until = now() - interval '1 second'")


@pytest.mark.postgres
def test_of_two_bots_one_does_it_and_the_other_goes_on_when_the_first_stands_still(place):
    now, did = [0.0], list[str]()
    first, second = (Shifts(place.engine, ["hear"], steady=lambda: now[0]) for _ in range(2))
    turns = [
        one.in_turn(place, "hear", lambda name=name: did.append(name))
        for name, one in (("first", first), ("second", second))
    ]
    for one in (first, second, first):
        one.keep()
    for turn in turns:
        turn()
    alone = [*did]
    now[0] += SECONDS + 1  # nobody renews
    for turn in turns:
        turn()
    nobody = [*did]
    lapse(place)
    second.keep()
    first.keep()
    for turn in turns:
        turn()

    assert (alone, nobody, did) == (["first"], ["first"], ["first", "second"])


@pytest.mark.postgres
def test_a_loop_that_stands_still_keeps_no_lease(place):
    still = set[str]()
    first, second = (
        Shifts(place.engine, ["think", "speak"], still.__contains__),
        Shifts(place.engine, ["think"]),
    )
    did = list[str]()
    first.keep()
    still.add("think")
    first.keep()
    lapse(place)
    second.keep()
    second.in_turn(place, "think", lambda: did.append("second"))()
    first.in_turn(place, "think", lambda: did.append("first"))()

    assert did == ["second"]


@pytest.mark.postgres
def test_what_a_bot_writes_that_woke_up_too_late_is_refused(place):
    first, second = Shifts(place.engine, ["think"]), Shifts(place.engine, ["think"])
    first.keep()

    def late() -> None:
        lapse(place)
        second.keep()
        ask(place)

    with pytest.raises(LeaseLost):
        first.in_turn(place, "think", late)()
    assert place.recent(5) == []


@pytest.mark.postgres
def test_who_ends_leaves_its_work_at_once(place):
    first, second, did = Shifts(place.engine, ["hear"]), Shifts(place.engine, ["hear"]), list[str]()
    first.keep()
    first.give_back()
    second.keep()
    second.in_turn(place, "hear", lambda: did.append("second"))()

    assert did == ["second"]


@pytest.mark.postgres
def test_who_ends_while_the_database_is_away_lets_its_leases_lapse(caplog):
    Shifts(open_engine("postgresql+psycopg://signoff@127.0.0.1:1/signoff"), ["hear"]).give_back()

    assert "lapse by themselves" in caplog.text


def test_on_one_sqlite_file_there_is_one_bot_and_no_lease(lite):
    shifts = Shifts(lite.engine, ["hear"])
    shifts.keep()

    assert shifts.in_turn(lite, "hear", print) is print
