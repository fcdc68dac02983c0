"""What a model is shown of a plan that runs, and what it may advise. A draft; the gate decides."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from bot.planner.decision import Decision, Progress, Verb
from bot.planner.edits.reroute import quiet, rerouted
from bot.planner.model.prompt import plain
from bot.planner.model.texts import Prose, Word
from bot.planner.model.wire import Step, drawn, read
from bot.planner.prepare import complete
from bot.planner.validate import Catalogue
from storage.config import SignoffConfig
from storage.contract.capability import Document
from storage.contract.spec import PlanSpec, StepSpec
from storage.contract.stand_in import same_kind
from storage.contract.states import StepState
from storage.errors import InvalidPlan, Issue
from storage.reading.plan_view import StepView

# How much is shown of one report: fields and entries of a list, characters of one value. Less, then least.
DETAILS = ((30, 200), (8, 80), (0, 0))
EARLIER = 10  # decisions


class Next(Document):
    """How the plan goes on. `steps` stand in the place of `step`; `drop` are pending steps to leave out."""

    verb: Literal["continue", "retry", "alternative", "simplify", "amend", "ask", "finish", "abort"]
    step: Word
    reason: Prose
    steps: list[Step]
    drop: list[Word]


def shown(
    now: Progress,
    history: Sequence[Decision],
    rungs: Sequence[Verb],
    detail: tuple[int, int] = DETAILS[0],
) -> dict[str, Any]:
    """The state that is handed on: bounded, and whatever a worker wrote is a value in it."""
    return {
        "request": plain(now.text, 1000),
        "goal": plain(now.spec.goal),
        "guidance": plain(now.guidance, 1000),
        "failed_before": [plain(failure) for failure in now.failures[-EARLIER:]],
        "steps": [_step(step, now.steps.get(step.id), detail) for step in now.spec.steps],
        "alternatives": [*now.approved.mandate.alternatives],
        "goal_checks": [f"{check.field} {check.op} {check.value}" for check in now.spec.done_when],
        "decided_before": [
            {"verb": one.verb, "step": one.step, "reason": plain(one.reason)} for one in history[-EARLIER:]
        ],
        "may_answer": [*rungs, "finish", "abort"],
    }


def understood(
    said: str, now: Progress, rungs: Sequence[Verb], catalogue: Catalogue, config: SignoffConfig, at: datetime
) -> Decision:
    """The advice as a decision about the whole plan; InvalidPlan names everything that is wrong with it."""
    found = _about(read(said, Next), now)
    if found.verb not in {*rungs, "finish", "abort"}:
        left = ", ".join(rungs)
        raise InvalidPlan([Issue("not_left", "verb", f"'{found.verb}' is not left; left: {left}")])
    spec = None
    if found.verb in {"alternative", "simplify", "amend"}:
        spec = _revised(found, now, catalogue, config, at)
    return Decision(verb=found.verb, step=found.step, reason=found.reason, spec=spec, source="model")


def _about(found: Next, now: Progress) -> Next:
    """A rung without a step is about the one step that failed, where only one has."""
    lost = [step.id for step in now.spec.steps if now.state(step.id) == StepState.failed]
    alone = not found.step and found.verb in {"retry", "alternative", "simplify"} and len(lost) == 1
    return found.model_copy(update={"step": lost[0]}) if alone else found


def _revised(
    found: Next, now: Progress, catalogue: Catalogue, config: SignoffConfig, at: datetime
) -> PlanSpec:
    """The approved goal, mandate, checks and rollback stay: only steps are the model's to say."""
    added = [quiet(step) for step in drawn(now.spec.goal, found.steps).steps]
    _known(found, added, now)
    taken = {*now.steps, *(step.id for step in now.spec.steps)}
    spec = rerouted(now.spec, found.step, added, catalogue, taken) if found.step else _behind(now.spec, added)
    kept = tuple(step for step in spec.steps if step.id not in found.drop)
    whole, issues = complete(spec.model_copy(update={"steps": kept}), catalogue, config, at)
    if issues:
        raise InvalidPlan(issues)
    return _as_stood(_meeting(whole, found.step, now) if found.step else whole, now)


def _meeting(whole: PlanSpec, lost: str, now: Progress) -> PlanSpec:
    """What stands in for a step has its checks to pass, whatever the model wrote, and asks when it fails."""
    missed, known = now.spec.find(lost), {step.id for step in now.spec.steps}
    mandate = now.approved.mandate
    return whole.model_copy(
        update={
            "steps": tuple(
                step if step.id in known or not same_kind(mandate, missed, step) else _checked(step, missed)
                for step in whole.steps
            )
        }
    )


def _checked(step: StepSpec, lost: StepSpec) -> StepSpec:
    more = tuple(check for check in lost.success_criteria if check not in step.success_criteria)
    return step.model_copy(
        update={"success_criteria": (*step.success_criteria, *more), "failure_action": "ask"}
    )


def _known(found: Next, added: Sequence[StepSpec], now: Progress) -> None:
    issues = []
    if not added and not found.drop:
        issues.append(Issue("no_steps", "steps", f"to {found.verb} needs steps, or steps to drop"))
    for index, step in enumerate(added):
        if step.id in now.steps or any(step.id == known.id for known in now.spec.steps):
            issues.append(Issue("duplicate_id", f"steps[{index}].id", f"'{step.id}' is taken; use a new id"))
    if found.step and all(found.step != step.id for step in now.spec.steps):
        issues.append(Issue("unknown_step", "step", f"there is no step '{found.step}'"))
    if issues:
        raise InvalidPlan(issues)


def _behind(spec: PlanSpec, added: Sequence[StepSpec]) -> PlanSpec:
    return spec.model_copy(update={"steps": (*spec.steps, *added)})


def _as_stood(whole: PlanSpec, now: Progress) -> PlanSpec:
    """A step that is there already stays byte for byte what was approved; filling it in anew could differ."""
    old = {step.id: step for step in now.spec.steps}
    steps = tuple(_same(old.get(step.id), step) for step in whole.steps)
    return now.spec.model_copy(update={"steps": steps})


def _same(old: StepSpec | None, new: StepSpec) -> StepSpec:
    return old if old is not None and old.depends_on == new.depends_on else new


def _step(step: StepSpec, fared: StepView | None, detail: tuple[int, int]) -> dict[str, Any]:
    seen: dict[str, Any] = {
        "id": step.id, "call": f"{step.worker}.{step.action}", "parameters": bounded(step.parameters),
        "depends_on": [*step.depends_on], "state": str(fared.state) if fared else "pending",
    }  # fmt: skip
    if fared is None or fared.report is None:
        return seen
    report = fared.report
    error = {"kind": report.error.kind} if report.error else {}
    advice = [plain(text) for text in report.recommendations[:3]]
    said = {"attempts": fared.attempt, "summary": plain(report.summary), "recommends": advice}
    return seen | said | {"error": error, "data": bounded(report.data or {}, detail)}


def bounded(value: Any, detail: tuple[int, int] = DETAILS[0]) -> Any:
    """What a worker reported, cut to what is shown: keys and values in one line each."""
    most, longest = detail
    if isinstance(value, str):
        return plain(value, longest)
    if isinstance(value, Mapping):
        return {plain(str(key), 60): bounded(inner, detail) for key, inner in [*value.items()][:most]}
    if isinstance(value, list | tuple):
        return [bounded(inner, detail) for inner in value[:most]]
    return value
