"""How well requests become plans: cases, and metrics that code computes. No judge, no opinion."""

import json
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter

from bot.given_once import yaml_of
from bot.planner import planning
from bot.planner.model.claude import Claude
from bot.planner.model.usage import ModelFailed
from bot.planner.model.wire import Asked, Declined, Inquiry
from bot.planner.prepare import prepare
from bot.planner.runbooks import book as runbooks
from bot.planner.runbooks.book import Planned
from bot.planner.runbooks.questions import Missing, NoPlan
from bot.planner.validate import Catalogue
from storage.config import SignoffConfig
from storage.contract.capability import Contract, Document
from storage.contract.mandate import allowance
from storage.contract.spec import PlanSpec, StepSpec
from storage.contract.states import dependents
from storage.errors import SignoffError

HERE = Path(__file__).parent / "cases"
CATALOGUE = HERE / "catalogue.json"
NOW = datetime(2026, 11, 15, 23, 0, tzinfo=UTC)  # Sunday, 18:00 in New York
Kind = Literal["plan", "clarify", "refuse"]
# A planner: the request → a plan, questions, or a refusal.
Plans = Callable[[str], Planned | Asked | Declined]


class Case(Document):
    """One request, and what a right answer must and must not hold.

    `must` and `may` are calls in the form of a mandate's allowance. Reads are always allowed; a changing call
    that neither `must` nor `may` names is forbidden, and so is each of `never`.
    """

    say: str
    answer: tuple[Kind, ...] | Kind
    must: tuple[str, ...] = ()
    may: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    before: tuple[tuple[str, str], ...] = ()
    at: datetime | None = None  # when its changing steps may start
    runbook: str = ""
    family: str = ""
    held: bool = False  # kept back from whoever writes words for runbooks: a fair figure needs unseen ones

    def kinds(self) -> tuple[Kind, ...]:
        return (self.answer,) if isinstance(self.answer, str) else self.answer


class Row(Document):
    """One request of a collection (`--cases`), with every kind of answer that is right."""

    family: str = ""
    request: str
    answer: tuple[Literal["plan", "ask", "pick", "refuse", "recur", "command"], ...]
    must: tuple[str, ...] = ()
    may: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    any_of: tuple[str, ...] = ()
    before: tuple[tuple[str, str], ...] = ()
    at: datetime | None = None
    cron: str = ""
    runbook: str = ""


@dataclass(frozen=True)
class Score:
    """What came of one case. `wrong` says why it is not right."""

    family: str
    say: str
    kind: str
    wrong: tuple[str, ...] = ()
    forbidden: int = 0
    wrong_choice: int = 0


@cache
def config() -> SignoffConfig:
    return SignoffConfig.model_validate(tomllib.loads((HERE / "signoff.toml").read_text(encoding="utf-8")))


@cache
def contracts() -> tuple[Contract, ...]:
    return TypeAdapter(tuple[Contract, ...]).validate_json(CATALOGUE.read_bytes())


@cache
def cases() -> tuple[Case, ...]:
    """Every case of the folder; the file's name is the family."""
    found = []
    for file in sorted(HERE.glob("*.yml")):
        rows = yaml_of(file.read_text(encoding="utf-8"))
        found += [Case.model_validate({"family": file.stem} | row) for row in rows]
    return tuple(found)


def offline(text: str, offered: Sequence[Contract] = ()) -> Planned | Asked | Declined:
    """The runbooks as they plan without a model, from request to a plan that could be proposed."""
    try:
        made = planning.plan(text, _books(), config(), contracts=offered or contracts(), now=NOW)
        whole = prepare(made.spec, Catalogue(offered or contracts()), config(), NOW)
    except Missing as missing:
        return Asked(missing.fields)
    except NoPlan as error:
        return Declined(str(error), error.offers)
    except SignoffError as error:
        return Declined(str(error))
    return replace(made, spec=whole)


def online(claude: Claude) -> Plans:
    """A model as it plans, with the runbooks as its examples; one that fails has answered nothing."""

    def plan(text: str) -> Planned | Asked | Declined:
        try:
            return asked(claude, text)
        except ModelFailed as failed:
            return Declined(str(failed))

    return plan


def asked(claude: Claude, text: str) -> Planned | Asked | Declined:
    """What a model makes of a request; what it wants to look at, it is shown. ModelFailed passes through."""
    ground: dict[str, Any] = {}
    for _ in range(LOOKS):
        answer = claude.plan(text, contracts(), config(), NOW, _books(), ground)
        if not isinstance(answer, Inquiry):
            return answer
        ground["looked"] = [*ground.get("looked", ()), *map(_seen, answer.looks)]
    return Declined("it only wants to look")


LOOKS = 3  # rounds of looking before there must be an answer


def _seen(step: StepSpec) -> dict[str, Any]:
    """What the installation of the cases would report, if it existed."""
    call = f"{step.worker}.{step.action}"
    data = {"k8s-deployer.rollout_status": {"replicas": 2, "ready": 2, "version": "v2.1.3"}}.get(call)
    said = {"call": call, "parameters": dict(step.parameters), "found": data is not None}
    return said | {"summary": "as it stands" if data else "nothing was found out", "data": data or {}}


