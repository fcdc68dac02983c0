"""A proposal in the form of a model's answer, and such an answer as a change of that proposal. Pure."""

import json
from typing import Any

from pydantic import JsonValue

from bot.planner.model.prompt import plain
from storage.contract.capability import Check
from storage.contract.spec import PlanSpec, StepSpec, UndoSpec, reference, utc


def shown(spec: PlanSpec) -> dict[str, Any]:
    """The plan as the model would have answered it."""
    undos = [_call(undo) | {"undoes": undo.undoes} for undo in spec.rollback]
    return {"goal": plain(spec.goal), "steps": [_step(step) for step in spec.steps], "rollback": undos}


def merged(old: PlanSpec, new: PlanSpec) -> PlanSpec:
    """What the answer left as it was stays byte for byte; mandate and checks are not the model's to say."""
    steps, undos = {step.id: step for step in old.steps}, {undo.id: undo for undo in old.rollback}
    return old.model_copy(
        update={
            "goal": old.goal if new.goal == plain(old.goal) else new.goal,
            "steps": tuple(_kept(steps.get(step.id), step) for step in new.steps),
            "rollback": tuple(_same_undo(undos.get(undo.id), undo) for undo in new.rollback),
        }
    )


def _kept(old: StepSpec | None, new: StepSpec) -> StepSpec:
    """The old step with what was said anew: an answer has no words for the rest of it."""
    if old is None or (old.worker, old.action) != (new.worker, new.action):
        return new
    was, is_ = _step(old), _step(new)
    parts = {"purpose": ("purpose",), "parameters": ("args",), "depends_on": ("depends_on",),
             "schedule": ("window", "at"), "success_criteria": ("criteria", "checks"),
             "failure_action": ("failure_action",)}  # fmt: skip
    changed = [part for part, words in parts.items() if any(was[word] != is_[word] for word in words)]
    return old.model_copy(update={part: getattr(new, part) for part in changed})


def _same_undo(old: UndoSpec | None, new: UndoSpec) -> UndoSpec:
    return old if old and old.undoes == new.undoes and _call(old) == _call(new) else new


def _step(step: StepSpec) -> dict[str, Any]:
    schedule, criteria = step.schedule, step.success_criteria
    instant = utc(schedule.not_before) if schedule.not_before else ""
    names = dict.fromkeys(c if isinstance(c, str) else c.name for c in criteria)
    return _call(step) | {
        "depends_on": [*step.depends_on], "window": schedule.window,
        "at": "" if schedule.window else schedule.at or instant, "criteria": [*filter(None, names)],
        "checks": [_check(c) for c in criteria if isinstance(c, Check) and not c.name],
        "failure_action": step.failure_action,
    }  # fmt: skip


def _call(step: StepSpec) -> dict[str, Any]:
    args = [{"name": name, **_value(value)} for name, value in sorted(step.parameters.items())]
    call = f"{step.worker}.{step.action}"
    return {"id": step.id, "call": call, "purpose": plain(step.purpose), "args": args}


def _check(check: Check) -> dict[str, Any]:
    return {"field": check.field, "op": check.op, **_value(check.value)}


def _value(value: JsonValue) -> dict[str, str]:
    if found := reference(value):
        return {"kind": "ref", "value": ".".join(found)}
    if isinstance(value, str):
        return {"kind": "text", "value": value}
    return {"kind": "json", "value": json.dumps(value)}
