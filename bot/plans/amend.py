"""A person's draft becomes the next revision, whichever way it was made."""

from dataclasses import replace

from bot.cards.phrases import differences
from bot.context import Bot
from bot.planner.edits.changes import without
from bot.planner.edits.difference import UNCHANGING, changing, losses, still_lost
from bot.planner.prepare import prepare
from bot.planner.validate import Catalogue, validate
from bot.plans.own_words import as_before
from bot.policy.authorize import only_later, terms
from bot.untrusted import clip, inert
from storage.contract.spec import PlanSpec
from storage.contract.states import StepState
from storage.errors import InvalidPlan, SignoffError
from storage.plans.lifecycle import Terms
from storage.reading.plan_view import PlanView


def amend(bot: Bot, user: str, view: PlanView, old: PlanSpec, draft: PlanSpec, *, asked: str = "") -> None:
    """Make a person's draft the new revision; InvalidPlan names everything that is wrong with it.

    `asked` are the words from which the planner made the draft, if it did.
    """
    catalogue, now = bot.catalogue(), bot.store.clock()
    spec = renamed(old, prepare(draft, catalogue, bot.config, now), catalogue)
    if spec.digest() == view.digest:
        raise SignoffError("Nothing was changed.")
    authors = view.authors if only_later(old, spec) else (*dict.fromkeys([*view.authors, user]),)
    wanted = terms(spec, catalogue, bot.config, authors=authors, now=now, machine=view.machine)
    before = terms(old, catalogue, bot.config, authors=authors, now=now, machine=view.machine)
    wanted = as_before(bereft(wanted, view, old, spec, catalogue), before, view, spec, catalogue, asked)
    drafted = [f"drafted by the planner from “{clip(inert(asked), 200)}”"] if asked else []
    changes = [*drafted, *differences(old, spec, catalogue.find)]
    bot.store.amend(view.id, spec, wanted, author=user, after=view.revision, changes=changes)


def leave_out(bot: Bot, user: str, view: PlanView, old: PlanSpec, key: str) -> None:
    """Go on without a failed step that others rely on: a new revision, which somebody else must approve."""
    spec, catalogue = without(old, key), bot.catalogue()
    if issues := validate(spec, catalogue):
        raise InvalidPlan(issues)
    authors = (*dict.fromkeys([*view.authors, user]),)
    asked = terms(spec, catalogue, bot.config, authors=authors, now=bot.store.clock(), machine=view.machine)
    asked = bereft(asked, view, old, spec, catalogue)
    reason = f"{key} failed, and <@{user}> wants to go on without it"
    changes = differences(old, spec, catalogue.find)
    bot.store.rework(view.id, spec, asked, author=user, reason=reason, changes=changes, without=key)


def bereft(wanted: Terms, view: PlanView, old: PlanSpec, new: PlanSpec, catalogue: Catalogue) -> Terms:
    """With what the new plan does without: what this revision leaves out, and what earlier ones have."""
    done = [step.spec.id for step in view.steps if step.state == StepState.succeeded]
    lost = [*still_lost(view.lost, new, catalogue), *losses(old, new, catalogue, done)]
    return replace(wanted, lost=(*dict.fromkeys(lost),) if changing(new, catalogue) else ())


def renamed(old: PlanSpec, new: PlanSpec, catalogue: Catalogue) -> PlanSpec:
    """The goal says so when every change was left out, and no more once there is one again."""
    goal = new.goal.removesuffix(UNCHANGING)
    if changing(new, catalogue):
        return new.model_copy(update={"goal": goal})
    was = changing(old, catalogue) or old.goal.endswith(UNCHANGING)
    return new.model_copy(update={"goal": f"{goal}{UNCHANGING}"}) if was else new