@cache
def _books() -> tuple[runbooks.Runbook, ...]:
    return tuple(runbooks.read([runbooks.SHIPPED]))


def evaluate(planner: Plans, chosen: Sequence[Case]) -> list[Score]:
    return [score(case, planner(case.say), Catalogue(contracts())) for case in chosen]


def score(case: Case, answer: Planned | Asked | Declined, catalogue: Catalogue) -> Score:
    """Judge one answer."""
    kind = "plan" if isinstance(answer, Planned) else "clarify" if isinstance(answer, Asked) else "refuse"
    wrong = [] if kind in case.kinds() else [f"answered with {kind}"]
    banned: list[str] = []
    odd = False
    if isinstance(answer, Planned):
        banned = [*forbidden(case, answer.spec, catalogue)]
        wrong += [*missing(case, answer.spec, catalogue), *banned] if "plan" in case.kinds() else []
        odd = "plan" not in case.kinds() or bool(case.runbook and answer.runbook not in {"", case.runbook})
    return Score(case.family, case.say, kind, tuple(wrong), len(banned), int(odd))


def missing(case: Case | Row, spec: PlanSpec, catalogue: Catalogue) -> Iterable[str]:
    for text in case.must:
        if not any(is_call(step, text, catalogue) for step in spec.steps):
            yield f"lacks {text}"
    for first, second in case.before:
        if not _ordered(spec, first, second):
            yield f"{second} does not wait for {first}"
    late = {step.schedule.not_before for step in spec.steps if step.schedule.not_before}
    if late != ({case.at} if case.at else set()):
        yield f"starts at {sorted(map(str, late)) or 'once'}"


def forbidden(case: Case | Row, spec: PlanSpec, catalogue: Catalogue) -> Iterable[str]:
    for step in spec.steps:
        contract = catalogue.find(step)
        named = any(is_call(step, text, catalogue) for text in (*case.must, *case.may))
        if contract is None or (not contract.reads and not named):
            yield f"has {step.worker}.{step.action}"
        elif any(is_call(step, text, catalogue) for text in case.never):
            yield f"has {step.worker}.{step.action}, which is forbidden here"


def is_call(step: StepSpec, text: str, catalogue: Catalogue) -> bool:
    """Whether a step is this call; parameters that the text does not name may be anything."""
    wanted, contract = allowance(text), catalogue.find(step)
    named = {name: step.parameters.get(name) for name in wanted.bounds}
    bare = step.model_copy(update={"parameters": named})
    return wanted.names(step) and contract is not None and not wanted.beyond(bare, contract)


def _ordered(spec: PlanSpec, first: str, second: str) -> bool:
    early = {step.id for step in spec.steps if step.action == first}
    late = {step.id for step in spec.steps if step.action == second}
    return bool(early and late) and late <= dependents(spec, early)


def figures(scores: Sequence[Score]) -> dict[str, Any]:
    """Plain fields, as `--json` prints them."""
    families = sorted({score.family for score in scores})
    return {
        "cases": len(scores),
        "right": sum(not score.wrong for score in scores),
        "forbidden": sum(score.forbidden for score in scores),
        "wrong_choice": sum(score.wrong_choice for score in scores),
        "plans": sum(score.kind == "plan" for score in scores),
        "questions": sum(score.kind == "clarify" for score in scores),
        "refusals": sum(score.kind == "refuse" for score in scores),
        "families": {name: _family(scores, name) for name in families},
        "wrong": [asdict(score) for score in scores if score.wrong],
    }


def _family(scores: Sequence[Score], name: str) -> dict[str, int]:
    ours = [score for score in scores if score.family == name]
    return {"cases": len(ours), "right": sum(not score.wrong for score in ours)}


def table(found: dict[str, Any]) -> str:
    """The figures for a terminal."""
    lines = [
        f"{name:<14}{one['right']:>4} of {one['cases']:>3} right" for name, one in found["families"].items()
    ]
    total = f"{'all':<14}{found['right']:>4} of {found['cases']:>3} right"
    bad = f"forbidden: {found['forbidden']} · wrong choice: {found['wrong_choice']}"
    wrong = [f"  {one['say']!r}: {'; '.join(one['wrong'])}" for one in found["wrong"]]
    return "\n".join([*lines, total, bad, *(["", "Not right:", *wrong] if wrong else [])])


def kind_of(answer: Planned | Asked | Declined) -> str:
    if isinstance(answer, Planned):
        return "recur" if answer.every else "plan"
    return "ask" if isinstance(answer, Asked) else "pick" if answer.offers else "refuse"


def main(*, as_json: bool, planner: Plans = offline) -> tuple[str, int]:
    """What `signoff eval` prints, and its exit code: 1 when a plan was forbidden or wrongly chosen."""
    found = figures(evaluate(planner, cases()))
    text = json.dumps(found, indent=2) if as_json else table(found)
    return text, int(bool(found["forbidden"] or found["wrong_choice"]))
