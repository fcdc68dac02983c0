"""What a model is asked for in a trial, and what a right answer is. Judged by code alone."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

from bot.given_once import yaml_of
from bot.planner import evaluation
from bot.planner.decision import Decision, Progress, Verb
from bot.planner.evaluation import (
    HERE,
    NOW,
    Case,
    cases,
    config,
    contracts,
    forbidden,
    missing,
    offline,
    score,
)
from bot.planner.model.claude import Claude
from bot.planner.model.wire import Inquiry
from bot.planner.review.gate import unmet
from bot.planner.runbooks.book import Planned
from bot.planner.validate import Catalogue
from storage.config import Purpose
from storage.contract.capability import Document
from storage.contract.report import AnyReport
from storage.contract.spec import PlanSpec
from storage.contract.states import StepState
from storage.errors import BadConfig
from storage.reading.plan_view import StepView

Model = Callable[[Purpose], Claude]  # as signoff.toml wants it for a purpose
RUNGS: tuple[Verb, ...] = ("retry", "alternative", "simplify", "ask")
NEXT: tuple[Verb, ...] = ("amend", "ask")


class Change(Document):
    """A proposal, what somebody wants different, and what must stand in it then."""

    plan: str
    say: str
    must: tuple[str, ...]
    never: tuple[str, ...] = ()


class Failure(Document):
    """A plan of which one step failed, and the rungs that are right."""

    plan: str
    failed: str
    summary: str
    right: tuple[str, ...]
    alternatives: tuple[str, ...] = ()  # what policy lets stand in


class Investigation(Document):
    """A task that takes several rounds: what each action reports, and what must have run in the end."""

    say: str
    rounds: int
    reports: Mapping[str, dict[str, Any]]
    must: tuple[str, ...]


@dataclass(frozen=True)
class Task:
    """One thing to ask for; `ask` says what was wrong with the answer. ModelFailed passes through."""

    kind: str
    name: str
    ask: Callable[[Model], tuple[str, ...]]


def tasks() -> list[Task]:
    """Planning, clarifying, refusing, changing, reviewing, iterating."""
    changes = (Task("changing", f"{one.plan} / {one.say}", partial(_changed, one=one))
               for one in _read("changing", Change))  # fmt: skip
    failures = (Task("reviewing", f"{one.plan} / {one.summary}", partial(_reviewed, one=one))
                for one in _read("reviewing", Failure))  # fmt: skip
    rounds = (Task("iterating", one.say, partial(_iterated, one=one))
              for one in _read("iterating", Investigation))  # fmt: skip
    plans = (Task(_kind(case), case.say, partial(_planned, case=case)) for case in cases())
    return [*plans, *changes, *failures, *rounds]


@cache
def _read(name: str, form: type[Any]) -> tuple[Any, ...]:
    rows = yaml_of((HERE / "trials" / f"{name}.yml").read_text(encoding="utf-8"))
    return tuple(form.model_validate(row) for row in rows)


def _kind(case: Case) -> str:
    """By the first answer that is right."""
    return {"plan": "planning", "clarify": "clarifying", "refuse": "refusing"}[case.kinds()[0]]


def _planned(model: Model, case: Case) -> tuple[str, ...]:
    answer = evaluation.asked(model("plan"), case.say)
    return score(case, answer, Catalogue(contracts())).wrong


def _spec(text: str) -> PlanSpec:
    made = offline(text)
    if not isinstance(made, Planned):
        raise BadConfig(f"The trial's plan “{text}” cannot be made.")
    return made.spec


def _changed(model: Model, one: Change) -> tuple[str, ...]:
    made = model("change").revise(_spec(one.plan), one.say, contracts(), config(), NOW)
    if not isinstance(made, Planned):
        return (f"answered with {type(made).__name__.lower()}",)
    case = Case(say=one.say, answer="plan", must=one.must, may=("k8s-deployer.deploy_service", *one.must),
                never=one.never)  # fmt: skip
    return _called(case, made.spec)


def _called(case: Case, spec: PlanSpec) -> tuple[str, ...]:
    catalogue = Catalogue(contracts())
    lost = [text for text in missing(case, spec, catalogue) if not text.startswith("starts at")]
    return (*lost, *forbidden(case, spec, catalogue))


def _reviewed(model: Model, one: Failure) -> tuple[str, ...]:
    spec = _spec(one.plan)
    mandate = spec.mandate.model_copy(update={"alternatives": one.alternatives})
    spec = spec.model_copy(update={"mandate": mandate})
    report = AnyReport.failed(one.summary)
    done = [step.id for step in spec.steps][: [step.id for step in spec.steps].index(one.failed)]
    steps = {step.id: StepView(step) for step in spec.steps}
    steps |= {key: replace(steps[key], state=StepState.succeeded, attempt=1, report=AnyReport.ok("done", {}))
              for key in done}  # fmt: skip
    steps[one.failed] = replace(steps[one.failed], state=StepState.failed, attempt=1, report=report)
    now = Progress(spec, spec, steps, one.plan)
    found = model("review").advise(now, (), RUNGS, contracts(), config(), NOW)
    return () if found.verb in one.right else (f"answered with {found.verb}",)


def _iterated(model: Model, one: Investigation) -> tuple[str, ...]:
    """Plan, report, and go on, until it says that it is finished, and is."""
    made = evaluation.asked(model("plan"), one.say)
    if not isinstance(made, Planned) or isinstance(made, Inquiry):
        return (f"answered with {type(made).__name__.lower()}",)
    spec, history = made.spec, list[Decision]()
    for _ in range(one.rounds):
        now = Progress(spec, spec, _reported(spec, one.reports), one.say)
        said = model("review").advise(now, history, NEXT, contracts(), config(), NOW)
        history.append(said)
        if said.verb == "finish":
            case = Case(say=one.say, answer="plan", must=one.must)
            return (*unmet(now), *_called(case, spec))
        if said.verb != "amend" or said.spec is None:
            return (f"answered with {said.verb}",)
        spec = said.spec
    return (f"no answer after {one.rounds} rounds",)


def _reported(spec: PlanSpec, reports: Mapping[str, dict[str, Any]]) -> dict[str, StepView]:
    def view(key: str, call: str) -> StepView:
        report = AnyReport.ok("done", dict(reports.get(call, {})))
        return StepView(spec.find(key), StepState.succeeded, attempt=1, report=report)

    found: Iterable[tuple[str, str]] = ((s.id, f"{s.worker}.{s.action}") for s in spec.steps)
    return {key: view(key, call) for key, call in found}
