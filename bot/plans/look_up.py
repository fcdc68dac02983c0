"""A question that one read answers: a plan of one read, which only the asker hears of."""

from typing import Any

from bot.context import Bot
from bot.planner.prepare import prepare
from bot.planner.runbooks.book import Planned
from bot.policy.authorize import Actor, terms
from storage.contract.spec import PlanSpec
from storage.errors import InvalidPlan


def look_up(bot: Bot, made: Planned, wish: str, actor: Actor, body: dict[str, Any]) -> bool:
    """Ask it of a worker at once, where policy wants nobody's approval; whether that was done."""
    spec = _one_read(bot, made)
    if spec is None:
        return False
    now = bot.store.clock()
    asked = terms(spec, bot.catalogue(), bot.config, authors=(actor.user,), now=now)
    if asked.needed or asked.demands.denied:
        return False  # that takes a card, and people
    plan_id = bot.store.request_planned(
        wish, spec, asked, team=actor.team, user=actor.user, channel=body["channel"],
        thread=body.get("thread", ""), notes=made.told(), private=True,
    )  # fmt: skip
    if body.get("ts"):
        bot.store.react(body["channel"], body["ts"], "eyes", plan_id=plan_id)
    return True


def _one_read(bot: Bot, made: Planned) -> PlanSpec | None:
    """The one step, if it only reads and starts at once. If it fails, that is the answer."""
    if not made.question or len(made.spec.steps) != 1 or not bot.store.processes("workers"):
        return None  # without workers, the card says so
    step = made.spec.steps[0].model_copy(update={"failure_action": "abort"})
    found = bot.catalogue().find(step)
    if found is None or found.changes or found.drafts:
        return None
    try:
        draft = made.spec.model_copy(update={"steps": (step,)})
        spec = prepare(draft, bot.catalogue(), bot.config, bot.store.clock())
    except InvalidPlan:
        return None  # the planner says it better
    return None if spec.steps[0].schedule.not_before else spec
