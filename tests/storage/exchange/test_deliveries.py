"""Deliveries share commits: each is new once, a failure acks nobody, and a busy loop holds nobody up."""

import threading
import time
from functools import partial

import pytest

from storage.errors import HandledElsewhere, Unavailable
from storage.exchange.deliveries import EACH, Arrival, Arrivals
from tests.support.fakes import messages, strangers, together
from tests.support.store import Store


def keys(store: Store) -> list[str]:
    return [delivery.key for delivery in store.unhandled()]


def test_a_delivery_counts_once(store):
    assert store.deliver("Ev1", "click", {"a": 1}) is True
    assert store.deliver("Ev1", "click", {"a": 1}) is False
    assert [delivery.key for delivery in store.unhandled()] == ["Ev1"]


def test_of_many_copies_of_a_delivery_one_counts(store):
    calls = [partial(mine.deliver, "Ev1", "click", {}) for mine in strangers(store, 8)]

    assert sorted(together(calls)) == [False] * 7 + [True]


def test_deliveries_are_handled_in_the_order_they_came_and_then_forgotten(store):
    for number in (3, 1, 2):
        store.deliver(f"Ev{number}", "command", {"text": "secret"})
    with store.handling("Ev3"):
        store.handled()

    assert [delivery.key for delivery in store.unhandled()] == ["Ev1", "Ev2"]
    assert store.deliver("Ev3", "command", {}) is False


def test_many_at_once_are_each_new_once(store):
    calls = [lambda n=n: store.deliver(f"k{n % 20}", "click", {"user": "U"}) for n in range(40)]

    found = together(calls)

    assert sorted(found) == [False] * 20 + [True] * 20
    assert sorted(keys(store)) == sorted(f"k{n}" for n in range(20))


def test_two_bots_that_are_told_the_same_keep_it_once(store):
    bots = strangers(store, 8)

    found = together([lambda bot=bot: bot.deliver("k", "click", {"user": "U"}) for bot in bots])

    assert sorted(found) == [False] * 7 + [True]
    assert keys(store) == ["k"]


def test_of_many_bots_that_handle_the_same_delivery_one_commits(store):
    store.deliver("k", "command", {"user": "U"})

    def handle(bot: Store) -> int:
        with bot.handling("k"):
            return bot.request("deploy", team="T", user="U", channel="C")

    found = together([lambda bot=bot: handle(bot) for bot in strangers(store, 8)])

    assert len(store.recent(9)) == 1
    assert sorted(type(one).__name__ for one in found) == ["HandledElsewhere"] * 7 + ["int"]


def test_whoever_has_committed_first_may_go_on_and_who_was_late_may_not(store):
    store.deliver("k", "command", {"user": "U"})
    first, late = strangers(store, 2)
    with first.handling("k"), late.handling("k"):
        first.say("said", channel="C", text="one")
        first.say("said again", channel="C", text="two")
        for _ in range(2):
            with pytest.raises(HandledElsewhere):
                late.say("said late", channel="C", text="three")

    assert [said.text for said in messages(store, "say")] == ["one", "two"]


def test_a_delivery_that_another_one_leads_to_is_in_its_commit(store):
    store.deliver("reply:1", "reply", {"user": "U"})
    first, late = strangers(store, 2)
    with late.handling("reply:1"):
        with first.handling("reply:1"):
            first.handled()
        with pytest.raises(HandledElsewhere):
            late.deliver("revise:1", "revise", {"user": "U", "text": "more careful"})

    assert store.unhandled(thought=True) == []


def test_deliveries_that_wait_for_a_commit_share_the_next_one(store, monkeypatch):
    commits, arrivals = [], Arrivals(store)
    keep = arrivals._keep
    monkeypatch.setattr(arrivals, "_keep", lambda mine: commits.append(1) or keep(mine))
    with store.write():  # somebody else is writing
        threads = [
            threading.Thread(target=arrivals.deliver, args=(f"k{n}", "click", {"user": "U"}))
            for n in range(30)
        ]
        for thread in threads:
            thread.start()
        while len(arrivals._waiting) < 30:
            time.sleep(0.001)
    for thread in threads:
        thread.join()

    assert len(commits) == 1
    assert len(keys(store)) == 30


def test_a_delivery_that_could_not_be_written_is_never_kept_and_the_others_are(store, monkeypatch):
    arrivals = Arrivals(store)
    waiting = Arrival({"key": "waiting", "kind": "click", "body": {"user": "U"}})
    arrivals._waiting.append(waiting)

    def broken(t, row):
        raise Unavailable("no disk")

    with monkeypatch.context() as patched:
        patched.setattr("storage.exchange.deliveries.add", broken)
        with pytest.raises(Unavailable):
            arrivals.deliver("refused", "click", {"user": "U"})
    assert (keys(store), waiting.new) == ([], None)

    arrivals.deliver("third", "click", {"user": "U"})

    assert keys(store) == ["waiting", "third"]
    assert waiting.new


def test_of_each_person_the_first_are_looked_at_in_the_order_they_came(store):
    for number in range(EACH + 5):
        store.deliver(f"many:{number}", "click", {"user": "MANY"})
    store.deliver("one", "click", {"user": "ONE"})
    store.deliver("hook", "hook", {"user": "MANY", "hook": "h"})
    with store.handling("many:0"):
        store.handled()
    found = [one.key for one in store.waiting_deliveries()]

    assert found == [*(f"many:{number}" for number in range(1, EACH + 1)), "one", "hook"]
