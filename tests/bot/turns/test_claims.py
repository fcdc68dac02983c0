"""What one works on, no other does, in this process or in another; who stands still loses it."""

import pytest

from bot.turns.claims import Claims
from storage.errors import LeaseLost
from tests.support.fakes import ask, tamper, together
from tests.support.store import Store


def lapse(store: Store) -> None:
    tamper(store, "UPDATE lease SET until = now() - interval '1 second'")


def test_what_one_thread_has_no_other_gets_until_it_is_given_back(store):
    mine = Claims(store.engine, "hear")
    first, busy, other = mine.take([{"a", "b"}, {"b"}, {"c"}])
    again = mine.take([{"a"}])
    assert first
    mine.give_back(first)

    assert (busy, again) == (None, [None])
    assert other
    assert mine.busy() >= {"c"}
    assert all(mine.take([{"a"}, {"b"}]))


def test_what_is_given_back_is_free_before_the_rows_hear_of_it(store):
    mine = Claims(store.engine, "hear")
    claim = mine.take([{"a"}])[0]
    assert claim
    busy = mine.busy()
    mine.give_back(claim)

    assert (busy, mine.busy()) == ({"a"}, set())


def test_of_many_that_want_the_same_one_gets_it(store):
    mine = Claims(store.engine, "hear")

    found = together([lambda: mine.take([{"a", "b"}])[0] for _ in range(8)])

    assert sum(one is not None for one in found) == 1


@pytest.mark.postgres
@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
class TestManyBots:
    def test_each_of_many_things_is_had_by_one_bot(self, store):
        bots = [Claims(store.engine, "hear") for _ in range(4)]
        wanted = [{f"thread {n}", f"person {n % 7}"} for n in range(40)]

        found = [one for claims in together([lambda b=b: b.take(wanted) for b in bots]) for one in claims]

        names = [name for one in found if one for name in one.names]
        assert len(names) == len({*names})
        assert {one.names for one in found if one}

    def test_what_is_had_in_part_is_given_back(self, store):
        first, second = (Claims(store.engine, "hear") for _ in range(2))
        held = first.take([{"b"}])[0]
        assert held
        assert second.take([{"a", "b"}]) == [None]
        second.rest()

        assert first.take([{"a"}]) != [None]

    def test_kinds_of_work_do_not_stand_in_each_others_way(self, store):
        assert Claims(store.engine, "hear").take([{"plan 7"}]) != [None]
        assert Claims(store.engine, "think").take([{"plan 7"}]) != [None]

    def test_who_stands_still_loses_it_and_writes_nothing_more(self, store):
        first, second = (Claims(store.engine, "hear") for _ in range(2))
        late = first.take([{"plan 7", "person ANN"}])[0]
        assert late
        lapse(store)
        assert second.take([{"person ANN"}]) != [None]

        with store.under(*late.leases), pytest.raises(LeaseLost, match="person ANN"):
            ask(store)
        assert store.recent(5) == []

    def test_who_wakes_up_late_is_not_taken_for_who_has_it_anew(self, store):
        first, second = (Claims(store.engine, "hear") for _ in range(2))
        late = first.take([{"plan 7"}])[0]
        lapse(store)
        meanwhile = second.take([{"plan 7"}])[0]
        assert late
        assert meanwhile
        second.give_back(meanwhile)
        second.rest()
        first.give_back(late)
        assert first.take([{"plan 7"}]) != [None]

        with store.under(*late.leases), pytest.raises(LeaseLost):
            ask(store)

    def test_what_is_renewed_lasts_but_nobody_works_on_one_thing_for_ever(self, store):
        now = [0.0]
        first, second = (
            Claims(store.engine, "hear", patience=60.0, steady=lambda: now[0]),
            Claims(store.engine, "hear"),
        )
        assert first.take([{"a"}]) != [None]
        lapse(store)
        first.keep()
        kept = second.take([{"a"}])
        now[0] += 61
        lapse(store)
        first.keep()

        assert kept == [None]
        assert second.take([{"a"}]) != [None]

    def test_nobody_takes_what_a_commit_is_being_made_under(self, store):
        first, second = (Claims(store.engine, "hear") for _ in range(2))
        mine = first.take([{"a"}])[0]
        assert mine
        lapse(store)
        with store.under(*mine.leases), store.write():
            during = second.take([{"a"}])

        assert during == [None]
        assert second.take([{"a"}]) != [None]
