"""Permits: what may have come between an approval and its step is looked at right before the step starts."""

import logging
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import timedelta

from bot.context import OUTSIDE, Bot
from bot.people import Unidentified
from bot.policy import apply_rules as rules
from bot.policy.apply_rules import Case
from bot.policy.authorize import Actor, Refused, authorize, terms, who
from bot.times.zones import spoken
from storage.config import ON_CALL
from storage.contract.spec import PlanSpec
from storage.database.tables import Step
from storage.plans.lifecycle import Terms
from storage.reading.plan_view import PlanView

logger = logging.getLogger(__name__)


def permit(bot: Bot) -> None:
    """Fresh leave for each changing step that is due, unless something has come between.

    The only look there is: an approval lets nothing start by itself, be it a second old.
    """
    due: dict[int, list[Step]] = {}
    for step in bot.store.unpermitted():
        due.setdefault(step.plan_id, []).append(step)
    for plan_id, steps in due.items():
        _look(bot, bot.store.view(plan_id), steps)


def _look(bot: Bot, view: PlanView, steps: Sequence[Step]) -> None:
    """Each of these steps of one plan gets its permit, or the reason why not."""
    checked = {"policy": bot.config.version(), "approvers": [*view.approved_by]}
    found = obstacles(bot, view, steps)
    for step in steps:
        if reason := found[step.key]:
            bot.store.withhold(step.id, reason, actor="bot")
        else:
            bot.store.permit(step.id, actor="bot", checked=checked)


def obstacles(bot: Bot, view: PlanView, steps: Sequence[Step]) -> dict[str, str]:
    """What has come between the approval and each step, or "": time, then policy, then people.

    Slack is asked once for all of them, and not at all while they must wait for their time.
    """
    keys = [step.key for step in steps]
    if view.spec is None:
        return dict.fromkeys(keys, "the stored plan cannot be read")
    if why := forged(bot, view):
        logger.error("ALARM plan=%s step=%s gets no permit: %s", view.id, ", ".join(keys), why)
        return dict.fromkeys(keys, why)
    found = case(bot, view.spec, view)
    late = {step.key: untimely(bot, found, step.key, step.timeout, view.overrides) for step in steps}
    all_of_it = "" if all(late.values()) else _unapproved(bot, view.spec, view)
    return {key: why or all_of_it for key, why in late.items()}


def _unapproved(bot: Bot, spec: PlanSpec, view: PlanView) -> str:
    """Why the plan as a whole would not be approved today by those who approved it, or ""."""
    asked = today(bot, spec, view)
    try:
        broken = _unbroken(bot, asked, view) if view.overrides else ""
        if broken or "approvals" in view.overrides:
            return broken
        return stricter(asked, view, len(view.approved_by)) or _unentitled(
            bot, replace(view, demands=asked.demands, needed=asked.needed)
        )
    except Unidentified as error:
        return str(error)


def forged(bot: Bot, view: PlanView) -> str:
    """What in the rows the journal does not bear out, or "": for whoever changes all rows alike."""
    why, told = bot.store.borne_out(view.id)
    if why:
        return why
    yes = told.approved(view.parent.digest() if view.parent else view.digest)
    if not yes or not yes >= {*view.approved_by}:
        return "the journal knows of no such approval: it was changed behind the bot's back"
    return ""


def today(bot: Bot, spec: PlanSpec, view: PlanView) -> Terms:
    """What policy would ask for this plan if it were proposed now."""
    now = bot.store.clock()
    return terms(spec, bot.catalogue(), bot.config, authors=view.authors, now=now, machine=view.machine)


def case(bot: Bot, spec: PlanSpec, view: PlanView) -> Case:
    now = bot.store.clock()
    return rules.case(spec, bot.catalogue(), bot.config, requester=view.requester, now=now)


def untimely(bot: Bot, found: Case, key: str, timeout: float, overrides: Collection[str] = ()) -> str:
    """The freeze or the closed window that this step must wait for, unless it was overridden; or ""."""
    fact = next(fact for fact in found.facts if fact.step.id == key)
    freeze = bot.frozen(fact.environment)
    if freeze and "freeze" not in overrides:
        until = spoken(freeze.until, freeze.zone)
        return f"{fact.environment or 'everything'} is frozen until {until}: {freeze.reason}"
    if "window" in overrides:
        return ""
    return rules.closed(found, fact, timedelta(seconds=timeout), bot.store.clock())


def stricter(asked: Terms, view: PlanView, given: int) -> str:
    """What policy asks for today that was not given, or ""."""
    if asked.demands.denied:
        return f"the policy does not allow it now: {'; '.join(asked.demands.denied)}"
    if asked.needed > given:
        return f"the policy now asks for {asked.needed} approvals, and this has {given}"
    if asked.demands.second_factor and not (view.demands.second_factor and all(view.factors)):
        return "the policy now asks for a second factor, and it was approved without one"
    if asked.demands.read and not view.demands.read:
        return "the policy now asks that a plan is read first, and it was approved before that"
    return ""


def _unbroken(bot: Bot, asked: Terms, view: PlanView) -> str:
    """Why whoever broke the glass could not do so today, or ""."""
    if asked.demands.denied:
        return stricter(asked, view, 0)
    if asked.demands.second_factor and not view.demands.second_factor:
        return "the policy now asks for a second factor, and the emergency override was without one"
    if bot.people.outside(view.channel, fresh=True):
        return OUTSIDE
    actor = bot.people.actor(view.broken_by, fresh=True)
    answer = authorize(actor, "break_glass", replace(view, demands=asked.demands), bot.config)
    return f"an override no longer holds: {answer.reason}" if isinstance(answer, Refused) else ""


def on_call_then(bot: Bot, actor: Actor, held: Collection[str]) -> Actor:
    """A yes given on call outlives the shift, unless the schedule says otherwise: what runs, runs later."""
    known = {f"{ON_CALL}{name}" for name, entry in bot.config.oncall.items() if entry.holds == "approval"}
    return replace(actor, groups=actor.groups | (known & {*held}))


def _unentitled(bot: Bot, view: PlanView) -> str:
    """Whose approval would not be given today, by today's rules and today's groups; or ""."""
    if bot.people.outside(view.channel, fresh=True):
        return OUTSIDE
    actors = [
        on_call_then(bot, bot.people.actor(user, fresh=True), held)
        for user, held in zip(view.approved_by, view.held, strict=True)
    ]
    for actor in actors:
        answer = authorize(actor, "approve", view, bot.config)
        if isinstance(answer, Refused):
            return f"an approval no longer holds: {answer.reason}"
    named = [actor.person for actor in actors if actor.person]
    if len({*named}) < len(named):
        return "two of its approvals are by one person, as far as Slack knows"
    for quorum in view.quorums:
        if quorum.short((actor.user, *actor.groups) for actor in actors):
            return f"the approvals no longer suffice: {quorum.needed} needed from {who(view, quorum)}"
    return ""
