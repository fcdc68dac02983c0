"""Deliveries share commits: each is new once, a failure acks nobody, and a busy loop holds nobody up."""

import threading
import time

import pytest

from storage.errors import Unavailable
from storage.exchange.deliveries import Arrival, Arrivals
from tests.support.fakes import strangers, together
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
