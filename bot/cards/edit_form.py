"""The edit form: first what people come for, any other step next; and the draft that is read back."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bot.cards.blocks import Block, context, plain
from bot.cards.forms import modal
from bot.cards.phrases import FAILURE
from bot.planner.edits.changes import failing, placed, timed, unvalued, valued, without
from bot.planner.edits.pointing import typed
from bot.planner.validate import Catalogue
from bot.untrusted import clip, legible
from storage.contract.saying import short, wording
from storage.contract.spec import FailureAction, PlanSpec, StepSpec, utc
from storage.errors import Issue
from storage.reading.plan_view import PlanView

FIELDS = 90  # blocks in a form
LARGEST = 60_000  # bytes in a form: an ack that carries one must fit into a frame of 65,535
LONGEST = 3000  # characters in a field
CHOICES = 100  # options of one select
BOXES = 10  # checkboxes in one group
TUNED = 3  # values of the main step on the first screen
NEAR = 30  # places to which a step can be moved at once
REMOVE = "remove"
ROOM = 2500  # characters of what was changed on an earlier screen, carried along


def edit_form(view: PlanView, spec: PlanSpec, catalogue: Catalogue) -> Block:
    """At most eight fields: when the main step starts, its values, what to leave out, or own words."""
    main = main_step(spec, catalogue)
    step = spec.steps[main]
    fields = [
        *_when(spec, main, catalogue),
        *_fields(step, catalogue, target=False)[:TUNED],
        _fails(spec, step),
    ]
    blocks = [*fields, *_leave_out(spec, main, catalogue), *_next(spec, main, catalogue), _words(), SAID]
    return modal("edit", "Edit the plan", "Save Change", _which(view), blocks)


def step_form(
    view: PlanView, spec: PlanSpec, catalogue: Catalogue, number: int, kept: dict[str, str]
) -> Block:
    """Everything about one step. `kept` is what was changed on the screens before."""
    step = spec.steps[number]
    fields: list[Block] = [*_when(spec, number, catalogue), _fails(spec, step), *_place(spec, number)]
    for field in _fields(step, catalogue):
        fits = len(fields) < FIELDS and _weight([*fields, field]) < LARGEST // 2
        fields += [field] if fits else []
    blocks = [*fields, *_next(spec, number, catalogue), SAID]
    return modal("edit", "Edit the plan", "Save Change", _which(view) | {"k": kept}, blocks)


SAID = context("Approvals given so far no longer count, unless you only move it later.")


def main_step(spec: PlanSpec, catalogue: Catalogue) -> int:
    """What people most likely came to change: the last step that changes something, else the last."""
    found = [n for n, step in enumerate(spec.steps) if (made := catalogue.find(step)) and made.changes]
    return found[-1] if found else len(spec.steps) - 1


def _weight(blocks: list[Block]) -> int:
    return len(json.dumps(blocks))


def _title(spec: PlanSpec, number: int, catalogue: Catalogue, room: int) -> str:
    step = spec.steps[number]
    return clip(legible(f"{number + 1}. {short(catalogue.find(step), step)}"), room)


def _which(view: PlanView) -> dict[str, Any]:
    return {"p": view.id, "r": view.revision}


def edited(spec: PlanSpec, values: dict[str, str], catalogue: Catalogue) -> PlanSpec:
    """The plan with what was changed; words for times are resolved later, with everything else."""
    draft = spec
    for step in spec.steps:
        draft = _valued(draft, step, values, catalogue)
        said = " ".join(values.get(f"when:{step.id}", when_words(step)).split())
        draft = draft if said == when_words(step) else timed(draft, [step.id], said)
        draft = _failing(draft, step, values.get(f"fails:{step.id}", ""))
    draft = placed(draft, _order(spec, values))
    dropped = {*values.get("leave_out", "").split()}
    for step in spec.steps:
        gone = step.id in dropped or values.get(f"place:{step.id}") == REMOVE
        draft = without(draft, step.id) if gone else draft
    return draft


def _failing(spec: PlanSpec, step: StepSpec, said: str) -> PlanSpec:
    found: list[FailureAction] = [way for way in FAILURE if way == said != step.failure_action]
    return failing(spec, step.id, found[0]) if found else spec


def changed_only(spec: PlanSpec, values: dict[str, str]) -> dict[str, str]:
    """What is not as the form showed it: that much goes along to the next screen."""
    shown = {"next": values.get("next", ""), "words": "", "leave_out": ""}
    for number, step in enumerate(spec.steps, 1):
        shown |= {f"when:{step.id}": when_words(step), f"fails:{step.id}": step.failure_action}
        shown |= {f"place:{step.id}": str(number)}
        shown |= {f"param:{step.id}:{name}": _shown(value) for name, value in step.parameters.items()}
    return {name: value for name, value in values.items() if value != shown.get(name, "")}


def next_step(spec: PlanSpec, values: dict[str, str]) -> int | None:
    """Which step comes in the next form, if one was chosen."""
    said = values.get("next", "").strip().removeprefix("#")
    return int(said) - 1 if said.isdigit() and 0 < int(said) <= len(spec.steps) else None


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


def _when(spec: PlanSpec, number: int, catalogue: Catalogue) -> Iterator[Block]:
    """What most people come for: it has the focus."""
    step = spec.steps[number]
    element: Block = {"type": "plain_text_input", "action_id": "value", "initial_value": when_words(step)}
    element["focus_on_load"] = True
    hint = plain("now, 2AM ET, tomorrow 02:00 in New York, in 20 minutes, or the name of a window")
    label = plain(clip(f"Step {_title(spec, number, catalogue, 130)}: start", 150))
    if len(when_words(step)) <= LONGEST:
        yield {
            "type": "input",
            "block_id": f"when:{step.id}",
            "label": label,
            "element": element,
            "hint": hint,
        }


def _fails(spec: PlanSpec, step: StepSpec) -> Block:
    """What then happens, in the reader's terms; undoing is offered where the plan knows how."""
    ways = [way for way in FAILURE if way != "rollback" or spec.rollback or step.failure_action == way]
    said = {way: text[:1].upper() + text[1:] for way, text in FAILURE.items()}
    element = _choice([*ways], step.failure_action, said)
    return {
        "type": "input",
        "block_id": f"fails:{step.id}",
        "label": plain("If it fails"),
        "element": element,
    }


