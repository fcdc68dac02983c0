"""One delivery is handled once, whoever stands still where: all that the slower bot did for it is undone."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from sqlmodel import SQLModel

from bot.cards.blocks import pack
from bot.context import Bot
from bot.inbox.dispatch import in_turn
from bot.planner import planning
from bot.planner.prepare import prepare
from bot.planner.validate import Catalogue
from storage.database.tables import Delivery
from storage.errors import SignoffError, Unavailable
from storage.exchange.deliveries import THOUGHT
from storage.transaction import Transaction
from tests.support.fakes import NOW, Everybody, demo_config, messages, real_contracts, terms, verbs
from tests.support.room import CARD, Room, handle_all, think
from tests.support.store import Store

WISH = "deploy auth-service v2.1.4 to production"
ANN = {"user": "ANN", "channel": "C1", "trigger": "t"}
SAID = {"user": "ANN", "channel": "C1", "thread": CARD, "ts": "200.000001"}


@pytest.fixture
def room(lite: Store) -> Room:
    """A channel with the card of one proposal."""
    found = Room(lite)
    made = planning.plan(WISH, found.bot.runbooks, demo_config()).spec
    spec = prepare(made, Catalogue(real_contracts()), demo_config(), NOW)
    found.proposed(spec, terms(), real_contracts())
    return found


def click(room: Room, user: str, action: str) -> dict[str, Any]:
    view = room.view()
    value = pack(view.id, view.revision, view.digest)
    return {"user": user, "channel": "C1", "action": action, "value": value, "trigger": "t"}


# What people do, one of each: (kind, what handling needs).
ACTS: dict[str, Callable[[Room], tuple[str, dict[str, Any]]]] = {
    "a wish": lambda room: ("command", ANN | {"text": WISH}),
    "a guest's wish": lambda room: ("command", ANN | {"text": WISH, "user": "GUS"}),
    "a mention": lambda room: ("mention", SAID | {"text": f"<@USIGNOFF> {WISH}", "thread": "1.1"}),
    "an answer": lambda room: ("command", ANN | {"text": "show 1"}),
    "no such plan": lambda room: ("command", ANN | {"text": "show 99"}),
    "a cancellation": lambda room: ("command", ANN | {"text": "cancel 1 never mind"}),
    "a stop": lambda room: ("command", ANN | {"user": "CAROL", "text": "stop everything it burns"}),
    "a recurrence": lambda room: ("command", ANN | {"text": f"every day at 02:00 {WISH}"}),
    "an approval": lambda room: ("click", click(room, "BOB", "approve")),
    "a refused approval": lambda room: ("click", click(room, "ANN", "approve")),
    "a form opened": lambda room: ("click", click(room, "ANN", "edit")),
    "an unknown button": lambda room: ("click", click(room, "ANN", "gone")),
    "a change": lambda room: ("reply", SAID | {"text": "step 3 at 2am EST"}),
    "words for the planner": lambda room: ("reply", SAID | {"text": "step 3 more careful please"}),
    "talk": lambda room: ("reply", SAID | {"text": "step 3 at 2am EST", "user": "EVE"}),
    "a home tab": lambda room: ("home", ANN),
    "a broken one": lambda room: ("click", {"user": "ANN", "channel": "C1"}),
}


class Sleepy(Store):
    """A store of another process that stands still when it is about to write."""

    def __init__(self, store: Store, asleep: Callable[[], None]) -> None:
        super().__init__(store.engine, store.clock)
        self.asleep = [asleep]

    @contextmanager
    def write(self, **how: Any) -> Iterator[Transaction]:
        while self.asleep:
            self.asleep.pop()()
        with super().write(**how) as t:
            yield t


class Slow(Everybody):
    """A Slack that takes its time to say who somebody is."""

    def __init__(self, asleep: Callable[[], None]) -> None:
        super().__init__()
        self.barred["GUS"] = "Guests may not ask for or decide plans."
        self.asleep = [asleep]

    def actor(self, user: str, *, fresh: bool = False) -> Any:
        while self.asleep:
            self.asleep.pop()()
        return super().actor(user, fresh=fresh)


def revise(*_: Any) -> Any:
    raise SignoffError("I do not change it so.")


def when_it_has_read_the_rows(bot: Bot, meanwhile: Callable[[], None]) -> Bot:
    store = Sleepy(bot.store, lambda: None)
    first, rest = bot.store.waiting_deliveries(), bot.store.unhandled()
    thoughts = bot.store.unhandled(thought=True)
    meanwhile()
    store.waiting_deliveries = lambda: [first.pop()] if first else []
    store.still_unhandled = lambda keys: {one.key: one for one in rest if one.key in keys}
    store.unhandled = lambda *, thought: thoughts
    return replace(bot, store=store)


def when_it_asks_who_that_is(bot: Bot, meanwhile: Callable[[], None]) -> Bot:
    return replace(bot, store=Sleepy(bot.store, lambda: None), people=Slow(meanwhile))


def when_it_is_about_to_write(bot: Bot, meanwhile: Callable[[], None]) -> Bot:
    return replace(bot, store=Sleepy(bot.store, meanwhile))


SLEEPS = [when_it_has_read_the_rows, when_it_asks_who_that_is, when_it_is_about_to_write]


def everything(store: Store) -> dict[str, list[Any]]:
    """All rows but the words that are shown while somebody thinks: who thinks in vain takes them back."""
    with store.read() as t:
        rows = {table.name: t.execute(table.select()).all() for table in SQLModel.metadata.sorted_tables}
    rows["message"] = [row for row in rows["message"] if row.kind != "thinking"]
    return {name: [*map(tuple, found)] for name, found in rows.items()}


@pytest.mark.parametrize("sleeps", SLEEPS)
@pytest.mark.parametrize("act", ACTS)
def test_a_bot_that_wakes_up_late_changes_nothing(room, act, sleeps, caplog):
    bot = replace(room.bot, revise=revise)
    kind, body = ACTS[act](room)
    room.store.deliver(f"{kind}:1", kind, body)
    after = list[dict[str, list[Any]]]()

    def meanwhile() -> None:
        handle_all(bot)
        after.append(everything(room.store))

    slow = sleeps(bot, meanwhile)
    caplog.set_level(logging.INFO, "bot.hearing.hearer")
    handle_all(slow)

    late = after or [everything(room.store)]  # talk and broken ones are not asked about
    assert everything(room.store) == late[0]
    assert ("was handled by another bot meanwhile" in caplog.text) == bool(after)
    assert room.store.unhandled() == []


@pytest.mark.parametrize("sleeps", SLEEPS)
def test_a_planner_that_wakes_up_late_changes_nothing(room, sleeps, caplog):
    view = room.view()
    facts = SAID | {"text": "more careful", "plan": view.id, "revision": view.revision}
    room.store.deliver(f"{THOUGHT}:1", THOUGHT, facts)
    bot, after = replace(room.bot, revise=revise), list[dict[str, list[Any]]]()

    def meanwhile() -> None:
        think(bot)
        after.append(everything(room.store))

    slow = sleeps(bot, meanwhile)
    caplog.set_level(logging.INFO, "tests.support.room")
    think(slow)

    assert everything(room.store) == after[0]
    assert "was handled by another bot meanwhile" in caplog.text


def test_a_refusal_is_told_and_on_record_once(room):
    room.clicks("GUS", "approve")

    assert verbs(room.store, 1) == ["request", "propose", "refuse"]
    assert len(room.whispers("GUS")) == 1


def test_what_the_database_could_not_take_is_tried_again_and_after_a_while_answered(room, clock, monkeypatch):
    def away(*_: Any, **__: Any) -> None:
        raise Unavailable("The database does not answer.")

    room.store.deliver("command:1", "command", ANN | {"text": WISH})
    with monkeypatch.context() as patched:
        patched.setattr(type(room.store), "request", away)
        handle_all(room.bot)
        assert [one.key for one in room.store.unhandled()] == ["command:1"]
    handle_all(room.bot)
    assert (room.store.unhandled(), len(room.store.recent(9))) == ([], 2)

    room.store.deliver("command:2", "command", ANN | {"text": WISH})
    clock.advance(seconds=31)
    with monkeypatch.context() as patched:
        patched.setattr(type(room.store), "request", away)
        handle_all(room.bot)

    assert [said.text for said in messages(room.store, "whisper")] == ["The database does not answer."]
    with room.store.read() as t:
        assert all(one.handled_at for one in t.rows(Delivery))


def test_who_floods_us_waits_alone(room):
    store = room.store
    for number in range(100):
        store.deliver(f"click:{number}", "click", {"user": "MALLORY"})
    store.deliver("click:ann", "click", {"user": "ANN"})

    rows = store.unhandled()

    assert [one.key for one in in_turn(rows, {})][:3] == ["click:0", "click:ann", "click:1"]
    assert in_turn(rows, {"MALLORY": 5.0})[0].key == "click:ann"
