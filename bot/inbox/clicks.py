"""Deciding: what each button does. The value is looked up, never trusted; every click gets an answer."""

from collections.abc import Callable
from typing import Any

from bot.cards.blocks import PREFIX
from bot.cards.clarify_form import clarify_form
from bot.cards.edit_form import edit_form
from bot.cards.forms import code_form, reject_form
from bot.cards.save_form import save_form
from bot.context import Bot
from bot.given_once import json_of
from bot.inbox.answers import answer
from bot.inbox.codes import demand_factor
from bot.inbox.home import HOME
from bot.plans.clarify import asked
from bot.plans.permits import stricter, today
from bot.plans.save_runbook import savable
from bot.policy.authorize import Actor
from storage.contract.states import PlanState
from storage.errors import Conflict, NotAllowed, NotFound
from storage.reading.plan_view import PlanView
from storage.safeguards.second_factors import Proof

GONE = "This button does nothing (any more). Please look at the newest card of the plan."


def on_click(bot: Bot, body: dict[str, Any]) -> str:
    if body["action"] in HOME and body.get("home"):
        return HOME[body["action"]](bot, body)
    verb, _, choice = body["action"].partition("_")
    if verb not in CLICKS:
        return GONE
    view, value = look_up(bot, body)
    return CLICKS[verb](bot, body, view, value | {"choice": choice})


def look_up(bot: Bot, body: dict[str, Any]) -> tuple[PlanView, dict[str, Any]]:
    """The plan a button speaks of, if the button really is one of ours, in its own place."""
    try:
        value = json_of(body["value"])
        view = bot.store.view(int(value["p"]))
        numbers = {"r": int(value["r"]), "d": str(value["d"]), "s": str(value.get("s", ""))}
    except (ValueError, TypeError, KeyError, NotFound):
        raise Conflict(GONE) from None
    if view.channel != body["channel"]:
        raise Conflict(GONE)
    return view, numbers


def approve(bot: Bot, body: dict[str, Any], view: PlanView, value: dict[str, Any]) -> str:
    actor = bot.demand(body["user"], "approve", view)
    if not view.demands.second_factor:
        give_approval(bot, actor, view, value)
        return ""
    _check_still_open(view, value)
    demand_factor(bot, actor.user)
    bot.open_view(body["trigger"], code_form(view))
    return ""


def give_approval(
    bot: Bot, actor: Actor, view: PlanView, value: dict[str, Any], proof: Proof | None = None
) -> None:
    """This person's approval of what they saw: its revision, its digest."""
    _refuse_if_stricter(bot, view, actor.user)
    bot.store.approve(
        view.id, value["r"], digest_meant(view, value), team=actor.team, user=actor.user,
        policy=bot.config.version(), held=(*actor.groups,), proof=proof,
    )  # fmt: skip


def digest_meant(view: PlanView, value: dict[str, Any]) -> str:
    """The digest that a button or a form speaks of; the whole of it, if the plan still is that one."""
    return view.digest if view.digest[:PREFIX] == value["d"] else str(value["d"])


def _refuse_if_stricter(bot: Bot, view: PlanView, user: str) -> None:
    """Policy may have been raised since the card was drawn: then the card asks for too little."""
    reason = stricter(today(bot, view.spec, view), view, view.needed) if view.spec else ""
    if reason:
        bot.store.refuse(view.id, "approve", user=user, reason=reason)
        raise NotAllowed(
            f"Not approved: {reason.replace('this has', 'the card says')}. Please edit it or ask again."
        )


def open_edit_form(bot: Bot, body: dict[str, Any], view: PlanView, value: dict[str, Any]) -> str:
    bot.demand(body["user"], "amend", view)
    _check_still_open(view, value)
    if view.spec:
        bot.open_view(body["trigger"], edit_form(view, view.spec, bot.catalogue()))
    return ""


def open_reject_form(bot: Bot, body: dict[str, Any], view: PlanView, value: dict[str, Any]) -> str:
    bot.demand(body["user"], "reject", view)
    _check_still_open(view, value)
    bot.open_view(body["trigger"], reject_form(view))
    return ""


def open_clarify_form(bot: Bot, body: dict[str, Any], view: PlanView, value: dict[str, Any]) -> str:
    """The form with everything that is missing before there can be a plan."""
    bot.demand(body["user"], "answer", view)
    form = asked(view)
    if form is None or view.state != PlanState.planning:
        raise Conflict("This question was answered already.")
    bot.open_view(body["trigger"], clarify_form(view, form))
    return ""


def open_save_form(bot: Bot, body: dict[str, Any], view: PlanView, value: dict[str, Any]) -> str:
    """The form that makes a runbook of a plan that went well."""
    bot.demand(body["user"], "save", view)
    if not savable(view):
        raise Conflict("Only a plan that went well becomes a runbook.")
    bot.open_view(body["trigger"], save_form(view))
    return ""


def resolve(bot: Bot, body: dict[str, Any], view: PlanView, value: dict[str, Any]) -> str:
    actor = bot.demand(body["user"], "resolve", view)
    bot.store.resolve(view.id, value["s"], value["choice"], user=actor.user)
    return ""


def request_again(bot: Bot, body: dict[str, Any], view: PlanView, value: dict[str, Any]) -> str:
    """The same wish once more, as a new plan, asked for by whoever clicked."""
    actor = bot.demand(body["user"], "request", None)
    bot.store.request(view.text, team=actor.team, user=actor.user, channel=view.channel, thread=view.thread)
    return ""


def _check_still_open(view: PlanView, value: dict[str, Any]) -> None:
    if view.state != PlanState.proposed:
        raise Conflict(f"Plan {view.id} is {view.state} already; there is nothing left to change.")
    if view.revision != value["r"]:
        raise Conflict(
            f"That button belongs to revision {value['r']}; meanwhile there is revision {view.revision}. "
            "Please use the newest card."
        )


CLICKS: dict[str, Callable[[Bot, dict[str, Any], PlanView, dict[str, Any]], str]] = {
    "approve": approve,
    "edit": open_edit_form,
    "reject": open_reject_form,
    "answer": answer,
    "resolve": resolve,
    "clarify": open_clarify_form,
    "save": open_save_form,
    "plan": request_again,
}
