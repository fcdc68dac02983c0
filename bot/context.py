"""What every part of the bot is handed, and how it asks policy whether somebody may."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from bot.people import People
from bot.planner.decision import Decision, Progress, Verb
from bot.planner.model.usage import Usage
from bot.planner.model.wire import Asked, Declined
from bot.planner.runbooks.book import Planned, Runbook, usable
from bot.planner.validate import Catalogue
from bot.policy.authorize import Actor, Allowed, Refused, authorize
from bot.policy.totp import Safe
from storage.config import Freeze, SignoffConfig
from storage.contract.spec import PlanSpec
from storage.errors import NotAllowed
from storage.intention import Intention
from storage.reading.plan_view import PlanView

DECIDING = {"approve", "break_glass"}  # what lets something run: asked of Slack afresh
OUTSIDE = "This channel is shared with another organisation, so nothing is approved or changed from here."
# (the wish, what hears of the cost) → a plan, questions, or a refusal; ModelFailed when there is none of them
AskModel = Callable[[str, Callable[[str, Usage], None]], Planned | Asked | Declined]
# (the plan as it stands, what was decided before, the rungs left, what hears of the cost) → advice; the same
Advise = Callable[[Progress, Sequence[Decision], Sequence[Verb], Callable[[str, Usage], None]], Decision]
# (a proposal, what shall be different, what hears of the cost) → the plan as it is then; the same
Revise = Callable[[PlanSpec, str, Callable[[str, Usage], None]], Planned | Asked | Declined]


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

    def _too_many(self, user: str) -> str:
        most = self.config.policy.limits.plans_per_hour
        if not most or self.store.requested(user, self.store.clock() - timedelta(hours=1)) < most:
            return ""
        return (
            f"You have asked for {most} plans within the last hour, which is the most. Please wait a while."
        )

    def demand(self, user: str, verb: str, plan: PlanView | None) -> Actor:
        """The person, if they may; NotAllowed with the reason otherwise."""
        actor = self.people.actor(user, fresh=verb in DECIDING)
        answer = authorize(actor, verb, plan, self.config)
        if answer == Allowed() and verb in DECIDING and plan and self.people.outside(plan.channel):
            answer = Refused(OUTSIDE)
        if answer == Allowed() and verb == "request" and (why := self._too_many(user)):
            answer = Refused(why)
        if isinstance(answer, Refused):
            self.store.refuse(plan.id if plan else 0, verb, user=user, reason=answer.reason)
            raise NotAllowed(answer.reason)
        return actor
