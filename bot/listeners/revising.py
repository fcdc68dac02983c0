"""A person's draft becomes the next revision, whichever way it was made."""

from bot.cards.words import differences
from bot.hands import Bot
from bot.planner.prepare import prepare
from bot.policy import only_later, terms
from storage.errors import SignoffError
from storage.spec import PlanSpec
from storage.views import PlanView


def put(bot: Bot, user: str, view: PlanView, old: PlanSpec, draft: PlanSpec) -> None:
    """Make a person's draft the new revision; InvalidPlan names everything that is wrong with it."""
    catalogue, now = bot.catalogue(), bot.store.clock()
    spec = prepare(draft, catalogue, bot.config, now)
    if spec.digest() == view.digest:
        raise SignoffError("Nothing was changed.")
    authors = view.authors if only_later(old, spec) else (*dict.fromkeys([*view.authors, user]),)
    asked = terms(spec, catalogue, bot.config, authors=authors, now=now)
    changes = differences(old, spec)
    bot.store.amend(view.id, spec, asked, author=user, after=view.revision, changes=changes)
