"""What a model may answer, and what it means: a plan, questions, a refusal, issues. A draft, never more."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeVar

from pydantic import Field as Default
from pydantic import ValidationError

from bot.given_once import GivenTwice, json_of
from bot.planner.model.prompt import plain
from bot.planner.model.texts import WORD, Prose, Text, Word
from bot.planner.prepare import complete
from bot.planner.runbooks.book import Planned
from bot.planner.runbooks.questions import Field, Offer
from bot.planner.validate import Catalogue
from bot.untrusted import inert
from storage.config import SignoffConfig
from storage.contract.capability import Check, Contract, Document
from storage.contract.spec import PlanSpec, StepSpec
from storage.errors import InvalidPlan, Issue

LONGEST = 100_000  # characters of one answer
Form = TypeVar("Form", bound=Document)
MAX_ENUM = 100  # a larger one may make the compiled grammar too large for the API
MAX_QUESTIONS = 5
MAX_LOOKS = 3
MAX_OPTIONS = 50


@dataclass(frozen=True)
class Asked:
    """The model needs these facts before it can plan: the fields of one form."""

    fields: tuple[Field, ...]

    @property
    def questions(self) -> tuple[str, ...]:
        return tuple(field.label for field in self.fields)


@dataclass(frozen=True)
class Inquiry:
    """What the model wants to look at before it plans: calls with their parameters."""

    looks: tuple[StepSpec, ...]


@dataclass(frozen=True)
class Declined:
    """Why this does not become a plan, and what may be meant instead."""

    reason: str
    offers: tuple[Offer, ...] = ()


class Arg(Document):
    """One parameter. text: a string as it is; json: any other JSON value; ref: step.field of a report."""

    name: Word
    kind: Literal["text", "json", "ref"]
    value: Text


class FieldCheck(Document):
    """A question to the step's report: a result field, compared with a text or a JSON value."""

    field: Word
    op: Literal["eq", "ne", "lt", "le", "gt", "ge", "exists", "contains"]
    kind: Literal["text", "json"]
    value: Text


class Step(Document):
    """One call of one action of the catalogue. Without window and at it runs as soon as it can."""

    id: Word
    call: Word
    purpose: Prose
    args: list[Arg]
    depends_on: list[Word]
    window: Word
    at: Word
    criteria: list[Word]
    checks: list[FieldCheck]
    failure_action: Literal["ask", "abort", "rollback", "continue"]


class Undo(Document):
    """How one step is undone if the plan is rolled back."""

    id: Word
    undoes: Word
    call: Word
    purpose: Prose
    args: list[Arg]


class Question(Document):
    """One missing fact. choice: one of the options; the other kinds have none."""

    name: Word
    ask: Prose
    kind: Literal["choice", "number", "text", "time"]
    options: list[Word]


class Look(Document):
    """One read that is made before there is a plan: an action that may be looked at."""

    call: Word
    args: list[Arg]


class Draft(Document):
    """A plan, a wish to look first, questions or a refusal. What the kind does not need stays empty."""

    kind: Literal["plan", "look", "clarify", "refuse"]
    goal: Prose
    assumptions: list[Prose]
    questions: list[Question]
    reason: Prose
    steps: list[Step]
    rollback: list[Undo]
    continues: bool
    looks: list[Look] = Default(default_factory=list)
    done_when: list[FieldCheck] = Default(default_factory=list)


def schema(contracts: Sequence[Contract], form: type[Document] = Draft) -> dict[str, Any]:
    """The fixed form of an answer; the actions that exist are part of its grammar while they are few."""
    made = form.model_json_schema()
    for node in (made, *made["$defs"].values()):  # what may be left out makes a grammar large
        node["required"] = [*node["properties"]]
        for part in node["properties"].values():
            part.pop("default", None)
    calls = sorted(f"{contract.worker}.{contract.action}" for contract in contracts)
    if 0 < len(calls) <= MAX_ENUM:
        for name in {"Step", "Undo", "Look"} & made["$defs"].keys():
            made["$defs"][name]["properties"]["call"] = {"enum": calls, "type": "string"}
    return made


def understood(
    said: str,
    catalogue: Catalogue,
    config: SignoffConfig,
    now: datetime,
    merge: Callable[[PlanSpec], PlanSpec] = lambda spec: spec,
    judge: Callable[[PlanSpec], Sequence[Issue]] = lambda spec: (),
) -> Planned | Asked | Declined | Inquiry:
    """What an answer means; InvalidPlan names everything that is wrong with it.

    `merge` makes of the drafted plan the one that is meant, where there was one before; `judge` says what a
    plan that could be proposed still lacks.
    """
    draft = read(said, Draft)
    if draft.kind == "refuse":
        return Declined(draft.reason or "The model gave no reason.")
    if draft.kind == "clarify":
        return Asked(tuple(_fields(draft)))
    if draft.kind == "look":
        return Inquiry(_looks(draft))
    try:
        whole, issues = complete(merge(to_spec(draft)), catalogue, config, now)
    except (ArithmeticError, ValueError, RecursionError) as error:
        # A hostile draft finds the value a parser below was not made for; it must still end as an issue.
        what = f"a value in it cannot be used ({type(error).__name__})"
        raise InvalidPlan([Issue("unusable", "", what)]) from None
    if found := [*issues] or [*judge(whole)]:
        raise InvalidPlan(found)
    return Planned(whole, plain("; ".join(filter(None, draft.assumptions))))


