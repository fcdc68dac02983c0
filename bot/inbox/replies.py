"""Plain words in a plan's thread: they are about that plan, and never approve it."""

import re
from typing import Any

from bot.context import Bot
from bot.inbox.conversation import converse, heard, plan_here

TO_OTHERS = re.compile(r"\W*<@[UW][A-Z0-9]+>")  # who names us, mentions us, and that comes another way


def on_reply(bot: Bot, body: dict[str, Any]) -> str:
    """What is plainly meant for us is done or answered; what people say to each other is left alone."""
    view = plan_here(bot, body)
    if view is None or TO_OTHERS.match(body["text"]) or not bot.may(body["user"], "look", view):
        return ""
    return converse(bot, body, view, heard(bot, body, view))
