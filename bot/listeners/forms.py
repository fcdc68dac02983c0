"""Submitted forms. They are answered in the ack: with errors at the fields, or by closing."""

import json
from typing import Any

from bot.cards.modal import edited, field_errors, read_values
from bot.cards.words import differences
from bot.hands import Bot
from bot.planner.prepare import prepare
from bot.policy import only_later, terms
from storage.errors import InvalidPlan, SignoffError
from storage.views import PlanView


def on_form(bot: Bot, user: str, form: dict[str, Any]) -> dict[str, str]:
    """Errors by field; none means that it was done and committed."""
    values = read_values(form)
    try:
        meta = json.loads(form["private_metadata"])
        view = bot.store.view(int(meta["p"]))
        done = {"edit": amend, "reject": reject}[form["callback_id"]]
        return done(bot, user, view, int(meta["r"]), values)
    except SignoffError as error:
        return {next(iter(values)): str(error)}


def amend(bot: Bot, user: str, view: PlanView, revision: int, values: dict[str, str]) -> dict[str, str]:
    bot.demand(user, "amend", view)
    if view.spec is None:
        raise SignoffError("There is no plan to change yet.")
    if view.revision != revision:
        changed = "; ".join(view.changes) or "it was replaced"
        raise SignoffError(
            f"Meanwhile <@{view.author}> made revision {view.revision}: {changed}. Open Edit again."
        )
    catalogue, now = bot.catalogue(), bot.store.clock()
    draft = edited(view.spec, values, catalogue)
    try:
        spec = prepare(draft, catalogue, bot.config, now)
    except InvalidPlan as error:
        return field_errors(error.issues, draft, values)
    if spec.digest() == view.digest:
        raise SignoffError("Nothing was changed.")
    authors = view.authors if only_later(view.spec, spec) else (*dict.fromkeys([*view.authors, user]),)
    asked = terms(spec, catalogue, bot.config, authors=authors, now=now)
    changes = differences(view.spec, spec)
    bot.store.amend(view.id, spec, asked, author=user, after=revision, changes=changes)
    return {}


def reject(bot: Bot, user: str, view: PlanView, revision: int, values: dict[str, str]) -> dict[str, str]:
    actor = bot.demand(user, "reject", view)
    reason = values["reason"].strip()
    if not reason:
        return {"reason": "Please say why; the requester reads this."}
    bot.store.reject(view.id, revision, user=actor.user, reason=reason)
    return {}
