"""Deliveries share commits: each is new once, a failure acks nobody, and a busy loop holds nobody up."""

import threading
import time

import pytest

from storage.database.fair_lock import Turnstile
from storage.errors import HandledElsewhere, Unavailable
from storage.exchange.deliveries import Arrival, Arrivals
from tests.support.fakes import messages, strangers, together
from tests.support.store import Store


def keys(store: Store) -> list[str]:
    return [delivery.key for delivery in store.unhandled()]


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
        patched.setattr("storage.exchange.deliveries._add", broken)
        with pytest.raises(Unavailable):
            arrivals.deliver("refused", "click", {"user": "U"})
    assert (keys(store), waiting.new) == ([], None)

    arrivals.deliver("third", "click", {"user": "U"})

    assert keys(store) == ["waiting", "third"]
    assert waiting.new


def passing(gate: Turnstile, order: list[str], name: str, *, urgent: bool = False) -> threading.Thread:
    """Somebody who waits at the gate, and is known to wait."""

    def pass_through() -> None:
        with gate.turn(urgent=urgent):
            order.append(name)

    before = len(gate._queues[urgent])
    thread = threading.Thread(target=pass_through)
    thread.start()
    while len(gate._queues[urgent]) == before:
        time.sleep(0.001)
    return thread


def test_a_turnstile_is_handed_on_in_the_order_of_asking():
    gate, order = Turnstile(), list[str]()
    with gate.turn():
        waiting = [passing(gate, order, name) for name in "abcde"]
    for thread in waiting:
        thread.join()

    assert order == [*"abcde"]


def test_every_other_turn_is_for_the_urgent():
    gate, order = Turnstile(), list[str]()
    with gate.turn():
        waiting = [passing(gate, order, name) for name in "abc"]
        waiting += [passing(gate, order, name, urgent=True) for name in "XYZ"]
    for thread in waiting:
        thread.join()

    assert order == [*"XaYbZc"]
