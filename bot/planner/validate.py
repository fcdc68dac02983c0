"""One validator for every plan from anywhere. People and the model read the same issues."""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any

from jsonschema import Draft202012Validator

from bot.look_alikes import odd_letters
from bot.untrusted import hidden
from storage.contract.capability import Check, Contract
from storage.contract.mandate import Allowance, allowance
from storage.contract.spec import PlanSpec, StepSpec, UndoSpec, reference
from storage.contract.stand_in import alternative
from storage.errors import Issue

MAX_STEPS = 200  # what people can still read


class Catalogue:
    """The published actions, found by worker name or alias."""

    def __init__(self, contracts: Sequence[Contract]) -> None:
        self._known = {
            (name, contract.action): contract
            for contract in contracts
            for name in (contract.worker, *contract.aliases)
        }
        self._hashes: dict[tuple[str, str], str] = {}

    def find(self, step: StepSpec | Allowance) -> Contract | None:
        return self._known.get((step.worker, step.action))

    def hash(self, contract: Contract) -> str:
        """Of what an action promises; remembered, since every plan asks for it."""
        key = (contract.worker, contract.action)
        if key not in self._hashes:
            self._hashes[key] = contract.hash()
        return self._hashes[key]

    def calls(self) -> set[tuple[str, str]]:
        """Every worker, by name and alias, with each action that it offers."""
        return {*self._known}

    def contracts(self) -> list[Contract]:
        return [found for (name, _), found in self._known.items() if name == found.worker]

    def workers(self) -> list[str]:
        return sorted({worker for worker, _ in self._known})

    def actions(self, worker: str) -> list[str]:
        return sorted(action for name, action in self._known if name == worker)


def validate(spec: PlanSpec, catalogue: Catalogue) -> list[Issue]:
    """Every problem of a plan, each with its place; none means it may be proposed."""
    return [*_shape(spec), *_order(spec), *_steps(spec, catalogue), *_goal(spec), *_mandate(spec, catalogue)]


def _shape(spec: PlanSpec) -> Iterator[Issue]:
    if not spec.goal.strip():
        yield Issue("no_goal", "goal", "a plan needs a goal")
    if not spec.steps:
        yield Issue("no_steps", "steps", "a plan needs at least one step")
    if len(spec.steps) > MAX_STEPS:
        yield Issue("too_many_steps", "steps", f"{len(spec.steps)} steps; at most {MAX_STEPS} are allowed")
    seen: set[str] = set()
    for path, step in _places(spec):
        if step.id in seen:
            yield Issue("duplicate_id", path, f"there is more than one step '{step.id}'")
        seen.add(step.id)


def _order(spec: PlanSpec) -> Iterator[Issue]:
    known = {step.id for step in spec.steps}
    for path, step in _places(spec):
        for need in (*step.depends_on, *([step.undoes] if isinstance(step, UndoSpec) else [])):
            if need not in known:
                yield Issue(
                    "unknown_step", f"{path}.depends_on", f"there is no step '{need}'{_near(need, known)}"
                )
    try:
        TopologicalSorter({step.id: step.depends_on for step in spec.steps}).prepare()
    except CycleError as error:
        circle = " → ".join(error.args[1])
        yield Issue("cycle", "steps", f"these steps wait for each other: {circle}")


def _goal(spec: PlanSpec) -> Iterator[Issue]:
    known = {step.id for step in spec.steps}
    for index, check in enumerate(spec.done_when):
        step, _, field = check.field.partition(".")
        if not field or (step not in known and not spec.continues):
            message = f"'{check.field}' must name a step of the plan and a field of its report, as step.field"
            yield Issue("unknown_field", f"done_when[{index}]", message)


def _mandate(spec: PlanSpec, catalogue: Catalogue) -> Iterator[Issue]:
    for index, text in enumerate(spec.mandate.alternatives):
        try:
            alternative(text)
        except ValueError as error:
            yield Issue("bad_mandate", f"mandate.alternatives[{index}]", str(error))
    for index, text in enumerate(spec.mandate.extra):
        path = f"mandate.extra[{index}]"
        try:
            found = allowance(text)
        except ValueError as error:
            yield Issue("bad_mandate", path, str(error))
            continue
        contract = catalogue.find(found)
        if contract is None:
            yield Issue("unknown_action", path, f"no worker offers {found.worker}.{found.action}")
        elif odd := found.bounds.keys() - contract.parameters.get("properties", {}).keys():
            yield Issue("bad_mandate", path, f"{found.action} has no parameter '{min(odd)}'")
        elif contract.drafts and not spec.mandate.max_worker_usd:
            message = f"{found.action} spends money, and max_worker_usd says how much: nothing"
            yield Issue("bad_mandate", path, message)


def _steps(spec: PlanSpec, catalogue: Catalogue) -> Iterator[Issue]:
    for path, step in _places(spec):
        contract = catalogue.find(step)
        if contract:
            yield from _parameters(path, step, contract, spec, catalogue)
            yield from _criteria(path, step, contract)
        else:
            yield _unknown(path, step, catalogue)


def _unknown(path: str, step: StepSpec, catalogue: Catalogue) -> Issue:
    workers = catalogue.workers()
    if step.worker not in workers:
        known = ", ".join(workers) or "none is connected"
        message = f"there is no worker '{step.worker}'{_near(step.worker, workers)}; known: {known}"
        return Issue("unknown_worker", f"{path}.worker", message)
    actions = catalogue.actions(step.worker)
    near, known = _near(step.action, actions), ", ".join(actions)
    return Issue(
        "unknown_action",
        f"{path}.action",
        f"{step.worker} has no action '{step.action}'{near}; it has: {known}",
    )


