"""What a plan that ended offers: the same once more, or the way back. Each is a proposal like any other."""

from bot.context import Bot
from bot.planner.edits.way_back import way_back
from bot.planner.prepare import prepare
from bot.policy.authorize import Actor, terms
from storage.contract.spec import PlanSpec, Schedule, StepSpec
from storage.contract.states import PlanState
from storage.errors import InvalidPlan, SignoffError
from storage.reading.plan_view import PlanView

NO_WAY = (
    "I do not know how to take this back: nothing of it is left to undo, or what was before is not known."
)


def propose_again(bot: Bot, user: str, view: PlanView) -> int:
    """The same effects, asked for by whoever says so, to be approved anew."""
    actor = bot.demand_asking(user, view.channel)
    if view.spec is None or view.state in {PlanState.planning, PlanState.approved}:
        raise SignoffError("There is nothing to do again yet.")
    try:
        return _ask(bot, actor, view, view.text, said_again(view.spec))
    except InvalidPlan:  # its words name a time that has passed: then it starts on approval
        return _ask(bot, actor, view, view.text, said_again(view.spec, timed=False))


def propose_back(bot: Bot, user: str, view: PlanView) -> int:
    """Undo what it did, as a plan of its own."""
    actor, back = bot.demand_asking(user, view.channel), way_back(view)
    if back is None:
        raise SignoffError(NO_WAY)
    return _ask(bot, actor, view, f"roll back plan {view.id}", back)


def said_again(spec: PlanSpec, *, timed: bool = True) -> PlanSpec:
    """The plan as it was meant: words for times are read anew, instants are of the past."""

    def fresh(step: StepSpec) -> StepSpec:
        when = step.schedule
        words = Schedule(window=when.window, at="" if when.window else when.at) if timed else Schedule()
        return step.model_copy(update={"schedule": words})

    return spec.model_copy(update={"steps": tuple(map(fresh, spec.steps))})


def _ask(bot: Bot, actor: Actor, view: PlanView, text: str, draft: PlanSpec) -> int:
    catalogue, now = bot.catalogue(), bot.store.clock()
    spec = prepare(draft, catalogue, bot.config, now)
    asked = terms(spec, catalogue, bot.config, authors=(actor.user,), now=now)
    return bot.store.request_planned(
        text, spec, asked, team=actor.team, user=actor.user, channel=view.channel, thread=view.thread
    )
