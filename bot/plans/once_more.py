"""What a plan that ended offers: the same once more, or the way back. Each is a proposal like any other."""

from collections.abc import Mapping
from typing import Any

from bot.context import Bot
from bot.planner.prepare import prepare
from bot.policy.authorize import Actor, terms
from storage.contract.spec import PlanSpec, Schedule, StepSpec
from storage.contract.states import PlanState, StepState
from storage.errors import InvalidPlan, SignoffError
from storage.reading.plan_view import PlanView, StepView

PREVIOUS = "previous"  # in the parameters of an undo: what was there before, recorded at START
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


def way_back(view: PlanView) -> PlanSpec | None:
    """The last first, each to what was recorded before it; None where that cannot be said."""
    done = [step for step in view.steps if step.state == StepState.succeeded and step.changes]
    found = [inverse(view.spec, step) for step in reversed(done)] if view.spec and not _undone(view) else []
    steps = [step for step in found if step]
    if view.spec is None or not steps:
        return None
    chained = (
        step.model_copy(update={"depends_on": (steps[number - 1].id,) if number else ()})
        for number, step in enumerate(steps)
    )
    return PlanSpec(goal=f"Roll back: {view.spec.goal}"[:500], steps=tuple(chained))


def _undone(view: PlanView) -> bool:
    return any(step.undo for step in view.steps)


def inverse(spec: PlanSpec, step: StepView) -> StepSpec | None:
    """Its undo entry with what was recorded for “previous”; else the same action with the old values."""
    was = {name: value for name, value in step.previous.items() if value not in (None, "")}
    given = step.spec.parameters
    changed = {name for name in given if name in was}
    for undo in (undo for undo in spec.rollback if undo.undoes == step.spec.id):
        wanted = {
            name: name.removeprefix("to_") for name, value in undo.parameters.items() if value == PREVIOUS
        }
        if wanted and changed <= {*wanted.values()} <= was.keys():
            old = {name: was[source] for name, source in wanted.items()}
            return _step(undo, undo.parameters | old)
    old = {name: was[name] for name in changed}
    return _step(step.spec, given | old) if any(given[name] != value for name, value in old.items()) else None


def _step(like: StepSpec, parameters: Mapping[str, Any]) -> StepSpec:
    return StepSpec(id=like.id, worker=like.worker, action=like.action, parameters=dict(parameters))


def _ask(bot: Bot, actor: Actor, view: PlanView, text: str, draft: PlanSpec) -> int:
    catalogue, now = bot.catalogue(), bot.store.clock()
    spec = prepare(draft, catalogue, bot.config, now)
    asked = terms(spec, catalogue, bot.config, authors=(actor.user,), now=now)
    return bot.store.request_planned(
        text, spec, asked, team=actor.team, user=actor.user, channel=view.channel, thread=view.thread
    )
