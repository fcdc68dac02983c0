"""The way back from what a plan has done: a plan of its own, of what was on record before each step. Pure."""

from collections.abc import Mapping
from typing import Any

from storage.contract.spec import PlanSpec, StepSpec
from storage.contract.states import StepState
from storage.reading.plan_view import PlanView, StepView

PREVIOUS = "previous"  # in the parameters of an undo: what was there before, recorded at START


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
