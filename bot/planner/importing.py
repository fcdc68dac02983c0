"""Read a plan from JSON: our own form, and the well-known one with string criteria and named rollbacks."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from bot.given_once import GivenTwice, json_of
from bot.planner.validate import Catalogue
from storage.contract.spec import PlanSpec, StepSpec, UndoSpec
from storage.errors import InvalidPlan, Issue

COMPUTED = {
    "risk_level": "risk is computed from what the steps change, and where",
    "estimated_duration": "duration is computed from the actions' typical times",
    "plan_id": "plans are numbered by the database",
}
FAILURE = {"abort": "abort", "rollback": "rollback", "roll": "rollback", "continue": "continue", "ask": "ask",
           "escalate": "ask", "notify": "ask", "retry": "ask", "stop": "abort"}  # fmt: skip
STEP_COMPUTED = ("risk_level", "estimated_duration", "timeout")


def load(path: Path) -> Any:
    try:
        return json_of(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InvalidPlan([Issue("no_file", "", f"There is no file {path}.")]) from None
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidPlan([Issue("unreadable", "", f"{path} cannot be read: {error}")]) from None
    except GivenTwice as error:
        raise InvalidPlan([Issue("given_twice", "", f"{path} cannot be used: {error}.")]) from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise InvalidPlan([Issue("bad_json", place, f"{path} is not JSON: {error.msg}")]) from None


def read(raw: Any, catalogue: Catalogue) -> tuple[PlanSpec, list[str]]:
    """A plan document and notes on what was computed or understood otherwise."""
    if not isinstance(raw, dict):
        raise InvalidPlan([Issue("not_a_plan", "", "a plan is a JSON object with a goal and steps")])
    notes: list[str] = []
    try:
        spec = PlanSpec.model_validate(_normal(raw, notes))
    except ValidationError as error:
        raise InvalidPlan([_issue(dict(found)) for found in error.errors(include_url=False)]) from None
    return _with_rollbacks(spec, raw, catalogue, notes), notes


def _normal(raw: Mapping[str, Any], notes: list[str]) -> dict[str, Any]:
    notes += [f"{name}: ignored; {why}" for name, why in COMPUTED.items() if name in raw]
    known = {name: value for name, value in raw.items() if name in PlanSpec.model_fields}
    extra = raw.keys() - known.keys() - COMPUTED.keys() - {"rollback_plan"}
    known |= {name: raw[name] for name in extra}  # the document is closed: it will name these as unknown
    if isinstance(raw.get("steps"), list):
        known["steps"] = [_step(step, f"steps[{index}]", notes) for index, step in enumerate(raw["steps"])]
    return known


def _step(raw: Any, path: str, notes: list[str]) -> Any:
    if not isinstance(raw, dict):
        return raw
    step = {
        name: value for name, value in raw.items() if name not in {*STEP_COMPUTED, "rollback_plan", "step_id"}
    }
    notes += [f"{path}.{name}: ignored; it is computed" for name in STEP_COMPUTED if name in raw]
    step.setdefault("id", raw.get("step_id", ""))
    if isinstance(step.get("success_criteria"), str):
        step["success_criteria"] = ["_".join(step["success_criteria"].lower().split())]
    way = step.get("failure_action")
    if isinstance(way, str) and way not in {"ask", "abort", "rollback", "continue"}:
        step["failure_action"] = _failure(way)
        notes.append(f"{path}.failure_action: '{way}' is understood as '{step['failure_action']}'")
    return step


def _failure(way: str) -> str:
    words = re.split(r"[^a-z]+", way.lower())
    return next((FAILURE[word] for word in words if word in FAILURE), "ask")


def _with_rollbacks(
    spec: PlanSpec, raw: Mapping[str, Any], catalogue: Catalogue, notes: list[str]
) -> PlanSpec:
    """A rollback given only as a name becomes the undo that the step's worker offers."""
    named = {
        step.get("id") or step.get("step_id"): step.get("rollback_plan") for step in raw.get("steps", ())
    }
    whole = raw.get("rollback_plan")
    covered = {undo.undoes for undo in spec.rollback}
    made = []
    for step in spec.steps:
        name = named.get(step.id) or whole
        if name and step.id not in covered and (undo := _undo(step, catalogue)):
            made.append(undo)
            notes.append(f"rollback '{name}': {step.id} is undone by {undo.worker}.{undo.action}")
    if whole and not made and not covered:
        notes.append(f"rollback_plan: '{whole}' names nothing that a worker can undo; there is no rollback")
    return spec.model_copy(update={"rollback": (*spec.rollback, *made)})


def _undo(step: StepSpec, catalogue: Catalogue) -> UndoSpec | None:
    contract = catalogue.find(step)
    if contract is None or not contract.undo:
        return None
    draft = UndoSpec(id=f"undo-{step.id}"[:40], undoes=step.id, worker=contract.worker, action=contract.undo)
    offered = catalogue.find(draft)
    if offered is None:
        return None
    wanted = offered.parameters.get("properties", {})
    kept = {name: value for name, value in step.parameters.items() if name in wanted}
    previous = {"to_version": "previous"} if "to_version" in wanted else {}
    return draft.model_copy(update={"parameters": kept | previous})


def _issue(error: Mapping[str, Any]) -> Issue:
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error["loc"]).lstrip(".")
    return Issue(str(error["type"]), path, str(error["msg"]))
