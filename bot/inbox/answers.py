"""What a person says to a plan that cannot go on by itself: the buttons and forms of a question."""

from typing import Any

from bot.cards.escalation import guide_form, read_fields, takeover_form
from bot.context import Bot
from bot.planner.edits.difference import changing
from bot.plans.amend import leave_out
from bot.plans.review import give_guidance
from storage.contract.states import can_skip
from storage.errors import Conflict
from storage.reading.plan_view import PlanView, StepView


def answer(bot: Bot, body: dict[str, Any], view: PlanView, value: dict[str, Any]) -> str:
    asks = {"take_over": open_take_over_form, "guide": open_guide_form, "skip": skip}
    if value["choice"] in asks:
        return asks[value["choice"]](bot, body, view, value)
    actor = bot.demand(body["user"], verb_of(view, value), view)
    bot.store.answer(view.id, value["s"], value["choice"], user=actor.user)
    return ""


def verb_of(view: PlanView, value: dict[str, Any]) -> str:
    """An answer that lets through what nobody has approved yet takes somebody who may approve."""
    report = view.step(value["s"]).report if view.has(value["s"]) else None
    moved = value["choice"] == "retry" and "basis" in ((report and report.data) or {})
    return "resolve" if moved or value["choice"] == "confirm" else "answer"


def skip(bot: Bot, body: dict[str, Any], view: PlanView, value: dict[str, Any]) -> str:
    """Without it. Where a later changing step relies on it, that is another plan, which people approve."""
    actor, step = bot.demand(body["user"], "answer", view), demand_waiting(view, value, "skip")
    if view.spec and not can_skip(view.spec, changing(view.spec, bot.catalogue()), step.spec.id):
        leave_out(bot, actor.user, view, view.spec, step.spec.id)
        return ""
    bot.store.answer(view.id, step.spec.id, "skip", user=actor.user)
    return ""


def open_take_over_form(bot: Bot, body: dict[str, Any], view: PlanView, value: dict[str, Any]) -> str:
    """Ask what the person did; a criterion asks for its field."""
    bot.demand(body["user"], "take_over", view)
    step = demand_waiting(view, value, "take_over")
    bot.open_view(body["trigger"], takeover_form(view, step, bot.catalogue().find(step.spec)))
    return ""


def open_guide_form(bot: Bot, body: dict[str, Any], view: PlanView, value: dict[str, Any]) -> str:
    """Ask for the person's own words to the planner."""
    bot.demand(body["user"], "answer", view)
    bot.open_view(body["trigger"], guide_form(view, view.step(value["s"]) if view.has(value["s"]) else None))
    return ""


def demand_waiting(view: PlanView, value: dict[str, Any], choice: str) -> StepView:
    """The step that this button is about, if it still waits for this answer."""
    step = view.step(value["s"]) if view.has(value["s"]) else None
    if step is None or choice not in step.choices:
        raise Conflict(f"Step {value['s']} is not waiting for an answer (any more).")
    return step


def take_over(bot: Bot, user: str, view: PlanView, key: str, values: dict[str, str]) -> dict[str, str]:
    """The form: the step counts as done by this person."""
    actor = bot.demand(user, "take_over", view)
    if empty := [name for name, value in values.items() if not value.strip()]:
        return dict.fromkeys(empty, "Please fill this in; the plan goes on by what you say here.")
    contract = bot.catalogue().find(view.step(key).spec) if view.has(key) else None
    data = read_fields(values, contract)
    bot.store.take_over(view.id, key, user=actor.user, text=values["text"].strip(), data=data)
    return {}


def guide(bot: Bot, user: str, view: PlanView, key: str, values: dict[str, str]) -> dict[str, str]:
    """The form: what the planner shall do."""
    give_guidance(bot, user, view, values["text"], key=key)
    return {}
