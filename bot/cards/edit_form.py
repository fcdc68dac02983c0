"""The edit form: typed fields from the plan and the actions' schemas, and the draft that is read back."""

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from bot.cards.blocks import Block, header, plain, section
from bot.cards.forms import modal
from bot.cards.phrases import title
from bot.planner.edits.changes import placed, timed, unvalued, valued, without
from bot.planner.edits.pointing import typed
from bot.planner.validate import Catalogue
from bot.untrusted import clip, inert
from storage.contract.spec import PlanSpec, StepSpec, utc
from storage.errors import Issue
from storage.reading.plan_view import PlanView

FIELDS = 100  # blocks in a form
LARGEST = 60_000  # bytes in a form: an ack that carries one must fit into a frame of 65,535
LONGEST = 3000  # characters in a field
CHOICES = 100  # options of one select
NEAR = 30  # places to which a step can be moved at once
REMOVE = "remove"


def edit_form(view: PlanView, spec: PlanSpec, catalogue: Catalogue) -> Block:
    """One form for the whole plan; of a plan that is too long for one, first the choice which steps."""
    parts = pages(spec, catalogue)
    if len(parts) == 1:
        return edit_page(view, spec, catalogue, 0)
    options = [_page(spec, number, part) for number, part in enumerate(parts[:CHOICES])]
    which: Block = {"type": "static_select", "action_id": "value", "options": options}
    many = len(spec.steps)
    why = f"{many} steps do not fit into one form. Choose which to change here, or say it in the thread:"
    blocks = [
        section(f"{why} “move step {many} to 2am”, “drop step {many - 1}”."),
        {"type": "input", "block_id": "page", "label": plain("Which steps?"), "element": which},
    ]
    return modal("edit_pages", "Edit the plan", "Next", _which(view), blocks)


def edit_page(view: PlanView, spec: PlanSpec, catalogue: Catalogue, page: int) -> Block:
    """Each step's place, time and parameters, and what to add."""
    blocks: list[Block] = []
    for number in pages(spec, catalogue)[page]:
        blocks += _step(spec, number, catalogue)
    return modal("edit", "Edit the plan", "Make revision", _which(view), [*blocks, _more()])


def pages(spec: PlanSpec, catalogue: Catalogue) -> list[range]:
    """Which steps go into one form."""
    starts, blocks, bytes_ = [0], 0, 0
    for number in range(len(spec.steps)):
        made = _step(spec, number, catalogue)
        if blocks and (blocks + len(made) >= FIELDS or bytes_ + _weight(made) > LARGEST):
            starts.append(number)
            blocks = bytes_ = 0
        blocks, bytes_ = blocks + len(made), bytes_ + _weight(made)
    return [range(*ends) for ends in pairwise([*starts, len(spec.steps)])]


def _weight(blocks: list[Block]) -> int:
    return len(json.dumps(blocks))


def _page(spec: PlanSpec, number: int, part: range) -> Block:
    first, last = (title(spec.steps[n]) for n in (part[0], part[-1]))
    said = f"{part[0] + 1} to {part[-1] + 1}: {clip(inert(first), 25)} … {clip(inert(last), 25)}"
    return {"text": plain(clip(said, 75)), "value": str(number)}


def _step(spec: PlanSpec, number: int, catalogue: Catalogue) -> list[Block]:
    step, many = spec.steps[number], len(spec.steps)
    heading = header(inert(f"{number + 1}. {clip(title(step), 140)}"))
    fields: list[Block] = []
    for field in _fields(step, catalogue):
        fits = len(fields) < FIELDS - 5 and _weight([*fields, field]) < LARGEST // 2
        fields += [field] if fits else []
    return [heading, *_when(step), *fields, *_place(step, number + 1, many)]


def _which(view: PlanView) -> dict[str, int]:
    return {"p": view.id, "r": view.revision}


def edited(spec: PlanSpec, values: dict[str, str], catalogue: Catalogue) -> PlanSpec:
    """The plan with what was typed; words for times are resolved later, with everything else."""
    draft = spec
    for step in spec.steps:
        draft = _valued(draft, step, values, catalogue)
        said = " ".join(values.get(f"when:{step.id}", when_words(step)).split())
        draft = draft if said == when_words(step) else timed(draft, [step.id], said)
    draft = placed(draft, _order(spec, values))
    for step in spec.steps:
        draft = without(draft, step.id) if values.get(f"place:{step.id}") == REMOVE else draft
    return draft


def _order(spec: PlanSpec, values: dict[str, str]) -> list[str]:
    """The steps in their new order: one that moves goes before, or behind, whoever holds its place."""

    def place(number: int, key: str) -> float:
        said = values.get(f"place:{key}", str(number))
        wanted = int(said) if said.isdigit() else number
        return wanted + (0.5 if wanted > number else -0.5 if wanted < number else 0.0)

    found = [(place(number, step.id), number, step.id) for number, step in enumerate(spec.steps, 1)]
    return [key for _, _, key in sorted(found)]


