"""The home tab: opened, and its buttons. What it shows is drawn by the outbox, from the rows."""

from collections.abc import Callable
from typing import Any

from bot.cards.blocks import Block, permalink
from bot.cards.clarify_form import clarify_form
from bot.cards.decision_form import decision_form
from bot.cards.forms import halt_form, wish_form
from bot.cards.home import PAGE, plan_list, runbook_list
from bot.context import Bot
from bot.plans.clarify import still_asked
from storage.contract.states import PlanState
from storage.errors import Conflict

LISTED = 200  # of the newest plans, as many as the list has pages for


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
    bot.demand_untouched(body["user"], "approve", view)
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


def open_clarify_form(bot: Bot, body: dict[str, Any]) -> str:
    """What is missing before there can be a plan, for whoever asked for it."""
    view = bot.store.view(int(body["value"]))
    bot.demand(body["user"], "answer", view)
    bot.open_view(body["trigger"], clarify_form(view, still_asked(view)))
    return ""


def open_list(bot: Bot, body: dict[str, Any]) -> str:
    bot.demand(body["user"], "look", None)
    bot.open_view(body["trigger"], listed(bot, body["user"], 0))
    return ""


def open_runbooks(bot: Bot, body: dict[str, Any]) -> str:
    bot.demand(body["user"], "look", None)
    bot.open_view(body["trigger"], runbook_list(bot.usable()))
    return ""


def listed(bot: Bot, user: str, page: int) -> Block:
    """A page of the plans that this person sees."""
    made = [view for view in bot.store.recent(LISTED) if view.revision]
    plans, first = bot.visible(user, made), page * PAGE
    plans[first : first + PAGE] = map(bot.store.as_recorded, plans[first : first + PAGE])
    return plan_list(
        plans, page, lambda view: permalink(bot.site, view.channel, view.card), bot.store.clock()
    )


HOME: dict[str, Callable[[Bot, dict[str, Any]], str]] = {
    "home_plan": open_wish_form,
    "home_review": open_decision_form,
    "home_stop": open_stop_form,
    "home_resume": resume,
    "home_clarify": open_clarify_form,
    "home_list": open_list,
    "home_runbooks": open_runbooks,
}
