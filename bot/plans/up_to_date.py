"""Whether a plan is out of date, and the same plan as things are now: made by code, without a planner."""

from dataclasses import replace
from typing import Any

from bot.cards.phrases import REFRESHED, differences
from bot.context import Bot
from bot.planner.prepare import fill, schedule_anew
from bot.planner.validate import validate
from bot.plans.amend import bereft
from bot.plans.permits import stricter
from bot.plans.postpone import opening
from bot.policy.authorize import terms
from bot.policy.outdated import World, ahead, left, outdated, untimely
from storage.contract.capability import Check
from storage.contract.spec import PlanSpec, StepSpec
from storage.contract.states import PlanState, StepState
from storage.errors import BadTime, NotAllowed, SignoffError
from storage.plans.lifecycle import Terms
from storage.plans.outdated import RESTING
from storage.reading.plan_view import PlanView

UPDATE = "Please bring it up to date, and read what is different."


def world(bot: Bot) -> World:
    return World(bot.catalogue(), bot.config, bot.store.clock())


def compared(bot: Bot, view: PlanView, here: World | None = None) -> tuple[list[str], list[str]]:
    """What has changed since the plan was made, and the freezes ahead of it."""
    here = here or world(bot)
    if view.spec is None or not left(view):
        return [], []
    broken = "approvals" in view.overrides
    asked = terms(
        view.spec, here.catalogue, here.config, authors=view.authors, now=here.now, machine=view.machine
    )
    raised = "" if broken else _raised(asked, view)
    return [*outdated(view, here), *filter(None, [raised])], ahead(view, here)


def _raised(asked: Terms, view: PlanView) -> str:
    """What policy says now that was not given, or that the card does not say yet; or ""."""
    if view.state != PlanState.proposed:
        return stricter(asked, view, len(view.approved_by))
    if asked.demands.denied and asked.demands.denied == view.demands.denied:
        return ""
    if view.demands.denied and not asked.demands.denied:
        return "the policy allows it now"
    return stricter(asked, view, view.needed).replace("this has", "the card says")


def compare(bot: Bot) -> None:
    """Hold every plan against what it rests on: cards tell what has changed, also while nobody clicks."""
    here = world(bot)
    for plan_id in bot.store.resting():
        view = bot.store.view(plan_id)
        bot.store.outdate(plan_id, view.revision, *compared(bot, view, here))


def fresh(bot: Bot, view: PlanView) -> PlanView:
    """The plan as people shall see it: held against what it rests on, and against the clock, now."""
    if view.state not in RESTING:
        return view
    why, before = compared(bot, view)
    return replace(opening(bot, view), outdated=(*why,), ahead=(*before,))


def demand_up_to_date(bot: Bot, view: PlanView, user: str) -> None:
    """Nobody approves what has changed under the card; it is drawn anew, and says so."""
    why, before = compared(bot, view) if view.state == PlanState.proposed else ([], [])
    if why:
        reason = f"it is out of date: {'; '.join(why)}"
        bot.store.refuse(view.id, "approve", user=user, reason=reason)
        bot.store.outdate(view.id, view.revision, why, before)
        raise NotAllowed(f"Not approved: {reason}. {UPDATE}")


def bring_up_to_date(bot: Bot, user: str, view: PlanView, key: str = "") -> None:
    """A revision that is this plan as things are now. Whoever asks for it chooses nothing: no author is made.

    `key` is the failed step that this answers, if one asks: if all is as it was by now, it is tried again.
    """
    actor, here = bot.demand(user, "amend", view), world(bot)
    late = [untimely(view.step(key).spec, view, here)] if key else []
    why = [*compared(bot, view, here)[0], *filter(None, late)]
    if view.spec is None or not why:
        _nothing_changed(bot, actor.user, view, key)
        return
    spec = refreshed(view, view.spec, here)
    wanted = terms(
        spec, here.catalogue, here.config, authors=view.authors, now=here.now, machine=view.machine
    )
    wanted = bereft(wanted, view, view.spec, spec, here.catalogue)
    changes = [*(f"{REFRESHED}{line}" for line in why), *differences(view.spec, spec), *_again(view)]
    said: dict[str, Any] = {"author": actor.user, "after": view.revision, "changes": changes}
    if view.state == PlanState.proposed:
        bot.store.amend(view.id, spec, wanted, **said)
    else:
        bot.store.bring_up_to_date(view.id, spec, wanted, key=key, **said)


def _nothing_changed(bot: Bot, user: str, view: PlanView, key: str) -> None:
    if not key:
        bot.store.outdate(view.id, view.revision, *compared(bot, view))
        raise SignoffError("It is up to date: nothing that it rests on is different (any more).")
    bot.store.answer(view.id, key, "retry", user=user)


def _again(view: PlanView) -> list[str]:
    """A failed step is not left behind: with the rest it is tried again."""
    return [f"{s.spec.id}: is tried again" for s in view.steps if s.state == StepState.failed and s.attempt]


def refreshed(view: PlanView, spec: PlanSpec, here: World) -> PlanSpec:
    """What is still to come, as its workers promise it and as its words mean it now; what has run stands."""
    ahead_ = {step.id for step in left(view)}
    steps = [_anew(step, view, here) if step.id in ahead_ else step for step in spec.steps]
    undos = [_anew(undo, view, here) for undo in spec.rollback]
    made = spec.model_copy(update={"steps": tuple(steps), "rollback": tuple(undos)})
    ran = [f"steps[{place}]" for place, step in enumerate(spec.steps) if step.id not in ahead_]
    issues = [issue for issue in validate(made, here.catalogue) if not issue.path.startswith((*ran,))]
    if issues:
        raise SignoffError(_hopeless("; ".join(issue.message for issue in issues)))
    return made


def _anew(step: StepSpec, view: PlanView, here: World) -> StepSpec:
    contract = here.catalogue.find(step)
    if contract is None:
        raise SignoffError(_hopeless(f"no worker offers {step.worker}.{step.action}"))
    named = dict.fromkeys(c.name if isinstance(c, Check) and c.name else c for c in step.success_criteria)
    made = fill(step.model_copy(update={"success_criteria": tuple(named)}), contract)
    if not untimely(step, view, here):
        return made
    try:
        return made.model_copy(update={"schedule": schedule_anew(made, contract, here.config, here.now)})
    except BadTime as error:
        raise SignoffError(_hopeless(f"{step.id}: {error}")) from None


def _hopeless(why: str) -> str:
    return f"It cannot be brought up to date: {why}. Please edit it, or ask for it again."
