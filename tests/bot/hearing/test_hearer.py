"""Several threads and several bots hear: each delivery once, each line in its order, nobody starved."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

import pytest

import bot.hearing.hearer
from bot.context import Bot
from bot.hearing.hearer import Hearer
from bot.hearing.order import lines
from bot.turns.claims import Claims
from storage.database.tables import Delivery
from storage.errors import Unavailable
from storage.exchange.deliveries import Waiting
from tests.support.fakes import tamper
from tests.support.room import Room
from tests.support.store import Store

Do = Callable[[Bot, Delivery], None]
PEOPLE, THREADS = 6, 4


@contextmanager
def hearers(store: Store, number: int) -> Iterator[list[Hearer]]:
    """As many bots, each with what only its own process has."""
    with ExitStack() as stack:
        bots = [Room(store.stranger()).bot for _ in range(number)]
        yield [stack.enter_context(closing(Hearer(one, Claims(one.store.engine, "hear")))) for one in bots]


def until_handled(store: Store, hearing: list[Hearer]) -> None:
    for _ in range(6000):
        if not store.waiting_deliveries():
            return
        for one in hearing:
            one.turn()
        threading.Event().wait(0.005)
    raise AssertionError("not all of it was handled")


def said(store: Store, number: int, user: str, kind: str = "reply", **more: Any) -> None:
    body = {"user": user, "channel": "C1", "thread": f"{number % THREADS}"} | more
    assert store.deliver(f"{kind}:{number}", kind, body)


class Witness:
    """Sees what is handled, from when to when, instead of doing it."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.order, self.inside, self.clashes = list[str](), Counter[str](), list[str]()
        self._lock, self.before = threading.Lock(), lambda _: None
        patch.setattr(bot.hearing.hearer, "handle_one", self.handle)

    def handle(self, one: Bot, delivery: Delivery) -> None:
        mine = lines(Waiting(delivery.key, delivery.id, delivery.kind, **delivery.body))
        with self._lock:
            self.inside.update(mine)
            self.clashes += [line for line in mine if self.inside[line] > 1]
        try:
            self.before(delivery)
            with one.store.handling(delivery.key):
                one.store.handled()
        finally:
            with self._lock:
                self.inside.subtract(mine)
                self.order.append(delivery.key)


@pytest.fixture
def witness(monkeypatch: pytest.MonkeyPatch) -> Witness:
    return Witness(monkeypatch)


@pytest.mark.parametrize("number", [1, 3])
def test_each_is_handled_once_and_every_line_in_its_order(store, witness, number):
    if number > 1 and store.engine.dialect.name == "sqlite":
        pytest.skip("on SQLite there is one bot")
    witness.before = lambda _: threading.Event().wait(0.002)
    for n in range(36):
        said(store, n, f"U{n % PEOPLE}")
    with hearers(store, number) as hearing:
        until_handled(store, hearing)

    assert sorted(witness.order) == sorted(f"reply:{n}" for n in range(36))
    assert witness.clashes == []
    for user in range(PEOPLE):
        theirs = [int(key[6:]) for key in witness.order if int(key[6:]) % PEOPLE == user]
        assert theirs == sorted(theirs)


def test_while_one_waits_for_slack_the_others_go_on(store, witness):
    slow = threading.Event()
    witness.before = lambda one: one.user == "SLOW" and slow.wait(60)
    said(store, 0, "SLOW")
    for n in range(1, 20):
        said(store, n, f"U{n}", thread=f"other {n}")
    with hearers(store, 1) as hearing:
        while len(store.waiting_deliveries()) > 1:
            hearing[0].turn()
        behind = [*witness.order]
        slow.set()
        until_handled(store, hearing)

    assert "reply:0" not in behind
    assert witness.order[-1] == "reply:0"


def test_a_flood_by_one_does_not_starve_the_others(store, witness):
    for n in range(40):
        said(store, n, "MALLORY", "click", place=str(n), thread="")
    for n in range(40, 45):
        said(store, n, f"U{n}", "command", thread="")
    with hearers(store, 1) as hearing:
        until_handled(store, hearing)

    last = max(witness.order.index(f"command:{n}") for n in range(40, 45))
    assert last < 20


def test_what_must_wait_is_tried_again_and_holds_up_nobody(store, witness, monkeypatch):
    monkeypatch.setattr(bot.hearing.hearer, "AGAIN", 0.05)
    tries = []

    def away(one: Delivery) -> None:
        if one.key == "reply:0" and len(tries) < 3:
            tries.append(1)
            raise Unavailable("not now")

    witness.before = away
    said(store, 0, "ANN")
    said(store, 4, "BOB")
    with hearers(store, 1) as hearing:
        until_handled(store, hearing)

    assert len(tries) == 3
    assert witness.order.index("reply:4") < len(witness.order) - 1


def test_a_bug_comes_out_of_the_next_turn(store, witness):
    def breaks(_: Delivery) -> None:
        raise ZeroDivisionError

    witness.before = breaks
    said(store, 0, "ANN")
    with hearers(store, 1) as hearing, pytest.raises(ZeroDivisionError):
        until_handled(store, hearing)


def test_a_database_that_goes_away_after_a_claim_leaves_the_line_for_the_next_turn(
    store, witness, monkeypatch
):
    def away(*_: Any) -> None:
        raise Unavailable("away")

    said(store, 0, "ANN")
    with hearers(store, 1) as hearing:
        with monkeypatch.context() as patch:
            patch.setattr(Store, "still_unhandled", away)
            with pytest.raises(Unavailable):
                hearing[0].turn()
        until_handled(store, hearing)

    assert witness.order == ["reply:0"]


@pytest.mark.postgres
@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
@pytest.mark.parametrize("act", ["stands still", "dies"])
def test_who_loses_its_claim_has_done_nothing_and_another_does_it_once(store, monkeypatch, act):
    asleep, inside, frozen = threading.Event(), threading.Event(), [True]
    handle = bot.hearing.hearer.handle_one

    def sleeps(one: Bot, delivery: Delivery) -> None:
        if frozen:
            frozen.pop()
            inside.set()
            asleep.wait(60)
            if act == "dies":
                raise Unavailable("the process is gone")
        handle(one, delivery)

    monkeypatch.setattr(bot.hearing.hearer, "handle_one", sleeps)
    store.deliver("command:1", "command", {"user": "ANN", "channel": "C1", "text": "show 99"})
    with hearers(store, 2) as (first, second):
        first.turn()
        inside.wait(60)
        second.turn()
        second.turn()
        meanwhile = len(store.waiting_deliveries())
        tamper(store, "UPDATE lease SET until = now() - interval '1 second'")
        until_handled(store, [second])
        asleep.set()

    with store.read() as t:
        rows = t.rows(Delivery)
    answers = [one for one in store.unsent() if one.kind == "whisper"]
    assert meanwhile == 1
    assert [one.handled_at is not None for one in rows] == [True]
    assert len(answers) == 1
