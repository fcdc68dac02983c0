"""A person's draft becomes the next revision, whichever way it was made."""

from bot.cards.phrases import differences
from bot.context import Bot
from bot.planner.edits.changes import without
from bot.planner.prepare import prepare
from bot.planner.validate import validate
from bot.policy.authorize import only_later, terms
from bot.untrusted import clip, inert
from storage.contract.spec import PlanSpec
from storage.errors import InvalidPlan, SignoffError
from storage.reading.plan_view import PlanView


def amend(bot: Bot, user: str, view: PlanView, old: PlanSpec, draft: PlanSpec, *, asked: str = "") -> None:
    """Make a person's draft the new revision; InvalidPlan names everything that is wrong with it.

    `asked` are the words from which the planner made the draft, if it did.
    """
    catalogue, now = bot.catalogue(), bot.store.clock()
    spec = prepare(draft, catalogue, bot.config, now)
    if spec.digest() == view.digest:
        raise SignoffError("Nothing was changed.")
    authors = view.authors if only_later(old, spec) else (*dict.fromkeys([*view.authors, user]),)
    wanted = terms(spec, catalogue, bot.config, authors=authors, now=now)
    drafted = [f"drafted by the planner from “{clip(inert(asked), 200)}”"] if asked else []
    changes = [*drafted, *differences(old, spec)]
    bot.store.amend(view.id, spec, wanted, author=user, after=view.revision, changes=changes)


def leave_out(bot: Bot, user: str, view: PlanView, old: PlanSpec, key: str) -> None:
    """Go on without a failed step that others rely on: a new revision, which somebody else must approve."""
    spec, catalogue = without(old, key), bot.catalogue()
    if issues := validate(spec, catalogue):
        raise InvalidPlan(issues)
    authors = (*dict.fromkeys([*view.authors, user]),)
    asked = terms(spec, catalogue, bot.config, authors=authors, now=bot.store.clock())
    reason = f"{key} failed, and <@{user}> wants to go on without it"
    bot.store.rework(view.id, spec, asked, author=user, reason=reason, changes=differences(old, spec))
