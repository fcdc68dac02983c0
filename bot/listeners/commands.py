"""Asking: `/plan …` and a mention."""

import re
from typing import Any

from bot.hands import Bot
from bot.planner.runbooks import Runbook
from storage.errors import SignoffError

LONGEST = 2000


def on_command(bot: Bot, body: dict[str, Any]) -> str:
    """`/plan <request>`: the card is the answer."""
    return ask(bot, body["text"], body)


def on_mention(bot: Bot, body: dict[str, Any]) -> str:
    """`@Signoff <request>`: as the command, in the thread where it was said."""
    return ask(bot, re.sub(r"<@[UW][A-Z0-9]+>", " ", body["text"]), body)


def ask(bot: Bot, text: str, body: dict[str, Any]) -> str:
    wish = " ".join(text.split())
    if not wish or wish.lower() == "help":
        return helping(bot.runbooks)
    if len(wish) > LONGEST:
        raise SignoffError(f"That is {len(wish)} characters long; at most {LONGEST}, please.")
    actor = bot.demand(body["user"], "request", None)
    bot.store.request(
        wish, team=actor.team, user=actor.user, channel=body["channel"], thread=body.get("thread", "")
    )
    return ""


def helping(runbooks: list[Runbook]) -> str:
    examples = "\n".join(f"• `/plan {example}`" for book in runbooks for example in book.examples[:1])
    return (
        "Say what you need; I make a plan, people approve exactly that plan, and it runs. For example:\n"
        + examples
    )
