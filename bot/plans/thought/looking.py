"""Planning reads: what a planner may have looked at before it plans, in the requester's own name."""

from collections.abc import Sequence
from datetime import timedelta

from bot.context import Bot
from bot.planner.prepare import prepare
from bot.plans.thought import aloud
from bot.policy.authorize import terms
from bot.untrusted import clip
from storage.contract.mandate import open_value
from storage.contract.saying import short
from storage.contract.spec import PlanSpec, StepSpec, reference
from storage.errors import InvalidPlan
from storage.plans.planning_reads import Found
from storage.reading.plan_view import PlanView
from storage.settling.starting import EVERYTHING

PER_PLAN = 6
PER_HOUR = 60  # in one person's name


def look(bot: Bot, view: PlanView, looks: Sequence[StepSpec], *, actor: str = "planner") -> bool:
    """Ask for those that may be made; False when none is new, or there were enough."""
    done = bot.store.looked(view.id)
    known = {(one.worker, one.action, repr(dict(one.parameters))) for one in done}
    allowed, refused = list[StepSpec](), list[tuple[StepSpec, str]]()
    for step in looks:
        ready, why = judged(bot, view, step)
        if (ready.worker, ready.action, repr(dict(ready.parameters))) in known:
            continue
        known.add((ready.worker, ready.action, repr(dict(ready.parameters))))
        allowed += [] if why else [ready]
        refused += [(ready, why)] if why else []
    room = PER_PLAN - len(done)
    if not (allowed or refused) or room <= 0 or _too_many(bot, view):
        return False
    calls = [(step.worker, step.action, step.parameters) for step in allowed[:room]]
    denied = [(step.worker, step.action, step.parameters, why) for step, why in refused[: room - len(calls)]]
    bot.store.inquire(view.id, calls, refused=denied, actor=actor)
    if calls:
        aloud.say(bot, view, f"Looking at {', '.join(aloud.named(bot, step) for step in allowed[:room])} …")
    return True


def judged(bot: Bot, view: PlanView, step: StepSpec) -> tuple[StepSpec, str]:
    """The read with its defaults, and why it may not be made, or ""."""
    contract = bot.catalogue().find(step)
    if contract is None or contract.changes or contract.drafts or not contract.planning:
        return step, "this is not for looking before there is a plan"
    try:
        spec = PlanSpec(goal="look", steps=(step.model_copy(update={"depends_on": ()}),))
        (ready,) = prepare(spec, bot.catalogue(), bot.config, bot.store.clock()).steps
    except InvalidPlan as error:
        return step, clip(str(error.issues[0]), 200)
    if any(reference(value) for value in ready.parameters.values()) or (free := open_value(ready, contract)):
        return ready, f"{free or 'a parameter'} is neither a name of the inventory nor one of a few values"
    place = contract.environment(ready.parameters)
    held = {EVERYTHING, f"environment {place}", f"changes in {place}"} & {s.scope for s in bot.store.stops()}
    if held:
        return ready, "it is stopped"
    asked = terms(
        PlanSpec(goal="look", steps=(ready,)), bot.catalogue(), bot.config, authors=view.askers,
        now=bot.store.clock(), machine=view.machine,
    )  # fmt: skip
    if asked.needed or asked.demands.denied:
        return ready, "policy does not let the requester run it unasked"
    return ready, ""


def notes(bot: Bot, view: PlanView) -> tuple[str, ...]:
    """What the card says was looked at."""
    return tuple(_note(bot, one) for one in bot.store.looked(view.id) if one.state == "made")


def _note(bot: Bot, one: Found) -> str:
    step = StepSpec(id="look", worker=one.worker, action=one.action, parameters=dict(one.parameters))
    return f"I looked ({short(bot.catalogue().find(step), step)}): {clip(' '.join(one.summary.split()), 160)}"


def _too_many(bot: Bot, view: PlanView) -> bool:
    since = bot.store.clock() - timedelta(hours=1)
    return bot.store.inquired(view.requester, since) >= PER_HOUR
