"""Submitted forms: answered in the ack with errors at the fields, or closed; the home tab's become a row."""

import json
from functools import partial
from typing import Any

from bot.cards.edit_form import ROOM, changed_only, edited, field_errors, next_step, step_form
from bot.cards.forms import read_values
from bot.context import Bot
from bot.given_once import json_of
from bot.inbox.answers import guide, move_later, take_over
from bot.inbox.clicks import digest_meant, give_approval
from bot.inbox.codes import check_code
from bot.inbox.home import listed
from bot.inbox.origin import demand_origin, meant, note_stale
from bot.inbox.requests import ask, stop_scope
from bot.inbox.words import plan_by_runbook
from bot.people import Unidentified
from bot.planner.edits.changes import joined
from bot.planner.edits.grammar import NotUnderstood, understand
from bot.planner.edits.pointing import EditContext
from bot.plans.amend import amend
from bot.plans.clarify import inform
from bot.plans.save_runbook import save
from bot.untrusted import clip
from storage.contract.spec import PlanSpec
from storage.errors import Conflict, InvalidPlan, SignoffError
from storage.reading.plan_view import PlanView

NOT_MINE = "This form is not one of mine any more. Please open it again."


def on_submitted(bot: Bot, user: str, form: dict[str, Any], origin: dict[str, Any]) -> dict[str, str]:
    """A form as Slack hands it in: first, where it comes from."""
    try:
        with bot.store.coming("form"):
            demand_origin(bot, "form", origin | {"user": user, "action": form["callback_id"]})
    except SignoffError as error:
        return {next(iter(read_values(form)), "form"): str(error)}
    return on_form(bot, user, form)


def on_form(bot: Bot, user: str, form: dict[str, Any]) -> dict[str, str]:
    """Errors by field; none means that it was done and committed."""
    with bot.store.coming("form"):
        return take(bot, user, form, read_values(form))


def next_form(bot: Bot, form: dict[str, Any], user: str = "") -> dict[str, Any]:
    """What comes after a form that was taken: the step that was chosen next; else no form at all."""
    if form["callback_id"] == "plans":
        page = int(json_of(form["private_metadata"])["page"]) + 1
        return {"response_action": "update", "view": bot.store.redact.data(listed(bot, user, page))}
    if form["callback_id"] != "edit":
        return {}
    meta, values = json_of(form["private_metadata"]), read_values(form)
    view = bot.store.view(int(meta["p"]))
    number = next_step(view.spec, values) if view.spec else None
    if view.spec is None or number is None:
        return {"response_action": "clear"}
    kept = changed_only(view.spec, meta.get("k", {}) | values)
    made = step_form(view, view.spec, bot.catalogue(), number, kept)
    return {"response_action": "update", "view": bot.store.redact.data(made)}


def take(bot: Bot, user: str, form: dict[str, Any], values: dict[str, str]) -> dict[str, str]:
    try:
        if form["callback_id"] == "plans":
            bot.demand(user, "look", None)
            return {}
        if form["callback_id"] in FILLED and not needs_code(form, values):
            return keep_as_delivery(bot, user, form, values)
        return do(bot, user, form, values)
    except Unidentified as error:
        bot.store.refuse(0, form["callback_id"], user=user, reason=str(error))
        return {next(iter(values)): str(error)}
    except SignoffError as error:
        note_late(bot, user, form, error)
        return {next(iter(values)): str(error)}
    except (ValueError, KeyError, TypeError):
        return {next(iter(values), "form"): NOT_MINE}


def do(bot: Bot, user: str, form: dict[str, Any], values: dict[str, str]) -> dict[str, str]:
    """What this form is for, about the plan that it was opened for."""
    meta, name = json_of(form["private_metadata"]), form["callback_id"]
    view = bot.store.view(meant({"meta": meta}))
    if name in ANSWERS:
        return ANSWERS[name](bot, user, view, str(meta["s"]), values)
    if name in FACTS:
        return FACTS[name](bot, user, view, values)
    if needs_code(form, values):
        return confirm_with_code(bot, user, view, {"r": int(meta["r"]), "d": str(meta["d"])}, form, values)
    done = {"edit": edit, "reject": reject}[name]
    errors = done(bot, user, view, int(meta["r"]), meta.get("k", {}) | values)
    return {place if place in values else next(iter(values)): text for place, text in errors.items()}


