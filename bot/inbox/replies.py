"""Plain words in a plan's thread: they are about that plan, and never approve it."""

from typing import Any

from bot.context import Bot
from bot.inbox.conversation import converse, heard, plan_here


def on_reply(bot: Bot, body: dict[str, Any]) -> str:
    """What is plainly meant for us is done or answered; what people say to each other is left alone."""
    view = plan_here(bot, body)
    if view is None or not bot.may(body["user"], "look", view):
        return ""
    return converse(bot, body, view, heard(bot, body, view))
