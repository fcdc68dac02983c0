"""Deciding: what each button does. The value is looked up, never trusted; every click gets an answer."""

from collections.abc import Callable
from typing import Any

from bot.cards.blocks import PREFIX
from bot.cards.clarify_form import clarify_form, picked_from
from bot.cards.details import details_form
from bot.cards.edit_form import edit_form
from bot.cards.face.durations import informed
from bot.cards.forms import code_form, reject_form
from bot.cards.save_form import save_form
from bot.context import Bot
from bot.given_once import json_of
from bot.inbox.answers import answer, open_move_form
from bot.inbox.codes import demand_factor
from bot.inbox.conversation import converse, heard
from bot.inbox.home import HOME
from bot.inbox.origin import GONE, meant
from bot.inbox.recurring import approve_runs
from bot.inbox.requests import do
from bot.planner.conversation.own_words import is_own_word, split_word
from bot.plans.clarify import inform, still_asked
from bot.plans.once_more import propose_again, propose_back
from bot.plans.save_runbook import savable
from bot.plans.up_to_date import bring_up_to_date, demand_up_to_date
from bot.policy.authorize import Actor
from storage.config import ON_CALL
from storage.contract.states import PlanState
from storage.errors import Conflict, NotFound
from storage.reading.plan_view import PlanView
from storage.safeguards.second_factors import Proof


def on_click(bot: Bot, body: dict[str, Any]) -> str:
    if body["action"] in HOME and body.get("home"):
        return HOME[body["action"]](bot, body)
    verb, _, choice = body["action"].partition("_")
    if verb == "own":
        return say_own_word(bot, body)
    if verb not in CLICKS:
        return GONE
    view, value = look_up(bot, body)
    if verb not in ENDING:
        bot.demand_untouched(body["user"], verb, view)
    return CLICKS[verb](bot, body, view, value | {"choice": choice})


def say_own_word(bot: Bot, body: dict[str, Any]) -> str:
    """An own word that was offered as a button: as if this person had typed it, with the rights they have."""
    try:
        word, rest = split_word(str(json_of(body["value"])["s"]))
    except (ValueError, TypeError, KeyError):
        raise Conflict(GONE) from None
    if not is_own_word(word, rest):
        raise Conflict(GONE)
    return do(bot, word, rest, body)


# What ends a plan stays possible whatever was done to its words; what is said is looked at where it is heard.
ENDING = frozenset({"reject", "cancel", "say"})


def look_up(bot: Bot, body: dict[str, Any]) -> tuple[PlanView, dict[str, Any]]:
    """The plan a button speaks of, if the button really is one of ours, in its own place."""
    try:
        value = json_of(body["value"])
        view = bot.store.view(meant(body))
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
    bot.demand_untouched(actor.user, "approve", view)
    demand_up_to_date(bot, view, actor.user)
    bot.store.approve(
        view.id, value["r"], digest_meant(view, value), team=actor.team, user=actor.user,
        policy=bot.config.version(), held=(*actor.groups,), proof=proof,
        told=shift(bot, actor),
    )  # fmt: skip


def shift(bot: Bot, actor: Actor) -> dict[str, Any]:
    """What a schedule elsewhere said of them, where they are on call: it goes on record with their yes."""
    said = {name: bot.people.on_duty(name, actor.user) for name in actor.groups if name.startswith(ON_CALL)}
    return {"oncall": said} if said else {}


def digest_meant(view: PlanView, value: dict[str, Any]) -> str:
    """The digest that a button or a form speaks of; the whole of it, if the plan still is that one."""
    return view.digest if view.digest[:PREFIX] == value["d"] else str(value["d"])


def update(bot: Bot, body: dict[str, Any], view: PlanView, value: dict[str, Any]) -> str:
    """Bring Up to Date: the same plan as things are now, as a revision that people read and approve."""
    if view.revision != value["r"]:
        raise Conflict(f"Meanwhile there is revision {view.revision}. Please use the newest card.")
    bring_up_to_date(bot, body["user"], view)
    return ""


def open_edit_form(bot: Bot, body: dict[str, Any], view: PlanView, value: dict[str, Any]) -> str:
    bot.demand(body["user"], "amend", view)
    _check_still_open(view, value)
    if view.spec:
        bot.open_view(body["trigger"], edit_form(view, view.spec, bot.catalogue()))
    return ""


