"""Submitted forms: answered in the ack with errors at the fields, or closed; the home tab's become a row."""

from typing import Any

from bot.cards.edit_form import edit_page, edited, field_errors, pages
from bot.cards.forms import read_values
from bot.context import Bot
from bot.given_once import json_of
from bot.inbox.answers import guide, take_over
from bot.inbox.clicks import digest_meant, give_approval
from bot.inbox.codes import check_code
from bot.inbox.replies import plan_by_runbook
from bot.inbox.requests import ask, stop_scope
from bot.people import Unidentified
from bot.planner.edits.changes import joined
from bot.planner.runbooks.book import NoPlan
from bot.plans.amend import amend
from bot.plans.clarify import inform
from bot.plans.save_runbook import save
from bot.untrusted import clip
from storage.contract.spec import PlanSpec
from storage.errors import InvalidPlan, SignoffError
from storage.reading.plan_view import PlanView


def on_form(bot: Bot, user: str, form: dict[str, Any]) -> dict[str, str]:
    """Errors by field; none means that it was done and committed."""
    with bot.store.coming("form"):
        return take(bot, user, form, read_values(form))


def next_form(bot: Bot, form: dict[str, Any]) -> dict[str, Any]:
    """What comes after a form that was taken: the steps that were chosen; after these, no form at all."""
    if form["callback_id"] != "edit_pages":
        return {"response_action": "clear"} if form["callback_id"] == "edit" else {}
    view, page = bot.store.view(int(json_of(form["private_metadata"])["p"])), read_values(form)["page"]
    if view.spec is None:
        return {}
    made = edit_page(view, view.spec, bot.catalogue(), int(page))
    return {"response_action": "push", "view": bot.store.redact.data(made)}


def take(bot: Bot, user: str, form: dict[str, Any], values: dict[str, str]) -> dict[str, str]:
    if form["callback_id"] in FILLED and not needs_code(form, values):
        return keep_as_delivery(bot, user, form, values)
    try:
        meta = json_of(form["private_metadata"])
        view = bot.store.view(int(meta["p"]))
        if form["callback_id"] in ANSWERS:
            return ANSWERS[form["callback_id"]](bot, user, view, str(meta["s"]), values)
        if form["callback_id"] in FACTS:
            return FACTS[form["callback_id"]](bot, user, view, values)
        if needs_code(form, values):
            given = {"r": int(meta["r"]), "d": str(meta["d"])}
            return confirm_with_code(bot, user, view, given, values["code"], form["callback_id"])
        done = {"edit": edit, "edit_pages": choose_page, "reject": reject}[form["callback_id"]]
        return done(bot, user, view, int(meta["r"]), values)
    except Unidentified as error:
        bot.store.refuse(0, form["callback_id"], user=user, reason=str(error))
        return {next(iter(values)): str(error)}
    except SignoffError as error:
        return {next(iter(values)): str(error)}
    except (ValueError, KeyError, TypeError):
        return {next(iter(values), "form"): "This form is not one of mine any more. Please open it again."}


def needs_code(form: dict[str, Any], values: dict[str, str]) -> bool:
    """Whether something is proved with a code: that is done in the ack, since the code is kept nowhere."""
    asked = form["callback_id"] in {"code", "review", "glass"} and "code" in values
    return asked and values.get("choice", "approve") == "approve"


def confirm_with_code(
    bot: Bot, user: str, view: PlanView, value: dict[str, Any], code: str, form: str
) -> dict[str, str]:
    try:
        act = override_with_code if form == "glass" else approve_with_code
        act(bot, user, view, value, code)
    except Unidentified:
        raise
    except SignoffError as error:
        return {"code": str(error)}
    return {}


def approve_with_code(bot: Bot, user: str, view: PlanView, value: dict[str, Any], code: str) -> None:
    actor = bot.demand(user, "approve", view)
    give_approval(bot, actor, view, value, check_code(bot, user, view, code, "approve"))