def _leave_out(spec: PlanSpec, main: int, catalogue: Catalogue) -> Iterator[Block]:
    """The other steps, each with what it means to do without it."""
    others = [number for number in range(len(spec.steps)) if number != main]
    options = [
        {
            "text": plain(_title(spec, number, catalogue, 75)),
            "value": spec.steps[number].id,
            "description": plain(clip(legible(lost(spec, number, catalogue)), 75)),
        }
        for number in others
    ]
    boxes = {"type": "checkboxes", "action_id": "value", "options": options}
    if 0 < len(options) <= BOXES:
        yield {"type": "input", "block_id": "leave_out", "label": plain("Leave out"), "element": boxes,
               "optional": True}  # fmt: skip


def lost(spec: PlanSpec, number: int, catalogue: Catalogue) -> str:
    """What it means to leave a step out."""
    step = spec.steps[number]
    relying = [n for n, other in enumerate(spec.steps, 1) if step.id in other.depends_on]
    contract = catalogue.find(step)
    done = "this is not done" if contract and contract.changes else "nothing checks this"
    return f"then {done} before step {relying[0]}" if relying else f"then {done}"


def _next(spec: PlanSpec, main: int, catalogue: Catalogue) -> Iterator[Block]:
    """The way to every other step, one at a time."""
    others = [number for number in range(len(spec.steps)) if number != main]
    label, element = "Change another step next", _steps(spec, others, catalogue)
    if len(others) > CHOICES:
        label = f"{label}, by its number (1 to {len(spec.steps)})"
        element = {"type": "plain_text_input", "action_id": "value", "max_length": 4}
    field = {"type": "input", "block_id": "next", "label": plain(label), "optional": True}
    if others:
        yield field | {"element": element}


def _steps(spec: PlanSpec, numbers: Sequence[int], catalogue: Catalogue) -> Block:
    named = ((number, _title(spec, number, catalogue, 75)) for number in numbers[:CHOICES])
    options = [{"text": plain(said), "value": str(number + 1)} for number, said in named]
    return {"type": "static_select", "action_id": "value", "options": options}


def _place(spec: PlanSpec, number: int) -> Iterator[Block]:
    """Where it stands; the shape of the plan stays, and the steps change places."""
    many, step = len(spec.steps), spec.steps[number]
    if many == 1:
        return
    first = max(1, min(number + 1 - NEAR // 2, many - NEAR + 1))
    places = range(first, min(many, first + NEAR - 1) + 1)
    options = [{"text": plain(f"Place {n}"), "value": str(n)} for n in places]
    element: Block = {"type": "static_select", "action_id": "value"}
    element["initial_option"] = options[number + 1 - first]
    element["options"] = [*options, {"text": plain("Remove this step"), "value": REMOVE}]
    yield {"type": "input", "block_id": f"place:{step.id}", "label": plain("Order"), "element": element}


def _words() -> Block:
    element = {"type": "plain_text_input", "action_id": "value", "max_length": 500}
    hint = plain("skip the backup; use canary; add: run the full tests on staging")
    field = {"type": "input", "block_id": "words", "label": plain("Or say it in your own words")}
    return field | {"element": element, "hint": hint, "optional": True}


def _fields(step: StepSpec, catalogue: Catalogue, *, target: bool = True) -> list[Block]:
    """Its values; those that say what it is done to come last, or not at all."""
    contract = catalogue.find(step)
    if contract is None:
        return []
    properties: dict[str, dict[str, Any]] = contract.parameters.get("properties", {})
    required = contract.parameters.get("required", ())
    onto = {name for name in properties if f"{{{name}}}" in contract.target or name in contract.names}
    order = sorted(properties, key=lambda name: (name in onto, name not in required))
    return [
        _field(step, name, properties[name], [*contract.names.get(name, ())], wording(contract, name))
        | {"optional": name not in required}
        for name in order
        if (target or name not in onto)
        and isinstance(step.parameters.get(name), str | int | float)
        and len(str(step.parameters[name])) <= LONGEST
    ]


def _field(
    step: StepSpec, name: str, schema: dict[str, Any], known: list[str], said: dict[str, str]
) -> Block:
    value, choices = _shown(step.parameters[name]), known or [str(c) for c in schema.get("enum", ())]
    choices = ["true", "false"] if isinstance(step.parameters[name], bool) else choices
    label = plain(clip(str(schema.get("title") or name), 150))
    element = (
        _choice(choices, value, YES | said)
        if value in choices and len(choices) <= 100
        else _entry(value, schema)
    )
    return {"type": "input", "block_id": f"param:{step.id}:{name}", "label": label, "element": element}


YES = {"true": "yes", "false": "no"}


def _choice(choices: Sequence[str], value: str, said: Mapping[Any, str]) -> Block:
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