def read(said: str, form: type[Form]) -> Form:
    """The answer in its form."""
    if len(said) > LONGEST:
        raise InvalidPlan([Issue("too_long", "", f"the answer is longer than {LONGEST} characters")])
    try:
        json_of(said)
    except GivenTwice as error:
        raise InvalidPlan([Issue("given_twice", "", str(error))]) from None
    except (ValueError, RecursionError):
        pass  # what is wrong with it is said below, with its place
    try:
        return form.model_validate_json(said)
    except ValidationError as error:
        raise InvalidPlan(_issues(error)) from None


def to_spec(draft: Draft) -> PlanSpec:
    """The plan document. Risk, approvers and mandate are not the model's to say: it has no words for them."""
    issues: list[Issue] = []
    goal = tuple(
        Check(field=check.field, op=check.op, value=_value(check, f"done_when[{index}]", issues))
        for index, check in enumerate(draft.done_when)
    )
    if issues:
        raise InvalidPlan(issues)
    made = drawn(draft.goal, draft.steps, draft.rollback)
    return made.model_copy(update={"continues": draft.continues, "done_when": goal})


def _looks(draft: Draft) -> tuple[StepSpec, ...]:
    """The calls, in the form of steps: whether they may be made is for code to say."""
    issues: list[Issue] = []
    asked = [Undo(id=f"look-{n}", undoes="", purpose="", call=one.call, args=one.args)
             for n, one in enumerate(draft.looks[:MAX_LOOKS], 1)]  # fmt: skip
    made = [_call(one, f"looks[{n}]", issues) for n, one in enumerate(asked)]
    if issues or not made:
        raise InvalidPlan(issues or [Issue("no_looks", "looks", "to look needs at least one call")])
    return tuple(StepSpec.model_validate(one) for one in made)


def drawn(goal: str, steps: Sequence[Step], rollback: Sequence[Undo] = ()) -> PlanSpec:
    """A plan document of steps in the form of an answer; InvalidPlan names what cannot be one."""
    issues: list[Issue] = []
    made = [_step(step, f"steps[{index}]", issues) for index, step in enumerate(steps)]
    undos = [_undo(undo, f"rollback[{index}]", issues) for index, undo in enumerate(rollback)]
    try:
        spec = PlanSpec.model_validate({"goal": goal, "steps": made, "rollback": undos})
    except ValidationError as error:
        raise InvalidPlan([*issues, *_issues(error)]) from None
    if issues:
        raise InvalidPlan(issues)
    return spec


def _step(step: Step, path: str, issues: list[Issue]) -> dict[str, Any]:
    if step.window and step.at:
        issues.append(Issue("two_times", f"{path}.at", "a step has a window or a time, not both"))
    checks = [
        {"field": check.field, "op": check.op, "value": _value(check, f"{path}.checks[{index}]", issues)}
        for index, check in enumerate(step.checks)
    ]
    return _call(step, path, issues) | {
        "depends_on": step.depends_on, "schedule": {"window": step.window, "at": step.at},
        "success_criteria": [*step.criteria, *checks], "failure_action": step.failure_action,
    }  # fmt: skip


def _undo(undo: Undo, path: str, issues: list[Issue]) -> dict[str, Any]:
    return _call(undo, path, issues) | {"undoes": undo.undoes}


def _call(step: Step | Undo, path: str, issues: list[Issue]) -> dict[str, Any]:
    worker, _, action = step.call.rpartition(".")
    given: dict[str, Any] = {}
    for index, arg in enumerate(step.args):
        place = f"{path}.args[{index}]"
        if arg.name in given:
            issues.append(Issue("duplicate_parameter", place, f"'{arg.name}' is given twice"))
        given[arg.name] = _value(arg, place, issues)
    return {"id": step.id, "worker": worker, "action": action, "purpose": step.purpose, "parameters": given}


def _value(given: Arg | FieldCheck, path: str, issues: list[Issue]) -> Any:
    if given.kind == "text":
        return given.value
    if given.kind == "ref":
        return {"from": given.value}
    try:
        value = json_of(given.value, parse_constant=_no_constant)
        hidden = any(inert(text) != text for text in _strings(value))
    except GivenTwice as error:
        issues.append(Issue("given_twice", path, str(error)))
        return None
    except (ValueError, RecursionError):
        issues.append(Issue("bad_json", path, "this value is not JSON; a plain string has the kind text"))
        return None
    if hidden:
        issues.append(Issue("invisible", path, "this value holds characters that nobody can see"))
    return value


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from _strings([*value.keys(), *value.values()])
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


def _fields(draft: Draft) -> list[Field]:
    found = [one for one in draft.questions if one.ask][:MAX_QUESTIONS]
    if not found:
        raise InvalidPlan([Issue("no_questions", "questions", "clarify needs at least one question")])
    return [_field(index, one) for index, one in enumerate(found)]


def _field(index: int, asked: Question) -> Field:
    """Options of which there are none, or only one, are no choice."""
    options = tuple(dict.fromkeys(filter(None, map(plain, asked.options))))[:MAX_OPTIONS]
    choice = asked.kind == "choice" and len(options) > 1
    kind = asked.kind if choice or asked.kind != "choice" else "text"
    return Field(name=f"q{index + 1}", label=asked.ask, kind=kind, options=options if choice else ())


def _issues(error: ValidationError) -> list[Issue]:
    found = error.errors(include_url=False, include_input=False, include_context=False)[:20]
    return [Issue(str(one["type"]), _path(one["loc"]), plain(str(one["msg"]))) for one in found]


def _path(place: tuple[int | str, ...]) -> str:
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in place)
    return plain("".join(parts).lstrip("."), WORD)