def _valued(spec: PlanSpec, step: StepSpec, values: dict[str, str], catalogue: Catalogue) -> PlanSpec:
    contract = catalogue.find(step)
    properties = contract.parameters.get("properties", {}) if contract else {}
    required = contract.parameters.get("required", ()) if contract else ()
    for name, value in step.parameters.items():
        entered = values.get(f"param:{step.id}:{name}")
        if entered is None or entered == _shown(value):
            continue
        if not entered and name not in required:
            spec = unvalued(spec, step.id, name)  # left empty, the action's own default holds
        else:
            spec = valued(spec, step.id, name, typed(entered, properties.get(name, {})))
    return spec


def field_errors(
    issues: list[Issue] | tuple[Issue, ...], spec: PlanSpec, values: dict[str, str]
) -> dict[str, str]:
    """Each issue at the field it is about; what fits no field goes to the first."""
    errors: dict[str, str] = {}
    for issue in issues:
        block = _block_of(issue.path, spec)
        place = block if block in values else next(iter(values))
        errors[place] = f"{errors[place]} {issue.message}" if place in errors else issue.message
    return {place: clip(text, 150) for place, text in errors.items()}


def when_words(step: StepSpec) -> str:
    """What the time field shows: the words as said, the instant if it was given as one, or "now"."""
    given = utc(step.schedule.not_before) if step.schedule.not_before else "now"
    return step.schedule.at or step.schedule.window or given


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _when(step: StepSpec) -> Iterator[Block]:
    element = {"type": "plain_text_input", "action_id": "value", "initial_value": when_words(step)}
    hint = plain("now, 2AM ET, tomorrow 02:00 in New York, in 20 minutes, or the name of a window")
    field = {"type": "input", "block_id": f"when:{step.id}", "label": plain("When may it start?")}
    if len(when_words(step)) <= LONGEST:
        yield field | {"element": element, "hint": hint}


def _place(step: StepSpec, number: int, many: int) -> Iterator[Block]:
    """Where it stands; the shape of the plan stays, and the steps change places."""
    if many == 1:
        return
    first = max(1, min(number - NEAR // 2, many - NEAR + 1))
    places = range(first, min(many, first + NEAR - 1) + 1)
    options = [{"text": plain(f"Place {n}"), "value": str(n)} for n in places]
    element: Block = {"type": "static_select", "action_id": "value"}
    element["initial_option"] = options[number - first]
    element["options"] = [*options, {"text": plain("Remove this step"), "value": REMOVE}]
    yield {"type": "input", "block_id": f"place:{step.id}", "label": plain("Order"), "element": element}


def _more() -> Block:
    element = {"type": "plain_text_input", "action_id": "value", "max_length": 500}
    hint = plain("As you would ask for it, by a runbook: run the full tests on staging")
    field = {"type": "input", "block_id": "add", "label": plain("Add at the end"), "element": element}
    return field | {"hint": hint, "optional": True}


def _fields(step: StepSpec, catalogue: Catalogue) -> list[Block]:
    contract = catalogue.find(step)
    if contract is None:
        return []
    properties: dict[str, dict[str, Any]] = contract.parameters.get("properties", {})
    required = contract.parameters.get("required", ())
    return [
        _field(step, name, schema, [*contract.names.get(name, ())]) | {"optional": name not in required}
        for name, schema in properties.items()
        if isinstance(step.parameters.get(name), str | int | float)
        and len(str(step.parameters[name])) <= LONGEST
    ]


def _field(step: StepSpec, name: str, schema: dict[str, Any], known: list[str]) -> Block:
    value, choices = _shown(step.parameters[name]), known or [str(c) for c in schema.get("enum", ())]
    choices = ["true", "false"] if isinstance(step.parameters[name], bool) else choices
    label = plain(clip(str(schema.get("title") or name), 150))
    element = _choice(choices, value) if value in choices and len(choices) <= 100 else _entry(value, schema)
    return {"type": "input", "block_id": f"param:{step.id}:{name}", "label": label, "element": element}


def _choice(choices: list[str], value: str) -> Block:
    said = {"true": "yes", "false": "no"}
    options = [{"text": plain(clip(said.get(choice, choice), 75)), "value": choice} for choice in choices]
    made: Block = {"type": "static_select", "action_id": "value", "options": options}
    return made | {"initial_option": options[choices.index(value)]}


def _entry(value: str, schema: dict[str, Any]) -> Block:
    if schema.get("type") != "integer":
        return {"type": "plain_text_input", "action_id": "value", "initial_value": value}
    bounds = {"min_value": schema.get("minimum"), "max_value": schema.get("maximum")}
    number: Block = {"type": "number_input", "action_id": "value", "is_decimal_allowed": False}
    return number | {"initial_value": value} | {k: str(v) for k, v in bounds.items() if v is not None}


def _block_of(path: str, spec: PlanSpec) -> str:
    if not path.startswith("steps["):
        return ""
    index, _, rest = path.removeprefix("steps[").partition("].")
    step = spec.steps[int(index)].id
    if rest.startswith("parameters."):
        return f"param:{step}:{rest.removeprefix('parameters.').partition('.')[0]}"
    return f"when:{step}"
