"""Handle what was delivered: one row, one verb, one visible answer. Runs after the ack, from the row."""

import logging
from datetime import timedelta
from typing import Any
from uuid import uuid4

from bot.context import Bot
from bot.inbox.clicks import on_click
from bot.inbox.forms import on_filled
from bot.inbox.home import on_home
from bot.inbox.replies import BUTTON, on_reply, proposal_meant
from bot.inbox.requests import on_command, on_mention
from bot.people import Unidentified
from storage.database.tables import Delivery
from storage.errors import HandledElsewhere, SignoffError, Unavailable

logger = logging.getLogger(__name__)

PATIENCE = timedelta(seconds=30)  # how long an act waits for Slack to say whose it is, or for the database
LATER = (Unidentified, Unavailable)
HANDLERS = {
    "command": on_command, "mention": on_mention, "reply": on_reply, "click": on_click, "form": on_filled,
    "home": on_home,
}  # fmt: skip


def handle_all(bot: Bot) -> None:
    """Everything not yet handled, in the order it came."""
    for delivery in bot.store.unhandled():
        try:
            with bot.store.handling(delivery.key):
                settle(bot, delivery)
        except HandledElsewhere as error:  # we stood still, and somebody else went on
            logger.info("%s", error)
        except LATER as error:
            logger.info("delivery %s waits: %s", delivery.key, error)
        else:
            bot.store.redraw_homes([delivery.body["user"]], urgent=True)


def settle(bot: Bot, delivery: Delivery) -> None:
    """Handle it and answer the person. What could not be known or written yet is tried again for a while."""
    try:
        answer = handle(bot, delivery)
    except LATER as error:
        if bot.store.clock() - delivery.received_at < PATIENCE:
            raise
        answer = str(error)
        if isinstance(error, Unidentified):
            bot.store.refuse(0, delivery.kind, user=delivery.body["user"], reason=answer)
    if answer:
        whisper(bot, delivery, answer)
    bot.store.handled()


def handle(bot: Bot, delivery: Delivery) -> str:
    """Do it; the sentence to the person, if there is one. A bug answers with a number, not with silence."""
    try:
        return HANDLERS[delivery.kind](bot, delivery.body)
    except (*LATER, HandledElsewhere):
        raise
    except SignoffError as error:
        return str(error)
    except Exception:
        reference = uuid4().hex[:8]
        logger.exception("delivery %s broke, reference %s", delivery.key, reference)
        return f"Something broke on my side, and nothing was done. Reference: {reference}."


def whisper(bot: Bot, delivery: Delivery, text: str) -> None:
    body: dict[str, Any] = delivery.body
    # Direct messages are private already, and a thread there is easily missed.
    thread = "" if body["channel"].startswith("D") else body.get("thread", "")
    place = {"channel": body["channel"], "user": body["user"], "thread": thread}
    plan_id = proposal_meant(bot, body) if delivery.kind in {"mention", "reply"} and text != BUTTON else 0
    bot.store.whisper(f"answer:{delivery.key}", text=text, plan_id=plan_id, **place)