def open_reject_form(bot: Bot, body: dict[str, Any], view: PlanView, value: dict[str, Any]) -> str:
    bot.demand(body["user"], "reject", view)
    _check_still_open(view, value)
    bot.open_view(body["trigger"], reject_form(bot.store.as_recorded(view)))
    return ""


def clarify(bot: Bot, body: dict[str, Any], view: PlanView, value: dict[str, Any]) -> str:
    """An answer that was pressed, the form with everything that is missing, or the end of it."""
    actor, form = bot.demand(body["user"], "answer", view), still_asked(view)
    if value["choice"] == "never":
        bot.store.cancel(view.id, user=actor.user, reason="never mind")
        return "Forgotten; nothing was planned."
    field = picked_from(form) if value["choice"].startswith("pick") else None
    if field is None or not value["s"].isdigit() or int(value["s"]) >= len(field.options):
        bot.open_view(body["trigger"], clarify_form(view, form))
        return ""
    known = {one.name: one.value for one in form.fields if one.value}
    errors = inform(bot, actor.user, view, known | {field.name: field.options[int(value["s"])]})
    return " ".join(errors.values())


def open_save_form(bot: Bot, body: dict[str, Any], view: PlanView, value: dict[str, Any]) -> str:
    """The form that makes a runbook of a plan that went well."""
    bot.demand(body["user"], "save", view)
    if not savable(view):
        raise Conflict("Only a plan that went well becomes a runbook.")
    bot.open_view(body["trigger"], save_form(view))
    return ""


def cancel(bot: Bot, body: dict[str, Any], view: PlanView, value: dict[str, Any]) -> str:
    """End it; the button has asked whether that is meant."""
    actor = bot.demand(body["user"], "cancel", view)
    bot.store.cancel(view.id, user=actor.user, reason="by the button on its card")
    return ""


def open_details(bot: Bot, body: dict[str, Any], view: PlanView, value: dict[str, Any]) -> str:
    """Everything that the card has no room for."""
    bot.demand(body["user"], "look", view)
    bot.open_view(body["trigger"], details_form(informed(view, bot.store.contracts()), bot.store.clock()))
    bot.store.opened(view.id, view.revision, body["user"])
    return ""


def resolve(bot: Bot, body: dict[str, Any], view: PlanView, value: dict[str, Any]) -> str:
    actor = bot.demand(body["user"], "resolve", view)
    bot.store.resolve(view.id, value["s"], value["choice"], user=actor.user)
    return ""


def request_again(bot: Bot, body: dict[str, Any], view: PlanView, value: dict[str, Any]) -> str:
    """The same wish once more, as a new plan, asked for by whoever clicked."""
    actor = bot.demand_asking(body["user"], body["channel"])
    bot.store.request(view.text, team=actor.team, user=actor.user, channel=view.channel, thread=view.thread)
    return ""


def do_again(bot: Bot, body: dict[str, Any], view: PlanView, value: dict[str, Any]) -> str:
    """The same plan, to be approved anew."""
    propose_again(bot, body["user"], view)
    return ""


def roll_back(bot: Bot, body: dict[str, Any], view: PlanView, value: dict[str, Any]) -> str:
    """A proposal that undoes what this plan did; never direct."""
    propose_back(bot, body["user"], view)
    return ""


def say(bot: Bot, body: dict[str, Any], view: PlanView, value: dict[str, Any]) -> str:
    """An answer that was offered as a button: as if this person had said its words in the thread."""
    bot.demand(body["user"], "look", view)
    place = {"thread": view.thread or view.card, "ts": ""}
    said = body | place | {"text": value["s"], "mentioned": True, "pressed": True}
    return converse(bot, said, view, heard(bot, said, view)) if view.spec else ""


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
    "cancel": cancel,
    "details": open_details,
    "answer": answer,
    "resolve": resolve,
    "clarify": clarify,
    "save": open_save_form,
    "plan": request_again,
    "later": open_move_form,
    "stand": approve_runs,
    "again": do_again,
    "say": say,
    "back": roll_back,
    "update": update,
}