def override_with_code(bot: Bot, user: str, view: PlanView, value: dict[str, Any], code: str) -> None:
    """The second step of breaking the glass, for what the form showed."""
    bot.demand(user, "break_glass", view)
    proof = check_code(bot, user, view, code, "break_glass")
    bot.store.confirm_glass(view.id, digest_meant(view, value), user=user, proof=proof)


def keep_as_delivery(bot: Bot, user: str, form: dict[str, Any], values: dict[str, str]) -> dict[str, str]:
    """A form is a delivery like any other: its row is committed before the ack, and handled once."""
    if not values.get("text", "").strip() and values.get("choice") != "approve":
        return {"text": "Please say it in a few words; the people concerned read this."}
    meta: dict[str, Any] = json_of(form["private_metadata"])
    facts = {"user": user, "channel": meta["c"], "form": form["callback_id"], "text": values["text"].strip()}
    bot.store.deliver(
        f"form:{form['id']}", "form", facts | {"choice": values.get("choice", ""), "meta": meta}
    )
    return {}


def on_filled(bot: Bot, body: dict[str, Any]) -> str:
    return FILLED[body["form"]](bot, body)


def request_wish(bot: Bot, body: dict[str, Any]) -> str:
    return ask(bot, body["text"], body)


def stop_everything(bot: Bot, body: dict[str, Any]) -> str:
    return stop_scope(bot, f"everything {body['text']}", body)


def decide(bot: Bot, body: dict[str, Any]) -> str:
    """Approve or reject what was shown in the form: its revision, its digest."""
    view, meta = bot.store.view(int(body["meta"]["p"])), body["meta"]
    if body["choice"] == "approve":
        actor = bot.demand(body["user"], "approve", view)
        give_approval(bot, actor, view, {"r": int(meta["r"]), "d": str(meta["d"])})
        return f"You approved plan {view.id}, revision {meta['r']}."
    actor = bot.demand(body["user"], "reject", view)
    bot.store.reject(view.id, int(meta["r"]), user=actor.user, reason=body["text"])
    return f"You rejected plan {view.id}; <@{view.requester}> reads why."


FACTS = {"clarify": inform, "save": save}
FILLED = {"wish": request_wish, "halt": stop_everything, "review": decide}


ANSWERS = {"take_over": take_over, "guide": guide}


def edit(bot: Bot, user: str, view: PlanView, revision: int, values: dict[str, str]) -> dict[str, str]:
    spec = demand_current(bot, user, view, revision)
    draft = edited(spec, values, bot.catalogue())
    if wish := values.get("add", "").strip():
        try:
            draft = joined(draft, plan_by_runbook(bot, wish))
        except NoPlan as error:
            return {"add": clip(str(error), 150)}
    try:
        amend(bot, user, view, spec, draft)
    except InvalidPlan as error:
        return field_errors(error.issues, draft, values)
    return {}


def choose_page(bot: Bot, user: str, view: PlanView, revision: int, values: dict[str, str]) -> dict[str, str]:
    """Which steps of a long plan shall be changed: they come in the next form."""
    found = pages(demand_current(bot, user, view, revision), bot.catalogue())
    return {} if values["page"] in map(str, range(len(found))) else {"page": "Please choose one of these."}


def demand_current(bot: Bot, user: str, view: PlanView, revision: int) -> PlanSpec:
    """The plan as the form showed it, if this person may change it and nobody did so meanwhile."""
    bot.demand(user, "amend", view)
    if view.spec is None:
        raise SignoffError("There is no plan to change yet.")
    if view.revision != revision:
        changed = "; ".join(view.changes) or "it was replaced"
        raise SignoffError(f"Meanwhile revision {view.revision} was made: {changed}. Please open Edit again.")
    return view.spec


def reject(bot: Bot, user: str, view: PlanView, revision: int, values: dict[str, str]) -> dict[str, str]:
    actor = bot.demand(user, "reject", view)
    reason = values["reason"].strip()
    if not reason:
        return {"reason": "Please say why; the requester reads this."}
    bot.store.reject(view.id, revision, user=actor.user, reason=reason)
    return {}
