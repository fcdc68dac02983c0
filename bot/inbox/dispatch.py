"""Handle what was delivered: one row, one verb, one visible answer. Runs after the ack, from the row."""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Protocol, TypeVar
from uuid import uuid4

from bot.context import Bot
from bot.inbox.asked import PLANNED, on_ask
from bot.inbox.clicks import on_click
from bot.inbox.forms import on_filled
from bot.inbox.home import on_home
from bot.inbox.hooks import on_hook
from bot.inbox.machines import asker
from bot.inbox.origin import OnItsWay, demand_origin, note_stale
from bot.inbox.replies import on_reply
from bot.inbox.requests import on_command, on_mention
from bot.people import Unidentified
from storage.database.tables import Delivery
from storage.errors import Conflict, HandledElsewhere, SignoffError, Unavailable
from storage.exchange.deliveries import ASKED
from storage.exchange.outbox import ANSWER

logger = logging.getLogger(__name__)

PATIENCE = timedelta(seconds=30)  # how long an act waits for Slack to say whose it is, or for the database
LATER = (Unidentified, OnItsWay, Unavailable)
# Seconds by which those who wait for an answer or decide something go before what people say to each other.
LEEWAY = {"reply": 1.0, "home": 1.0, "hook": 1.0}
HANDLERS = {
    "command": on_command, "mention": on_mention, "reply": on_reply, "click": on_click, "form": on_filled,
    "home": on_home, ASKED: on_ask, "hook": on_hook,
}  # fmt: skip


class Delivered(Protocol):
    """What is known of a delivery."""

    @property
    def key(self) -> str: ...
    @property
    def id(self) -> int: ...
    @property
    def kind(self) -> str: ...
    @property
    def user(self) -> str: ...


D = TypeVar("D", bound=Delivered)


def in_turn(deliveries: Sequence[D], served: Mapping[str, float]) -> list[D]:
    """First the first of each person, then the second; who was served longest ago goes first.

    What is only said gives way for a moment to questions and decisions.
    """
    turns, order = Counter[str](), dict[str, tuple[int, float, int]]()
    for one in deliveries:
        turns[one.user] += 1
        order[one.key] = turns[one.user], served.get(one.user, 0.0) + LEEWAY.get(one.kind, 0.0), one.id
    return sorted(deliveries, key=lambda one: order[one.key])


def handle_one(bot: Bot, delivery: Delivery) -> None:
    """This one, once: HandledElsewhere where somebody else was faster, one of `LATER` where it must wait."""
    with bot.store.handling(delivery.key):
        settle(bot, delivery)
    bot.store.redraw_homes([delivery.user], urgent=True)


def settle(bot: Bot, delivery: Delivery) -> None:
    """Handle it and answer the person. What could not be known or written yet is tried again for a while."""
    try:
        answer = handle(bot, delivery)
    except LATER as error:
        if timedelta(0) <= bot.store.clock() - delivery.received_at < PATIENCE:
            raise  # but not for as long as a clock was put back
        answer = str(error)
        if not isinstance(error, Unavailable):
            bot.store.refuse(0, delivery.kind, user=delivery.body["user"], reason=answer)
    if answer and delivery.kind not in {ASKED, "hook"}:
        whisper(bot, delivery, answer)
    if by_machine(delivery):
        answer_machine(bot, delivery, answer)
    bot.store.handled()
    if delivery.kind == ASKED and not by_machine(delivery):
        number = answer.removeprefix(PLANNED)
        told = {"plan": int(number)} if number != answer else {"why": answer}
        bot.store.leave_answer(delivery.key, told)


def handle(bot: Bot, delivery: Delivery) -> str:
    """Do it; the sentence to the person, if there is one. A bug answers with a number, not with silence."""
    try:
        demand_origin(bot, delivery.kind, delivery.body)
        return HANDLERS[delivery.kind](bot, delivery.body)
    except (*LATER, HandledElsewhere):
        raise
    except Conflict as error:
        note_stale(bot, delivery.body, str(error))
        return str(error)
    except SignoffError as error:
        return str(error)
    except Exception:
        reference = uuid4().hex[:8]
        logger.exception("delivery %s broke, reference %s", delivery.key, reference)
        return f"Something broke on my side, and nothing was done. Reference: {reference}."


def by_machine(delivery: Delivery) -> bool:
    """Whether a machine asks, and not somebody at the terminal."""
    return delivery.kind == ASKED and "owner" in delivery.body


def answer_machine(bot: Bot, delivery: Delivery, text: str) -> None:
    """Why there is no plan: a machine finds it under its key, and nobody else is told."""
    if text and "answers" not in delivery.body:
        bot.store.answer_ask(asker(delivery.body), text)


def whisper(bot: Bot, delivery: Delivery, text: str) -> None:
    body: dict[str, Any] = delivery.body
    # Direct messages are private already, and a thread there is easily missed.
    thread = "" if body["channel"].startswith("D") else body.get("thread", "")
    place = {"channel": body["channel"], "user": body["user"], "thread": thread}
    bot.store.whisper(f"{ANSWER}{delivery.key}", text=text, **place)
