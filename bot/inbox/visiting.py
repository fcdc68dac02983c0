"""`/plan board`: a link that lets somebody into the board, or a token for their program."""

import re
from typing import Any

from bot.cards.blocks import escape
from bot.context import Bot
from bot.untrusted import clip

NUMBER = re.compile(r"#?(\d{1,9})")
NO_BOARD = "There is no board here. An operator can start one: docs/board.md tells how."


def open_board(bot: Bot, rest: str, body: dict[str, Any]) -> str:
    """A link that lets this person, and nobody else, look at everything in the browser; or a token."""
    if not bot.board:
        return NO_BOARD
    actor, (word, _, name) = bot.demand(body["user"], "look", None), rest.partition(" ")
    if word == "end":
        return end_token(bot, actor.user, name.strip())
    token = (name.strip() or "unnamed") if word == "token" else ""
    plan_id = bot.demand_visible(actor.user, int(number[1])).id if (number := NUMBER.fullmatch(rest)) else 0
    visit = bot.store.invite_visit(team=actor.team, user=actor.user, plan_id=plan_id, token=clip(token, 60))
    bot.store.let_in(visit, channel=body["channel"], user=actor.user)
    return ""


def end_token(bot: Bot, user: str, name: str) -> str:
    """Tokens with this name let nobody in any more."""
    mine = [visit for visit in bot.store.visit_tokens(user) if visit.name == name]
    for visit in mine:
        bot.store.end_visit(visit.id, "ended by its owner")
    names = ", ".join(sorted({f"“{visit.name}”" for visit in bot.store.visit_tokens(user)})) or "none"
    ended = (
        f"The token “{escape(name)}” lets nobody in any more."
        if mine
        else f"You have no token “{escape(name)}”."
    )
    return f"{ended} Your tokens: {escape(names)}."
