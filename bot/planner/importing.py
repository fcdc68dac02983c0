"""Read a plan from JSON: our own form, and the well-known one with string criteria and named rollbacks."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from bot.given_once import GivenTwice, json_of
from bot.planner.runbooks import book as runbooks
from bot.planner.runbooks.book import Runbook
from bot.planner.runbooks.questions import Missing, NoPlan
from bot.planner.runbooks.slots import Slot
from bot.planner.validate import Catalogue
from storage.config import SignoffConfig
from storage.contract.spec import PlanSpec, StepSpec, UndoSpec
from storage.errors import InvalidPlan, Issue

COMPUTED = {
    "risk_level": "risk is computed from what the steps change, and where",
    "estimated_duration": "duration is computed from the actions' typical times",
    "plan_id": "plans are numbered by the database",
}
FAILURE = {"abort": "abort", "rollback": "rollback", "roll": "rollback", "continue": "continue", "ask": "ask",
           "escalate": "ask", "notify": "ask", "retry": "ask", "stop": "abort"}  # fmt: skip
PREVIOUS = "previous"  # what the step's worker recorded before it
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


def read(
    raw: Any, catalogue: Catalogue, books: Sequence[Runbook] = (), config: SignoffConfig | None = None
) -> tuple[PlanSpec, list[str]]:
    """A plan document and notes on what was computed or understood otherwise."""
    if not isinstance(raw, dict):
        raise InvalidPlan([Issue("not_a_plan", "", "a plan is a JSON object with a goal and steps")])
    notes: list[str] = []
    try:
        spec = PlanSpec.model_validate(_normal(raw, notes))
    except ValidationError as error:
        raise InvalidPlan([_issue(dict(found)) for found in error.errors(include_url=False)]) from None
    return _with_rollbacks(spec, raw, Shelf(catalogue, books, config), notes), notes


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


def _with_rollbacks(spec: PlanSpec, raw: Mapping[str, Any], shelf: "Shelf", notes: list[str]) -> PlanSpec:
    """A rollback given as a name is the runbook of that name, or plainly what was there before."""
    named = {
        step.get("id") or step.get("step_id"): step.get("rollback_plan") for step in raw.get("steps", ())
    }
    wanted: list[tuple[str, str, tuple[StepSpec, ...]]] = [
        (f"steps[{n}].rollback_plan", str(named[step.id]), (step,))
        for n, step in enumerate(spec.steps)
        if named.get(step.id)
    ]
    covered = {undo.undoes for undo in spec.rollback} | {key for key, name in named.items() if name}
    if whole := raw.get("rollback_plan"):
        left = tuple(step for step in spec.steps if step.id not in covered)
        wanted.append(("rollback_plan", str(whole), left))
    made: list[UndoSpec] = []
    for path, name, steps in wanted:
        made += _bound(path, name, steps, shelf, notes)
    return spec.model_copy(update={"rollback": (*spec.rollback, *made)})


@dataclass(frozen=True)
class Shelf:
    """What a name in a plan may stand for."""

    catalogue: Catalogue
    books: Sequence[Runbook] = ()
    config: SignoffConfig | None = None


def _bound(path: str, name: str, steps: Sequence[StepSpec], shelf: Shelf, notes: list[str]) -> list[UndoSpec]:
    """The entries that a name stands for; InvalidPlan when it stands for nothing."""
    book = next((book for book in shelf.books if _slug(name) in {_slug(book.id), _slug(book.title)}), None)
    if book is not None:
        made = _by_runbook(path, name, book, steps, shelf)
        notes.append(f"rollback '{name}': the runbook “{book.title}”, {len(made)} step(s)")
        return made
    if PREVIOUS not in _slug(name).split("-"):
        why = (
            f"there is no runbook or saved plan '{name}', and it does not say that the previous state returns"
        )
        raise InvalidPlan([Issue("unknown_rollback", path, why)])
    undos = [undo for step in steps if (undo := _undo(step, shelf.catalogue))]
    if not undos:
        why = f"'{name}': no worker can undo a step of this plan"
        raise InvalidPlan([Issue("unknown_rollback", path, why)])
    notes += [f"rollback '{name}': {undo.undoes} is undone by {undo.worker}.{undo.action}" for undo in undos]
    return undos


def _by_runbook(
    path: str, name: str, book: Runbook, steps: Sequence[StepSpec], shelf: Shelf
) -> list[UndoSpec]:
    """Its steps as entries, in its order; each undoes the change that touches the same, or the last one."""
    changing = [step for step in steps if (found := shelf.catalogue.find(step)) and found.changes]
    if not changing:
        raise InvalidPlan(
            [Issue("unknown_rollback", path, "no step here changes anything to be rolled back")]
        )
    known = _facts(name, book, changing, shelf.catalogue)
    try:
        filled = runbooks.fill(book, book.title, shelf.config or SignoffConfig(), known | {"when": "now"})
    except (Missing, NoPlan) as error:
        why = f"the runbook “{book.title}” needs more than this plan says: {error}"
        raise InvalidPlan([Issue("unknown_rollback", path, why)]) from None
    return [_entry(step, _undone_by(step, changing, shelf.catalogue)) for step in filled.spec.steps]


def _facts(name: str, book: Runbook, changing: Sequence[StepSpec], catalogue: Catalogue) -> dict[str, str]:
    """What fills the runbook: where the change is made, by its steps; to what it returns, by the name alone.

    The steps say only what they put there, and that is what shall go.
    """
    given = [pair for step in changing for pair in _places(step, catalogue)]
    known = {key: value for key, value in given if key in book.slots and _is_place(book.slots[key])}
    said = re.search(r"(?<![\w.])v?\d+(?:\.\d+)+(?![\w.])", name)
    back = {key: slot for key, slot in book.slots.items() if _is_version(slot)}
    return known | {
        key: said[0] if said else PREVIOUS
        for key, slot in back.items() if said or PREVIOUS in slot.synonyms.values()
    }  # fmt: skip


def _places(step: StepSpec, catalogue: Catalogue) -> Iterator[tuple[str, str]]:
    found = catalogue.find(step)
    yield from {"environment": found.environment(step.parameters) if found else ""}.items()
    yield from ((key, str(value)) for key, value in step.parameters.items() if isinstance(value, str | int))


def _is_place(slot: Slot) -> bool:
    return bool(slot.inventory or slot.choices)


def _is_version(slot: Slot) -> bool:
    pattern = slot.pattern and re.fullmatch(slot.pattern, "v1.2.3")
    return not _is_place(slot) and (slot.kind == "version" or bool(pattern))


def _undone_by(step: StepSpec, changing: Sequence[StepSpec], catalogue: Catalogue) -> str:
    def touches(one: StepSpec) -> str:
        found = catalogue.find(one)
        return found.locks(one.parameters) if found else ""

    same = [one.id for one in changing if touches(one) and touches(one) == touches(step)]
    return (same or [changing[-1].id])[-1]


def _entry(step: StepSpec, undoes: str) -> UndoSpec:
    kept = step.model_dump(exclude={"id", "depends_on", "schedule", "failure_action"})
    return UndoSpec.model_validate(kept | {"id": f"undo-{step.id}"[:40], "undoes": undoes})


def _slug(name: str) -> str:
    """A saved plan's name has no dots: v2-1-3 is v2.1.3."""
    return "-".join(re.findall(r"[a-z0-9]+", name.lower()))


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
    previous = {"to_version": PREVIOUS} if "to_version" in wanted else {}
    return draft.model_copy(update={"parameters": kept | previous})


def _issue(error: Mapping[str, Any]) -> Issue:
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error["loc"]).lstrip(".")
    return Issue(str(error["type"]), path, str(error["msg"]))
