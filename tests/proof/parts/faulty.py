"""The hundred faults as plans that met them, and a planner that knows the right answer to each."""

import json
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from bot.planner.decision import Decision, Progress, Verb
from bot.planner.evaluation import NOW, config
from bot.planner.model.advice import understood
from bot.planner.prepare import complete
from bot.planner.validate import Catalogue
from storage.config import SignoffConfig
from storage.contract.capability import Contract
from storage.contract.report import AnyReport, Fault
from storage.contract.spec import PlanSpec, StepSpec
from storage.contract.states import StepState
from storage.reading.plan_view import StepView
from tests.support.samples.catalogue import published

HERE = Path(__file__).parent / "faults"
FAMILIES = ("transient", "tool", "too_big", "unrecoverable")
# What these actions read goes nowhere: they work on it here.
INWARD = {
    ("data-processing", "process"): ("rows", "other", "pipeline"),
    ("summary", "summarise"): ("source", "text"),
}


@cache
def faults() -> dict[str, dict[str, Any]]:
    """By id, each with its family."""
    found = [
        row | {"family": name}
        for name in FAMILIES
        for row in yaml.safe_load((HERE / f"{name}.yml").read_text(encoding="utf-8"))
    ]
    return {row["id"]: row for row in found}


@cache
def policy() -> SignoffConfig:
    """The evaluation's, whose operator names what may stand in for what."""
    named = yaml.safe_load((HERE / "alternatives.yml").read_text(encoding="utf-8"))
    known = config()
    return known.model_copy(update={"policy": known.policy.model_copy(update={"alternatives": (*named,)})})


@cache
def offered() -> Catalogue:
    return Catalogue([_inward(contract) for contract in published()])


def _inward(contract: Contract) -> Contract:
    names = INWARD.get((contract.worker, contract.action), ())
    fields = contract.parameters["properties"]
    marked = {
        name: field | ({"from_output": True} if name in names else {}) for name, field in fields.items()
    }
    return contract.model_copy(update={"parameters": contract.parameters | {"properties": marked}})


def called(key: str, call: str, parameters: dict[str, Any], **fields: Any) -> StepSpec:
    worker, _, action = call.partition(".")
    return StepSpec(id=key, worker=worker, action=action, parameters=parameters, **fields)


def met(fault: dict[str, Any]) -> Progress:
    """A plan of two steps whose first one met the fault, three times over."""
    work = called("work", fault["call"], fault["with"])
    look = called("look", "http-check.check_http", {"endpoint": "auth-prod"}, depends_on=("work",))
    spec, issues = complete(PlanSpec(goal="get it done", steps=(work, look)), offered(), policy(), NOW)
    assert not issues, (fault["id"], issues)
    error = Fault(kind=fault["error"], message=fault["says"], after=fault.get("after"))
    report = AnyReport(status="failed", summary=fault["says"], error=error)
    failed = StepView(spec.steps[0], state=StepState.failed, attempt=3, report=report)
    return Progress(spec, spec, {"work": failed, "look": StepView(spec.steps[1])}, text="get it done")


def knowing(fault: dict[str, Any]) -> Callable[[Progress, Sequence[Decision], Sequence[Verb]], Decision]:
    """A planner that answers with the right rung, in the form of a model's answer."""

    def advise(now: Progress, history: Sequence[Decision], rungs: Sequence[Verb]) -> Decision:
        calls = fault.get("instead", [])
        verb = fault["rung"] if calls else "ask"
        said = {"verb": verb, "step": "work", "reason": fault["says"], "drop": [],
                "steps": [_wire(f"other-{n}", **one) for n, one in enumerate(calls)]}  # fmt: skip
        return understood(json.dumps(said), now, rungs, offered(), policy(), NOW)

    return advise


def _wire(key: str, *, call: str, **given: Any) -> dict[str, Any]:
    args = [
        {"name": name, "kind": "json", "value": json.dumps(value)} for name, value in given["with"].items()
    ]
    return {"id": key, "call": call, "purpose": "another way", "args": args, "depends_on": [], "window": "",
            "at": "", "criteria": [], "checks": [], "failure_action": "ask"}  # fmt: skip
