"""Put steps in the place of one that came to nothing, and lead what waited for it past it. Pure."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from bot.planner.validate import Catalogue
from storage.contract.mandate import QUIET
from storage.contract.spec import PlanSpec, StepSpec, reference
from storage.contract.states import dependents


def rerouted(
    spec: PlanSpec, lost: str, instead: Sequence[StepSpec], catalogue: Catalogue, taken: Collection[str] = ()
) -> PlanSpec:
    """The plan with `instead` where `lost` was. Reads behind it get new names: theirs are approved steps."""
    behind = dependents(spec, {lost})
    known = {step.id for step in spec.steps} | {step.id for step in instead} | set(taken)
    renamed: dict[str, str] = {}
    for key in (step.id for step in spec.steps if step.id in behind and _reads(step, catalogue)):
        renamed[key] = fresh(key, known | {*renamed.values()})
    followers = [_led(spec.find(s.id), lost, instead, renamed) for s in spec.steps if s.id in behind]
    kept = [s for s in spec.steps if s.id not in behind and (s.id != lost or not _reads(s, catalogue))]
    return spec.model_copy(update={"steps": (*kept, *instead, *followers)})


def fresh(key: str, taken: Collection[str]) -> str:
    """A name like this one that nobody has yet."""
    stem, _, number = key.rpartition("-")
    stem = stem if stem and number.isdigit() else key
    return next(name for n in range(2, 1000) if (name := f"{stem[:36]}-{n}") not in taken)


def elsewhere(step: StepSpec, catalogue: Catalogue, taken: Collection[str]) -> StepSpec | None:
    """The same call of another worker that offers it, or None."""
    for worker in catalogue.workers():
        other = step.model_copy(update={"worker": worker, "id": fresh(step.id, taken)})
        contract = catalogue.find(other)
        if contract and contract.worker == worker != step.worker and contract.action == step.action:
            bound = {"contract": contract.hash(), "binding": contract.binding(step.parameters)}
            return quiet(other.model_copy(update=bound))
    return None


def quiet(step: StepSpec) -> StepSpec:
    """A step that is added while the plan runs does not end it by failing."""
    return step if step.failure_action in QUIET else step.model_copy(update={"failure_action": "ask"})


def _led(step: StepSpec, lost: str, instead: Sequence[StepSpec], renamed: Mapping[str, str]) -> StepSpec:
    """A step that waited for the lost one now waits for all that stand in its place."""
    needs: list[str] = []
    for need in step.depends_on:
        needs += [new.id for new in instead] if need == lost else [renamed.get(need, need)]
    last = {lost: instead[-1].id} if instead else {}
    parameters = {name: _pointed(value, {**renamed, **last}) for name, value in step.parameters.items()}
    named = {"id": renamed.get(step.id, step.id), "depends_on": tuple(dict.fromkeys(needs))}
    led = step.model_copy(update=named | {"parameters": parameters})
    return quiet(led) if step.id in renamed else led


def _pointed(value: Any, moved: Mapping[str, str]) -> Any:
    found = reference(value)
    return {"from": f"{moved[found[0]]}.{found[1]}"} if found and found[0] in moved else value


def _reads(step: StepSpec, catalogue: Catalogue) -> bool:
    contract = catalogue.find(step)
    return contract is not None and contract.reads
