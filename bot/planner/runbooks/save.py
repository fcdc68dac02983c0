"""Save a plan as a runbook: its parameters become slots, and the runbook makes the same plan again."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from bot.planner.runbooks.book import parse
from bot.planner.validate import Catalogue
from storage.config import SignoffConfig
from storage.contract.capability import Check
from storage.contract.spec import Mandate, PlanSpec, StepSpec, UndoSpec
from storage.errors import InvalidPlan, Issue, SignoffError

VERSION = r"v?\d+(?:\.\d+){1,3}(?:[-+][0-9A-Za-z.-]+)?"
OWN_PATTERNS = frozenset({"", VERSION, r"\d{1,6}"})  # in the slots of what we write
NAME = re.compile(r"[a-z][a-z0-9-]{2,39}")


class Slots:
    """The facts of a plan that another time may be others, by the name of their slot."""

    def __init__(self, config: SignoffConfig) -> None:
        self.made: dict[str, dict[str, Any]] = {}
        self.values: dict[str, str] = {}
        self._inventory = config.inventory
        entries = [entry for table in config.inventory.values() for entry in table.values()]
        self._environments = {str(entry["environment"]) for entry in entries if "environment" in entry}

    def take(self, name: str, value: Any, names: Mapping[str, Any] | None) -> None:
        """Make a slot of a parameter, unless it is one already, a fact of one, or a part of the method."""
        found = self._kind(name, value, names)
        if found and self.put(name, value) == value:
            key = next(k for n in range(1, 100) if (k := name if n == 1 else f"{name}_{n}") not in self.made)
            self.made[key], self.values[key] = found, str(value)

    def put(self, name: str, value: Any) -> Any:
        """The parameter as it stands in the runbook: a slot, a fact of a slot, or itself."""
        if isinstance(value, bool) or not isinstance(value, str | int):
            return _literal(value)
        same = (key for key, said in self.values.items() if said == str(value) and _stem(key) == _stem(name))
        found = next(same, "") or (self._fact(value) if isinstance(value, str) else "")
        return f"{{{found}}}" if found else _literal(value)

    def words(self, text: str) -> str:
        """Prose with each value that has a slot replaced by it."""
        for name, value in sorted(self.values.items(), key=lambda pair: -len(pair[1])):
            text = re.sub(rf"(?<![\w.{{-]){re.escape(value)}(?![\w}}-]|\.\w)", f"{{{name}}}", text)
        return text

    def _kind(self, name: str, value: Any, names: Mapping[str, Any] | None) -> dict[str, Any]:
        """What kind of slot this parameter makes, if any; the rest of a plan is its method, and stays."""
        if isinstance(value, bool) or not isinstance(value, str | int):
            return {}
        if names is not None:
            table = next((key for key, found in self._inventory.items() if {*found} == {*names}), "")
            return {"inventory": table, "ask": f"Which {name}?"} if table else {}
        if isinstance(value, int):
            return {"number": True, "pattern": r"\d{1,6}", "ask": f"Which {name}?"}
        if name == "environment":
            return {"choices": sorted({*self._environments, value}), "ask": "In which environment?"}
        return {"pattern": VERSION, "ask": f"Which {name}?"} if re.fullmatch(VERSION, value) else {}

    def _fact(self, value: str) -> str:
        """`service.database`, when the inventory says that this value belongs to a slot's."""
        if not any(value in table for table in self._inventory.values()):
            return ""
        for name, said in self.values.items():
            entry = self._inventory.get(self.made[name].get("inventory", ""), {}).get(said, {})
            for field, found in entry.items():
                if found == value:
                    return f"{name}.{field}"
        return ""


