"""Breaking the glass: what stands in the way of a plan now, and how much of it somebody may override."""

from collections.abc import Iterator
from datetime import timedelta

from bot.context import Bot
from bot.plans.permits import case
from bot.plans.up_to_date import UPDATE, world
from bot.policy.apply_rules import closed
from bot.policy.authorize import Actor
from bot.policy.outdated import outdated
from storage.contract.demands import Part
from storage.contract.spec import UndoSpec
from storage.contract.states import PlanState
from storage.errors import NotAllowed, SignoffError
from storage.reading.plan_view import PlanView

CONFIRM = "confirm"


def confirms(view: PlanView, words: str) -> bool:
    """Whether these are the word and the digest that the first step gave."""
    return words == f"{CONFIRM} {view.digest[:8]}"


def break_glass(bot: Bot, view: PlanView, user: str, words: str) -> str:
    """The first step, with a reason; or the second one."""
    actor = bot.demand(user, "break_glass", view)
    if confirms(view, words):
        bot.store.confirm_glass(view.id, view.digest, user=user)
        return ""
    if not words or words.split()[0] == CONFIRM:
        raise SignoffError(f"Please say why: `/plan break-glass {view.id} <reason>`. Everybody reads it.")
    if moved := outdated(view, world(bot)):
        raise SignoffError(f"Plan {view.id} is out of date: {'; '.join(moved)}. {UPDATE}")
    parts = demand_override(bot, view, actor)
    bot.store.break_glass(view.id, view.digest, parts, user=user, reason=words)
    return (
        f"This would override the {' and the '.join(parts)} for plan {view.id}, revision {view.revision}. "
        "The channel hears of it with your name and reason, and somebody else reviews it. Within ten "
        f"minutes, say `/plan break-glass {view.id} {CONFIRM} {view.digest[:8]}`."
    )


def demand_override(bot: Bot, view: PlanView, actor: Actor) -> list[Part]:
    """What stands in the way, if a rule lets this person override all of it."""
    standing = dict(in_the_way(bot, view))
    if not standing:
        raise SignoffError(f"Nothing stands in the way of plan {view.id} that could be overridden.")
    mine = {glass.part for glass in view.demands.glass if actor.among(glass.of)}
    for part, why in standing.items():
        if part not in mine:
            reason = f"No rule lets you override the {part}, and it stands in the way: {why}."
            bot.store.refuse(view.id, "break_glass", user=actor.user, reason=reason)
            raise NotAllowed(reason)
    return [*standing]


def in_the_way(bot: Bot, view: PlanView) -> Iterator[tuple[Part, str]]:
    """(what, why) for everything that keeps this plan from running now."""
    if view.spec is None:
        return
    found, catalogue, now = case(bot, view.spec, view), bot.catalogue(), bot.store.clock()
    for fact in found.facts:
        contract = catalogue.find(fact.step)
        if contract is None or not fact.changes or isinstance(fact.step, UndoSpec):
            continue  # reads and rollbacks wait for neither
        if freeze := bot.frozen(fact.environment):
            yield "freeze", freeze.reason
        if why := closed(found, fact, timedelta(seconds=contract.timeout), now):
            yield "window", why
    if view.state == PlanState.proposed:
        yield "approvals", f"{len(view.approved_by)} of {view.needed} were given"
