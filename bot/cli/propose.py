"""`signoff propose`: a plan's file or a wish, from the server's terminal to people in a channel."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

from bot.cli.sources import open_store
from bot.config import BotSettings
from bot.planner import importing
from storage.config import login
from storage.errors import SignoffError
from storage.exchange.deliveries import ASKED
from storage.intention import Intention
from storage.plans.lifecycle import NOT_KEPT

PATIENCE = 30.0  # seconds until whoever waits here is told that it lies in line
LOOK = 0.2


def propose(settings: BotSettings, what: str, channel: str, *, patience: float = PATIENCE) -> int:
    """Hand it to the bot, which knows who may; its answer is printed."""
    store = open_store(settings)
    key = hand_in(store, asked_for(what), channel)
    answer = wait_for(store, key, patience)
    if answer is None:
        print("It lies in line. The bot takes it as soon as it runs; then its card stands in the channel.")
        return 0
    if "plan" not in answer:
        raise SignoffError(answer.get("why") or "It was not taken; the bot's log has the details.")
    print(f"Plan {answer['plan']} is asked for in {channel}. Look at it: signoff show {answer['plan']}")
    return 0


def asked_for(what: str) -> dict[str, Any]:
    """A file of a plan by its name, or words."""
    if what.endswith(".json"):
        return {"plan": importing.load(Path(what))}
    if not what.strip():
        raise SignoffError("Please name a plan's file, or say in words what you need.")
    return {"text": what}


def hand_in(store: Intention, asked: dict[str, Any], channel: str) -> str:
    """As a delivery like any other: whose login it is, the bot looks up for itself."""
    if store.redact.data(asked) != asked:
        raise SignoffError(NOT_KEPT)
    key = f"{ASKED}:{uuid4().hex}"
    store.deliver(key, ASKED, {"user": login(), "channel": channel} | asked)
    return key


def wait_for(
    store: Intention, key: str, patience: float, sleep: Callable[[float], None] = time.sleep
) -> dict[str, Any] | None:
    """What the bot says to it, or None when it has not said anything yet."""
    until = time.monotonic() + patience
    while (answer := store.answer_left(key)) in (None, {}) and time.monotonic() < until:
        sleep(LOOK)
    return answer
