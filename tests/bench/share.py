"""python -m tests.bench.share: what bots handle after the ack, alone and shared: name value limit ok|short.

A mix of what people do, by Slack's own payloads and through all that handles them, without Slack's network.
One bot on SQLite and on PostgreSQL; then one and two on PostgreSQL, turn about, each a process of its own.
"""

import argparse
import shutil
import tempfile
import time
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import Any

from bot.cards.blocks import pack
from bot.hearing.hearer import Hearer
from bot.slack.app import delivery
from bot.turns.claims import Claims
from storage.clock import wall
from storage.config import SignoffConfig
from storage.database.engine import migrate, open_engine
from storage.reading.plan_view import PlanView
from tests.bench.engine import say
from tests.support.fakes import CONTRACTS, TEAM, at_home, demo_config, lasting, plan_spec, real_contracts
from tests.support.postgres import fresh_database, postgres_server
from tests.support.room import Room
from tests.support.store import Store

LIMIT = 150.0  # deliveries a second, each database
MORE = 1.3  # two bots beside one
PEOPLE = 40
ACTS = 10  # in one round of the mix


def unlimited() -> SignoffConfig:
    """The demo's, for people who ask for hundreds of plans."""
    config = demo_config()
    limits = config.policy.limits.model_copy(update={"plans_per_hour": 0, "plans_per_target": 0})
    return config.model_copy(update={"policy": config.policy.model_copy(update={"limits": limits})})


def opened(url: str) -> Room:
    """A bot over these rows: all of it but Slack."""
    return Room(Store(open_engine(url), wall), unlimited())


def proposed(store: Store, number: int) -> PlanView:
    """A plan whose card stands in its channel, for people to decide."""
    plan_id = store.request(f"deploy {number}", team=TEAM, user="ANN", channel="C1")
    store.propose(plan_id, plan_spec(), lasting(), author="planner")
    card = store.card_of(plan_id)
    assert card is not None
    store.note_shown(card, f"100.{number:06}", next_at=store.clock())
    return store.view(plan_id)


def command(user: str, number: int, text: str) -> dict[str, Any]:
    about = {"command": "/plan", "user_id": user, "channel_id": "C1", "trigger_id": f"t{number}"}
    return about | {"text": text}


def click(user: str, number: int, action: str, plan: PlanView) -> dict[str, Any]:
    value = pack(plan.id, plan.revision, plan.digest)
    pressed = {"action_id": action, "value": value, "action_ts": f"300.{number:06}"}
    return {
        "type": "block_actions", "user": {"id": user}, "channel": {"id": "C1"},
        "message": {"ts": plan.card}, "trigger_id": f"t{number}", "actions": [pressed],
    }  # fmt: skip


def event(user: str, number: int, **about: str) -> dict[str, Any]:
    ts = f"200.{number:06}"
    said = {"user": user, "channel": "C1", "ts": ts, "event_ts": ts} | about
    return {"type": "event_callback", "event": said, "authorizations": [{"user_id": "US"}]}


def act(number: int, plan: PlanView) -> dict[str, Any]:
    """One of ten things that people do, by turns: three wishes, two looks, three clicks, talk, a home tab."""
    user, wish = f"U{number % PEOPLE}", f"deploy auth-service v2.{number}.0 to production"
    return (
        lambda: command(user, number, wish),
        lambda: click("BOB", number, "approve", plan),
        lambda: command(user, number, f"show {plan.id}"),
        lambda: event(user, number, type="message", text="is that the new one?", thread_ts=plan.card),
        lambda: event(user, number, type="app_mention", text=f"<@US> {wish}"),
        lambda: click(user, number, "details", plan),
        lambda: command(user, number, "list"),
        lambda: event(user, number, type="app_home_opened", tab="home"),
        lambda: command(user, number, wish),
        lambda: click("CAROL", number, "approve", plan),
    )[number % ACTS]()


def deliver(store: Store, count: int, first: int = 0) -> None:
    """As Slack would: rows that are committed, and acked."""
    plans = [proposed(store, first + n) for n in range(count // 5)]
    for n in range(count):
        # Both approvals of a round, and what else is said of plans there, are about two plans by turns.
        plan = plans[n // ACTS * 2 + (n % ACTS > ACTS // 2)]
        found = delivery(at_home(act(first + n, plan)))
        assert found
        assert store.deliver(*found)


def publish(store: Store) -> None:
    migrate(store.engine)
    store.publish([*CONTRACTS.values(), *real_contracts()])


def alone(url: str, count: int, rounds: int) -> float:
    """Deliveries a second, by one bot."""
    room, rates = opened(url), list[float]()
    publish(room.store)
    hearer = Hearer(room.bot, Claims(room.store.engine, "hear"))
    for n in range(rounds + 1):
        deliver(room.store, count, n * count)
        began = time.perf_counter()
        hear(room.store, hearer)
        rates.append(count / (time.perf_counter() - began))
    hearer.close()
    room.store.engine.dispose()
    return median(rates[1:])  # the first one imports and compiles


def hear(store: Store, hearer: Hearer) -> None:
    """As the bot's loop does, until all of it is handled."""
    while True:
        hearer.turn()
        if not hearer.busy() and not store.waiting_deliveries():
            return
        time.sleep(0.01)


def beside(talk: "Connection[object, object]", url: str) -> None:
    """A bot in a process of its own: handles what there is whenever it is told to."""
    room = opened(url)
    hearer = Hearer(room.bot, Claims(room.store.engine, "hear"))
    while talk.recv() == "go":
        hear(room.store, hearer)
        talk.send("done")
    hearer.close()


def shared(url: str, count: int, rounds: int) -> tuple[float, float]:
    """Deliveries a second by one bot and by two, turn about; each is a process, and so is who delivers."""
    store, context, rates = Store(open_engine(url), wall), get_context("spawn"), {1: [0.0], 2: [0.0]}
    publish(store)
    talks = [context.Pipe() for _ in range(2)]
    bots = [context.Process(target=beside, args=(theirs, url)) for _, theirs in talks]
    for bot in bots:
        bot.start()
    for n in range(2 * rounds + 2):
        number = 2 - n % 2  # both have warmed up in the first round
        deliver(store, count, n * count)
        began = time.perf_counter()
        for ours, _ in talks[:number]:
            ours.send("go")
        for ours, _ in talks[:number]:
            ours.recv()
        rates[number].append(count / (time.perf_counter() - began))
    for (ours, _), bot in zip(talks, bots, strict=True):
        ours.send("end")
        bot.join()
    store.engine.dispose()
    return median(rates[1][2:]), median(rates[2][2:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--deliveries", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="signoff-bench-"))
    with postgres_server(durable=True) as server:
        places = {"sqlite": f"sqlite:///{home / 'signoff.db'}", "postgres": fresh_database(server)}
        for name, url in places.items():
            say(f"handled_{name}_per_second", alone(url, given.deliveries, given.rounds), LIMIT, least=True)
        one, two = shared(fresh_database(server), given.deliveries, given.rounds)
        say("handled_by_one_bot_per_second", one, LIMIT, least=True)
        say("handled_by_two_bots_ratio", two / one, MORE, least=True)
    shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