def note_late(bot: Bot, user: str, form: dict[str, Any], error: SignoffError) -> None:
    """A form about what was decided or changed meanwhile is on record, as an old button is."""
    if isinstance(error, Conflict):
        meta = json_of(form["private_metadata"])
        note_stale(bot, {"user": user, "form": form["callback_id"], "meta": meta}, str(error))


def needs_code(form: dict[str, Any], values: dict[str, str]) -> bool:
    """Whether something is proved with a code: that is done in the ack, since the code is kept nowhere."""
    asked = form["callback_id"] in {"code", "review", "glass"} and "code" in values
    return asked and values.get("choice", "approve") == "approve"


def confirm_with_code(
    bot: Bot, user: str, view: PlanView, value: dict[str, Any], form: dict[str, Any], values: dict[str, str]
) -> dict[str, str]:
    try:
        act = override_with_code if form["callback_id"] == "glass" else approve_with_code
        act(bot, user, view, value, values["code"])
    except Unidentified:
        raise
    except SignoffError as error:
        note_late(bot, user, form, error)
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


ANSWERS = {"take_over": take_over, "guide": guide, "later": move_later}


def edit(bot: Bot, user: str, view: PlanView, revision: int, values: dict[str, str]) -> dict[str, str]:
    """Make what was changed a revision; on the way to another step, nothing yet. No change, and it closes."""
    spec = demand_current(bot, user, view, revision)
    if values.get("next", "").strip():
        return turned(spec, values)
    draft = edited(spec, values, bot.catalogue())
    try:
        draft = worded(bot, draft, values.get("words", "").strip())
    except SignoffError as error:
        return {"words": clip(str(error), 150)}
    if draft == spec:
        return {}
    try:
        amend(bot, user, view, spec, draft)
    except InvalidPlan as error:
        return field_errors(error.issues, draft, values)
    return {}


def turned(spec: PlanSpec, values: dict[str, str]) -> dict[str, str]:
    """Whether the next step can be shown, with all that was changed so far."""
    if next_step(spec, values) is None:
        return {"next": f"Please name a step by its number, 1 to {len(spec.steps)}."}
    full = len(json.dumps(changed_only(spec, values))) > ROOM
    return {"next": "That is much at once. Please save this first, then open Edit again."} if full else {}


def worded(bot: Bot, draft: PlanSpec, said: str) -> PlanSpec:
    """What a person says in their own words: a change, or something more to do."""
    if not said:
        return draft
    plan = partial(plan_by_runbook, bot)
    try:
        return understand(said, EditContext(draft, bot.catalogue(), bot.config, bot.store.clock(), plan))
    except NotUnderstood:
        return joined(draft, plan(said))


def demand_current(bot: Bot, user: str, view: PlanView, revision: int) -> PlanSpec:
    """The plan as the form showed it, if this person may change it and nobody did so meanwhile."""
    bot.demand(user, "amend", view)
    if view.spec is None:
        raise SignoffError("There is no plan to change yet.")
    if view.revision != revision:
        changed = "; ".join(view.changes) or "it was replaced"
        raise Conflict(f"Meanwhile revision {view.revision} was made: {changed}. Please open Edit again.")
    return view.spec


def reject(bot: Bot, user: str, view: PlanView, revision: int, values: dict[str, str]) -> dict[str, str]:
    actor = bot.demand(user, "reject", view)
    reason = values["reason"].strip()
    if not reason:
        return {"reason": "Please say why; the requester reads this."}
    bot.store.reject(view.id, revision, user=actor.user, reason=reason)
    return {}
