"""Changes that people make to a proposed plan, each a new document. Pure; `prepare` checks what comes out."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar

from storage.contract.capability import Document
from storage.contract.spec import FailureAction, PlanSpec, Schedule, StepSpec, reference
from storage.errors import SignoffError

Doc = TypeVar("Doc", bound=Document)
Step = TypeVar("Step", bound=StepSpec)
SHORTEST = 3  # characters of a value that is followed into the words of a plan


def timed(spec: PlanSpec, keys: Collection[str], words: str) -> PlanSpec:
    """These steps start when the words say; "now" is at once."""
    when = Schedule(at="" if words == "now" else words)
    return _each(spec, lambda step: _with(step, schedule=when) if step.id in keys else step)


def whole(spec: PlanSpec) -> list[str]:
    """The steps whose time is the time of the whole plan: the others follow them."""
    return [step.id for step in spec.steps if not step.depends_on or step.schedule.not_before]


def valued(spec: PlanSpec, key: str, name: str, value: Any) -> PlanSpec:
    """Another value for a parameter. What undoes the step follows, and so do the words that named it."""
    old = spec.find(key).parameters.get(name)
    undos = tuple(
        _given(undo, name, value) if undo.undoes == key and undo.parameters.get(name) == old else undo
        for undo in spec.rollback
    )
    made = _each(spec, lambda step: _said(_given(step, name, value), old, value) if step.id == key else step)
    return _said(made.model_copy(update={"rollback": undos}), old, value, "goal")


def unvalued(spec: PlanSpec, key: str, name: str) -> PlanSpec:
    """Say nothing about a parameter: the action's own default holds."""
    kept = {given: value for given, value in spec.find(key).parameters.items() if given != name}
    return _each(spec, lambda step: _with(step, parameters=kept) if step.id == key else step)


def failing(spec: PlanSpec, key: str, action: FailureAction) -> PlanSpec:
    """Another thing happens if this step fails."""
    return _each(spec, lambda step: _with(step, failure_action=action) if step.id == key else step)


def without(spec: PlanSpec, key: str) -> PlanSpec:
    """Leave a step out: what waited for it waits for what it waited for, and nothing undoes it."""
    if len(spec.steps) == 1:
        raise SignoffError("A plan needs at least one step. To stop it, please reject it.")
    gone = spec.find(key)
    undos = tuple(undo for undo in spec.rollback if undo.undoes != key)
    kept = spec.model_copy(update={"steps": tuple(s for s in spec.steps if s.id != key)})
    return _each(kept.model_copy(update={"rollback": undos}), lambda step: _bridged(step, gone))


def placed(spec: PlanSpec, order: Sequence[str]) -> PlanSpec:
    """The same steps in another order. The shape stays: each takes over what its new place waits for."""
    taker = {old.id: new for old, new in zip(spec.steps, order, strict=True)}
    moved = [
        _with(spec.find(taker[place.id]), depends_on=tuple(taker[need] for need in place.depends_on))
        for place in spec.steps
    ]
    return spec.model_copy(update={"steps": tuple(moved)})


def joined(spec: PlanSpec, more: PlanSpec) -> PlanSpec:
    """Another plan behind this one: it starts when all of this one is done."""
    taken = {step.id for step in (*spec.steps, *spec.rollback)}
    names = {step.id: _free(step.id, taken) for step in (*more.steps, *more.rollback)}
    needed = {need for step in spec.steps for need in step.depends_on}
    last = tuple(step.id for step in spec.steps if step.id not in needed)
    steps = [_renamed(step, names) for step in more.steps]
    steps = [step if step.depends_on else _with(step, depends_on=last) for step in steps]
    undos = [
        _renamed(undo, names).model_copy(update={"undoes": names[undo.undoes]}) for undo in more.rollback
    ]
    told = {"goal": f"{spec.goal}; then: {more.goal}", "rollback": (*spec.rollback, *undos)}
    return spec.model_copy(update={"steps": (*spec.steps, *steps), **told})


def _bridged(step: StepSpec, gone: StepSpec) -> StepSpec:
    if gone.id not in step.depends_on:
        return step
    needs = [n for need in step.depends_on for n in (gone.depends_on if need == gone.id else (need,))]
    return _with(step, depends_on=tuple(dict.fromkeys(needs)))


def _renamed(step: Step, names: Mapping[str, str]) -> Step:
    values = {name: _refers(value, names) for name, value in step.parameters.items()}
    needs = tuple(names[need] for need in step.depends_on)
    return _with(step, id=names[step.id], parameters=values, depends_on=needs)


def _refers(value: Any, names: Mapping[str, str]) -> Any:
    found = reference(value)
    return {"from": f"{names.get(found[0], found[0])}.{found[1]}"} if found else value


def _free(name: str, taken: set[str]) -> str:
    """This name, or the next one of its kind that is free; it is taken from now on."""
    number, found = 1, name
    while found in taken:
        number += 1
        found = f"{name[:36]}-{number}"
    taken.add(found)
    return found


def _given(step: Step, name: str, value: Any) -> Step:
    return _with(step, parameters={**step.parameters, name: value})


def _said(document: Doc, old: Any, new: Any, field: str = "purpose") -> Doc:
    """Prose that named the old value names the new one: a card must not say what no longer holds."""
    if not isinstance(old, str) or not isinstance(new, str) or len(old) < SHORTEST:
        return document
    return document.model_copy(update={field: getattr(document, field).replace(old, new)})


def _each(spec: PlanSpec, change: Callable[[StepSpec], StepSpec]) -> PlanSpec:
    return spec.model_copy(update={"steps": tuple(change(step) for step in spec.steps)})


def _with(step: Step, **fields: Any) -> Step:
    return step.model_copy(update=fields)
