"""Where something comes from: our workspace, our app, and for a click a message of ours about that plan."""

from typing import Any

from bot.context import Bot
from bot.given_once import json_of
from storage.errors import Conflict, NotAllowed, SignoffError

FOREIGN = "This came by way of another workspace or another app, so nothing was done. Please use mine."
GONE = "This button does nothing (any more). Please look at the newest card of the plan."
# What an answer to one person alone may carry: it approves nothing.
PRIVATE = {"edit", "clarify", "say", "own"}
HOME = "home_"  # what the buttons of a home tab begin with; it has no others
MOST = 2**31  # the largest number that a row can have


class OnItsWay(SignoffError):
    """Slack has our message already, and we do not know its place yet."""


def demand_origin(bot: Bot, kind: str, body: dict[str, Any]) -> None:
    """Go on if it comes from where ours do; otherwise it is refused, and that is on record."""
    if "app" not in body:
        return  # a form, looked at in its ack; or a row that an earlier release has left
    if not bot.people.home.sent(body["team"], body["enterprise"], body["app"]):
        bot.store.refuse(0, body.get("action", kind), user=body["user"], reason=FOREIGN)
        raise NotAllowed(FOREIGN)
    if kind == "click" and not (body["home"] and body["action"].startswith(HOME)):
        _demand_place(bot, body)


def _demand_place(bot: Bot, body: dict[str, Any]) -> None:
    """A copy of a card, an older one, a message that we did not write: their buttons are none of ours."""
    verb = body["action"].partition("_")[0]
    if body["alone"] or (verb == "own" and body["channel"].startswith("D")):
        known: bool | None = verb in PRIVATE
    else:
        known = bot.store.stands(meant(body), body["channel"], body["place"])
    if known is None:
        raise OnItsWay("I do not know yet where my message stands. Please click again.")
    if not known:
        raise Conflict(GONE)


def note_stale(bot: Bot, body: dict[str, Any], reason: str) -> None:
    """Put on record that somebody pressed, or sent in, what counts no more."""
    pressed = body.get("action") or body.get("form")
    if pressed:
        known = bot.store.known(meant(body))
        bot.store.refuse(known, pressed, user=body["user"], reason=reason, stale=True)


def meant(body: dict[str, Any]) -> int:
    """The number of the plan that a button or a form speaks of; 0 for none."""
    try:
        said = body["meta"] if "meta" in body else json_of(body["value"])
        number = int(said["p"])
    except (ValueError, TypeError, KeyError, OverflowError):
        return 0
    return number if 0 < number < MOST else 0