def _parameters(
    path: str, step: StepSpec, contract: Contract, spec: PlanSpec, catalogue: Catalogue
) -> Iterator[Issue]:
    literal = {}
    for name, value in step.parameters.items():
        if found := reference(value):
            yield from _reference(f"{path}.parameters.{name}", step, contract, found, spec, catalogue)
            yield from _reference_type(f"{path}.parameters.{name}", name, contract, found, spec, catalogue)
        else:
            literal[name] = value
    yield from _look_alikes(f"{path}.parameters", literal)
    referred = step.parameters.keys() - literal.keys()
    schema = contract.parameters | {"required": [*set(contract.parameters.get("required", ())) - referred]}
    for error in Draft202012Validator(schema).iter_errors(literal):
        place = ".".join([path, "parameters", *map(str, error.absolute_path)])
        told = f"{error.instance!r} cannot be used here" if error.validator == "anyOf" else error.message
        yield Issue("bad_parameter", place, told)
    for name, known in contract.names.items():
        value = literal.get(name)
        usual = contract.parameters.get("properties", {}).get(name, {}).get("default")
        if isinstance(value, str) and value not in known and value != usual:
            message = (
                f"'{value}' is not in the inventory{_near(value, known)}; known: {', '.join(sorted(known))}"
            )
            yield Issue("not_in_inventory", f"{path}.parameters.{name}", message)


def _look_alikes(path: str, value: Any) -> Iterator[Issue]:
    """What is handed to a worker must be what people read: nothing unseen, no letter posing as another."""
    if isinstance(value, str) and (unseen := hidden(value)):
        points = ", ".join(f"U+{ord(ch):04X}" for ch in unseen[:3])
        yield Issue("invisible", path, f"{value!r} holds what nobody can see: {points}")
    elif isinstance(value, str) and (odd := [*odd_letters(value)]):
        yield Issue("look_alike", path, f"{value!r} has letters that look like others: {'; '.join(odd[:3])}")
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in inner:
        yield from _look_alikes(f"{path}.{name}", name)
        yield from _look_alikes(f"{path}.{name}", part)


def _reference(
    path: str,
    step: StepSpec,
    contract: Contract,
    found: tuple[str, str],
    spec: PlanSpec,
    catalogue: Catalogue,
) -> Iterator[Issue]:
    source = next((other for other in spec.steps if other.id == found[0]), None)
    offered = catalogue.find(source) if source else None
    if not contract.reads and not _open(contract, path.rpartition(".")[2]):
        yield Issue(
            "tainted",
            path,
            "a step that changes or drafts something takes no value from another step's report",
        )
    if source is None or found[0] not in step.depends_on:
        yield Issue("bad_reference", path, f"'{found[0]}' is not a step that {step.id} depends on")
    elif offered and found[1] not in offered.data.get("properties", {}):
        yield Issue("bad_reference", path, f"{source.worker}.{source.action} reports no '{found[1]}'")


def _reference_type(
    path: str, name: str, contract: Contract, found: tuple[str, str], spec: PlanSpec, catalogue: Catalogue
) -> Iterator[Issue]:
    source = next((other for other in spec.steps if other.id == found[0]), None)
    offered = catalogue.find(source) if source else None
    given = _type(offered.data, found[1]) if offered else None
    wanted = _type(contract.parameters, name)
    if given and wanted and given != wanted:
        yield Issue("bad_reference", path, f"'{found[1]}' is of the type {given}, and {name} takes {wanted}")


def _open(contract: Contract, name: str) -> bool:
    """Whether the action itself declares that this parameter may come from a report."""
    return bool(contract.parameters.get("properties", {}).get(name, {}).get("from_output"))


def _type(schema: Mapping[str, Any], name: str) -> str | None:
    """The JSON type of a field, where its schema says one."""
    said = schema.get("properties", {}).get(name, {}).get("type")
    return said if isinstance(said, str) else None


def _criteria(path: str, step: StepSpec, contract: Contract) -> Iterator[Issue]:
    fields = contract.data.get("properties", {})
    for index, criterion in enumerate(step.success_criteria):
        place = f"{path}.success_criteria[{index}]"
        if isinstance(criterion, str):
            known = ", ".join(contract.criteria) or "none"
            yield Issue(
                "unknown_criterion", place, f"{step.action} knows no criterion '{criterion}'; known: {known}"
            )
        elif fields and criterion.field.partition(".")[0] not in fields:
            yield Issue("unknown_field", place, f"{step.action} reports no field '{criterion.field}'")


def _places(spec: PlanSpec) -> Iterator[tuple[str, StepSpec]]:
    for index, step in enumerate(spec.steps):
        yield f"steps[{index}]", step
    for index, undo in enumerate(spec.rollback):
        yield f"rollback[{index}]", undo


def _near(word: str, known: Sequence[str] | Mapping[str, Any] | set[str]) -> str:
    close = difflib.get_close_matches(word, [*known], n=1)
    return f" (did you mean '{close[0]}'?)" if close else ""


def named_checks(step: StepSpec, contract: Contract) -> tuple[Check | str, ...]:
    """Criteria with each published name replaced by its checks; unknown names stay, and are an issue."""
    found: list[Check | str] = []
    for criterion in step.success_criteria:
        if isinstance(criterion, str) and criterion in contract.criteria:
            found += [check.model_copy(update={"name": criterion}) for check in contract.criteria[criterion]]
        else:
            found.append(criterion)
    return tuple(found)