def runbook(spec: PlanSpec, *, name: str, title: str, catalogue: Catalogue, config: SignoffConfig) -> str:
    """YAML that loads as a runbook, chosen by its own name: `/plan run <name> …`."""
    if not NAME.fullmatch(name):
        raise SignoffError("A runbook's name is lower-case letters, digits and hyphens, such as deploy-auth.")
    slots = Slots(config)
    _survey(spec, slots, catalogue)
    plan = _plan(spec, slots)
    said = " ".join(["run", name, *slots.values.values()])
    made = {
        "id": name, "title": title,
        "examples": [{"say": said, "slots": dict(slots.values)}],
        "never": [f"don't {said}"],
        "asks": {"also": [f"run {name}", f"start {name}"]},
        "slots": slots.made, "plan": plan,
    }  # fmt: skip
    text = yaml.safe_dump(made, sort_keys=False, allow_unicode=True, width=110)
    parse(f"{name}.yml", text)
    return text


def _survey(spec: PlanSpec, slots: Slots, catalogue: Catalogue) -> None:
    """Slots come from what changes something, if anything does; a test before it belongs to the method."""
    found = [(step, contract) for step in spec.steps if (contract := catalogue.find(step))]
    subject = [pair for pair in found if pair[1].changes] or found
    # Services first: the database that belongs to one is then a fact of it, and no slot of its own.
    for first in (True, False):
        for step, contract in subject:
            for name, value in step.parameters.items():
                if (name == "service") is first:
                    slots.take(name, value, contract.names.get(name))


def _plan(spec: PlanSpec, slots: Slots) -> dict[str, Any]:
    times = {(step.schedule.at, step.schedule.not_before) for step in spec.steps if _timed(step)}
    if len(times) > 1:
        raise InvalidPlan(
            [Issue("many_times", "steps", "the plan has more than one time; a runbook has one")]
        )
    parts: dict[str, Any] = {
        "goal": slots.words(_literal(spec.goal)),
        "steps": [_step(step, slots) for step in spec.steps],
    }
    if spec.rollback:
        parts["rollback"] = [_step(undo, slots) for undo in spec.rollback]
    if spec.done_when:
        parts["done_when"] = [
            check.model_dump(mode="json", exclude_defaults=True) for check in spec.done_when
        ]
    if spec.mandate != Mandate():
        parts["mandate"] = spec.mandate.model_dump(mode="json")
    return parts | ({"continues": True} if spec.continues else {})


def _step(step: StepSpec, slots: Slots) -> dict[str, Any]:
    parameters = {name: slots.put(name, value) for name, value in step.parameters.items()}
    made: dict[str, Any] = {"id": step.id, "worker": step.worker, "action": step.action}
    made |= {"undoes": step.undoes} if isinstance(step, UndoSpec) else {}
    made |= {"purpose": slots.words(_literal(step.purpose))} if step.purpose else {}
    made |= {"parameters": parameters, "depends_on": [*step.depends_on]}
    made |= {"success_criteria": [*_criteria(step)], "failure_action": step.failure_action}
    made |= {"retries": step.retries.model_dump(mode="json")}
    if _timed(step):
        made["schedule"] = {"at": "{when}"}
    elif step.schedule.window:
        made["schedule"] = {"window": step.schedule.window}
    return made


def _stem(name: str) -> str:
    """version, to_version and version_2 say the same kind of thing."""
    return re.sub(r"^to_|_\d+$", "", name)


def _timed(step: StepSpec) -> bool:
    return bool(not step.schedule.window and (step.schedule.at or step.schedule.not_before))


def _criteria(step: StepSpec) -> Iterator[Any]:
    """Checks that a criterion's name stands for become the name again."""
    said: set[str] = set()
    for check in step.success_criteria:
        if isinstance(check, Check) and not check.name:
            yield check.model_dump(mode="json", exclude_defaults=True)
        elif (name := check if isinstance(check, str) else check.name) not in said:
            said.add(name)
            yield name


def _literal(value: Any) -> Any:
    """A value that stays as it is; what looks like a slot would be taken for one."""
    if isinstance(value, str) and re.search(r"\{[\w.]+\}", value):
        raise InvalidPlan(
            [Issue("braces", "", f"“{value[:60]}” holds braces, which mark slots in a runbook")]
        )
    if isinstance(value, dict):
        return {key: _literal(inner) for key, inner in value.items()}
    return [*map(_literal, value)] if isinstance(value, list | tuple) else value
