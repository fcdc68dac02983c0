"""What every part of the bot is handed, and how it asks policy whether somebody may."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from typing import Any

from bot.cards.phrases import altered
from bot.people import People
from bot.planner.decision import Decision, Progress, Verb
from bot.planner.model.prompt import Ground
from bot.planner.model.usage import Usage
from bot.planner.model.wire import Asked, Declined, Inquiry
from bot.planner.runbooks.book import Planned, Runbook, usable
from bot.planner.validate import Catalogue
from bot.policy.apply_rules import is_handle
from bot.policy.authorize import Actor, Allowed, Refused, authorize
from bot.policy.totp import Safe
from bot.policy.visibility import visible
from storage.config import Freeze, SignoffConfig
from storage.contract.spec import PlanSpec
from storage.errors import NotAllowed, NotFound
from storage.intention import Intention
from storage.reading.plan_view import PlanView

logger = logging.getLogger(__name__)
# What lets something run, or changes what runs: asked of Slack afresh.
DECIDING = {"approve", "break_glass", "amend", "answer", "resolve", "take_over", "postpone", "bring_in"}
OUTSIDE = "This channel is shared with another organisation, so nothing is approved or changed from here."
SAME = "<@{}> and you are one person, as far as Slack knows, so somebody else must approve it."
READ_BY_OTHERS = (
    "This channel is shared with another organisation, or is about to be, so I plan nothing here. Please ask "
    "in another channel, or write to me directly."
)
Thought = Planned | Asked | Declined | Inquiry
# (the wish, what hears of the cost, what is known besides) → a plan, a look, questions, or a refusal;
# ModelFailed when there is none of them
AskModel = Callable[[str, Callable[[str, Usage], None], Ground], Thought]
# (the plan as it stands, what was decided before, the rungs left, what hears of the cost) → advice; the same
Advise = Callable[[Progress, Sequence[Decision], Sequence[Verb], Callable[[str, Usage], None]], Decision]
# (a proposal, what shall be different, what hears of the cost, what is known) → the plan then; the same
Revise = Callable[[PlanSpec, str, Callable[[str, Usage], None], Ground], Thought]


@dataclass(frozen=True)
class Bot:
    """Rows, rules, people, a way to open a form, and the planner if there is one."""

    store: Intention
    config: SignoffConfig
    people: People
    open_view: Callable[[str, dict[str, Any]], None]
    runbooks: list[Runbook] = field(default_factory=list)
    ask_model: AskModel | None = None  # without one, the runbooks plan
    advise: Advise | None = None  # without one, rules and people say how a plan goes on
    revise: Revise | None = None  # without one, an edit in words is said as the grammar knows it
    safe: Safe | None = None  # opens second factors; without it nobody can show one
    site: str = ""  # the workspace's address, for links
    thread: Callable[[str, str], list[dict[str, Any]]] | None = (
        None  # what was said in a thread, oldest first
    )
    board: bool = False  # whether there is one

    def frozen(self, environment: str = "") -> Freeze | None:
        """The freeze that holds this environment now; without a name, any freeze."""
        now = self.store.clock()
        return next(
            (freeze for freeze in self.config.freezes.values() if freeze.holds(environment, now)), None
        )

    def catalogue(self) -> Catalogue:
        return Catalogue(self.store.contracts())

    def usable(self) -> list[Runbook]:
        """The runbooks whose every step some worker here can do."""
        return usable(self.runbooks, self.catalogue().calls())

    def may(self, user: str, verb: str, plan: PlanView | None) -> bool:
        """Whether somebody may, without putting a refusal on record: for words that were not said to us."""
        return authorize(self.people.actor(user), verb, plan, self.config) == Allowed()

    def demand_untouched(self, user: str, verb: str, plan: PlanView) -> None:
        """Nothing is shown or decided by words that were changed behind our back."""
        if why := self.store.tampered(plan.id):
            logger.error("ALARM plan=%s is not shown: %s", plan.id, why)
            self.store.refuse(plan.id, verb, user=user, reason=why)
            raise NotAllowed(altered(plan.id, why))

    def visible(self, user: str, plans: Sequence[PlanView]) -> list[PlanView]:
        """Those of these plans that somebody sees. Where Slack does not say, they do not see it."""
        actor = self.people.actor(user)
        return [plan for plan in plans if visible(actor, plan, self.config, partial(self.people.reads, user))]

    def demand_visible(self, user: str, plan_id: int, verb: str = "") -> PlanView:
        """The plan, if there is one of that number that they see, or to which they may do this."""
        known = self.store.known(plan_id) and self.store.view(plan_id)
        if known and (self.visible(user, [known]) or (verb and self.may(user, verb, known))):
            return known
        reason = f"There is no plan {plan_id} that you can see."
        self.store.refuse(self.store.known(plan_id), verb or "look", user=user, reason=reason)
        raise NotFound(reason)

    def _the_same(self, actor: Actor, plan: PlanView) -> str:
        """Why this account speaks for somebody who has a part in this already by another one, or ""."""
        authors = () if plan.demands.authors else plan.authors
        for user in dict.fromkeys((*authors, *plan.approved_by)) if actor.person else ():
            if (
                user != actor.user
                and not is_handle(user)
                and self.people.actor(user, fresh=True).person == actor.person
            ):
                return SAME.format(user)
        return ""

    def _too_many(self, user: str, machine: str = "") -> str:
        most, since = self.config.policy.limits.plans_per_hour, self.store.clock() - timedelta(hours=1)
        if not most or self.store.requested(user, since, machine=machine) < most:
            return ""
        return (
            f"You have asked for {most} plans within the last hour, which is the most. Please wait a while."
        )

    def demand_asking(self, user: str, channel: str) -> Actor:
        """The person, if they may ask for a plan there: not where other organisations read."""
        actor = self.demand(user, "request", None)
        if self.people.outside(channel, fresh=True):
            self.store.refuse(0, "request", user=user, reason=READ_BY_OTHERS)
            raise NotAllowed(READ_BY_OTHERS)
        return actor

    def machine(self, name: str, owner: str, *, fresh: bool = False) -> Actor:
        """A machine that asks in somebody's name: barred as they are, and without any right of theirs."""
        return replace(self.people.actor(owner, fresh=fresh), machine=name, groups=frozenset())

    def demand_machine(self, name: str, owner: str, verb: str, plan: PlanView | None = None) -> Actor:
        """The machine, if it may, and if the person behind it still might."""
        actor = self.machine(name, owner, fresh=True)
        answer = authorize(actor, verb, plan, self.config)
        if (
            answer == Allowed()
            and verb == "request"
            and plan is None
            and (why := self._too_many(owner, name))
        ):
            answer = Refused(why)
        if isinstance(answer, Refused):
            self.store.refuse(plan.id if plan else 0, verb, user=name, reason=answer.reason)
            raise NotAllowed(answer.reason)
        return actor

    def demand(self, user: str, verb: str, plan: PlanView | None) -> Actor:
        """The person, if they may; NotAllowed with the reason otherwise."""
        actor = self.people.actor(user, fresh=verb in DECIDING)
        answer = authorize(actor, verb, plan, self.config)
        decides = answer == Allowed() and verb in DECIDING
        if decides and plan and self.people.outside(plan.channel, fresh=True):
            answer = Refused(OUTSIDE)
        if decides and verb == "approve" and plan and (why := self._the_same(actor, plan)):
            answer = Refused(why)
        if answer == Allowed() and verb == "request" and (why := self._too_many(user)):
            answer = Refused(why)
        if isinstance(answer, Refused):
            self.store.refuse(plan.id if plan else 0, verb, user=user, reason=answer.reason)
            raise NotAllowed(answer.reason)
        return actor
