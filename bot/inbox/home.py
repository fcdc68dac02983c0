"""The home tab: opened, and its buttons. What it shows is drawn by the outbox, from the rows."""

from collections.abc import Callable
from typing import Any

from bot.cards.decision_form import decision_form
from bot.cards.forms import halt_form, wish_form
from bot.context import Bot
from storage.contract.states import PlanState
from storage.errors import Conflict


def on_home(bot: Bot, body: dict[str, Any]) -> str:
    bot.demand(body["user"], "look", None)
    bot.store.open_home(body["user"], body["channel"])
    return ""


def open_wish_form(bot: Bot, body: dict[str, Any]) -> str:
    bot.demand(body["user"], "request", None)
    bot.open_view(body["trigger"], wish_form(body["channel"]))
    return ""


def open_decision_form(bot: Bot, body: dict[str, Any]) -> str:
    """The whole plan, and the decision under it."""
    view = bot.store.view(int(body["value"]))
    bot.demand(body["user"], "approve", view)
    if view.state != PlanState.proposed:
        raise Conflict(f"Plan {view.id} is {view.state} already; there is nothing left to decide.")
    bot.open_view(body["trigger"], decision_form(view, body["channel"], bot.store.clock()))
    return ""


def open_stop_form(bot: Bot, body: dict[str, Any]) -> str:
    bot.demand(body["user"], "stop", None)
    bot.open_view(body["trigger"], halt_form(body["channel"]))
    return ""


def resume(bot: Bot, body: dict[str, Any]) -> str:
    actor = bot.demand(body["user"], "resume", None)
    bot.store.resume(body["value"], user=actor.user, channel=body["channel"])
    return ""


HOME: dict[str, Callable[[Bot, dict[str, Any]], str]] = {
    "home_plan": open_wish_form,
    "home_review": open_decision_form,
    "home_stop": open_stop_form,
    "home_resume": resume,
}
