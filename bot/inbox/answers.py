"""What a person says to a plan that cannot go on by itself: the buttons and forms of a question."""

from datetime import datetime
from typing import Any

from bot.cards.escalation import guide_form, read_fields, takeover_form
from bot.cards.face.lines import title
from bot.cards.forms import move_form
from bot.context import Bot
from bot.planner.edits.difference import changing
from bot.plans.amend import leave_out
from bot.plans.postpone import move, openings, postpone, waiting
from bot.plans.review import give_guidance
from bot.plans.up_to_date import bring_up_to_date
from bot.times.zones import span, spoken
from bot.untrusted import clip
from storage.contract.spec import utc
from storage.contract.states import can_skip
from storage.errors import BadTime, Conflict, NotAllowed
from storage.reading.plan_view import PlanView, StepView


def answer(bot: Bot, body: dict[str, Any], view: PlanView, value: dict[str, Any]) -> str:
    asks = {"take_over": open_take_over_form, "guide": open_guide_form, "skip": skip}
    asks |= {"next": move_on, "time": open_move_form, "update": update}
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


def update(bot: Bot, body: dict[str, Any], view: PlanView, value: dict[str, Any]) -> str:
    """What it rests on has changed: the same plan as things are now, which people approve."""
    bring_up_to_date(bot, body["user"], view, demand_waiting(view, value, "update").spec.id)
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


def open_move_form(bot: Bot, body: dict[str, Any], view: PlanView, value: dict[str, Any]) -> str:
    """Ask for a later time, with the next ones to choose from."""
    bot.demand(body["user"], "postpone", view)
    step = waiting(view, value["s"])
    zone, begins = step.spec.schedule.zone, step.spec.schedule.not_before
    said = {utc(start): span(start, end, zone) for start, end in openings(bot, view, step)}
    now = spoken(begins, zone) if begins else ""
    bot.open_view(body["trigger"], move_form(view, step.spec.id, title(view, step.spec), now, said))
    return ""


def move_on(bot: Bot, body: dict[str, Any], view: PlanView, value: dict[str, Any]) -> str:
    """To the next time that it may run."""
    bot.demand(body["user"], "postpone", view)
    step = waiting(view, value["s"])
    found = openings(bot, view, step)
    if not found:
        raise Conflict("I know no later time for it. Please choose one with Other Time.")
    return move(bot, body["user"], view, found[0][0], key=step.spec.id)


def move_later(bot: Bot, user: str, view: PlanView, key: str, values: dict[str, str]) -> dict[str, str]:
    """The form: one of the times it offered, or one in words."""
    bot.demand(user, "postpone", view)
    said, chosen = values.get("when", "").strip(), values.get("next", "")
    if not said and not chosen:
        return {"when": "Please choose a time above, or write one."}
    try:
        if said:
            postpone(bot, user, view, said, key=key)
        else:
            move(bot, user, view, datetime.fromisoformat(chosen), key=key)
    except (BadTime, NotAllowed) as error:
        return {"when" if said else "next": clip(str(error), 150)}
    return {}


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
