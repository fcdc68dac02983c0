"""The edit, code and reject forms: built from the plan and the actions' schemas, and read back."""

import json
from typing import Any

from bot.cards.blocks import PREFIX, Block, escape, plain, section
from bot.cards.words import title
from bot.foreign import clip, inert
from bot.planner.validate import Catalogue
from storage.errors import Issue
from storage.spec import PlanSpec, Schedule, StepSpec, utc
from storage.views import PlanView

FIELDS = 100  # blocks in a form
LONGEST = 3000  # characters in a field


def edit_form(view: PlanView, spec: PlanSpec, catalogue: Catalogue) -> Block:
    """One form for the whole plan: when each step starts, and its parameters."""
    blocks: list[Block] = []
    for number, step in enumerate(spec.steps, 1):
        heading = section(f"*{number}. {escape(clip(title(step), 200))}*")
        blocks += [heading, _when(step), *_fields(step, catalogue)]
    if len(blocks) > FIELDS:  # of a very long plan only the times can be changed here
        blocks = [_when(step, f"{number}. {title(step)}") for number, step in enumerate(spec.steps, 1)]
    return modal("edit", "Edit the plan", "Make revision", _which(view), blocks)


def code_form(view: PlanView) -> Block:
    """Approve with a second factor. Neither Slack nor we keep what is typed here once it was looked at."""
    goal = view.spec.goal if view.spec else view.text
    what = f"You approve plan {view.id}, revision {view.revision}, digest `{view.digest[:PREFIX]}`:"
    meta = _which(view) | {"d": view.digest[:PREFIX]}
    return modal(
        "code",
        "Approve the plan",
        "Approve",
        meta,
        [section(f"{what}\n*{escape(clip(goal, 500))}*"), code_field()],
    )


def code_field(*, optional: bool = False) -> Block:
    digits = {"type": "plain_text_input", "action_id": "value", "max_length": 12}
    label = plain("The code that your authenticator app shows now")
    return {"type": "input", "block_id": "code", "label": label, "element": digits, "optional": optional}


def reject_form(view: PlanView) -> Block:
    reason = {"type": "plain_text_input", "action_id": "value", "multiline": True, "max_length": 1000}
    block = {
        "type": "input",
        "block_id": "reason",
        "label": plain("Why? The requester reads this."),
        "element": reason,
    }
    return modal("reject", "Reject the plan", "Reject", _which(view), [block])


def wish_form(channel: str) -> Block:
    """The home tab's way to ask; the plan comes into the direct messages."""
    label = "What do you need? Approvers are told, and review it in their home tab."
    return _asking("wish", "Plan something", "Plan It", channel, label, 2000)


def halt_form(channel: str) -> Block:
    label = "Why? Nothing starts until an admin resumes it. What runs goes on to its end."
    return _asking("halt", "Stop everything", "Stop", channel, label, 1000)


def _asking(callback: str, name: str, submit: str, channel: str, label: str, longest: int) -> Block:
    words = {"type": "plain_text_input", "action_id": "value", "multiline": True, "max_length": longest}
    block = {"type": "input", "block_id": "text", "label": plain(label), "element": words}
    return modal(callback, name, submit, {"c": channel}, [block])


def read_values(view: dict[str, Any]) -> dict[str, str]:
    """{block_id: what was typed or chosen}."""
    found = {}
    for block_id, inputs in view["state"]["values"].items():
        (entered,) = inputs.values()
        chosen = entered.get("selected_option")
        found[block_id] = str((chosen or {}).get("value") if chosen else entered.get("value") or "")
    return found


def edited(spec: PlanSpec, values: dict[str, str], catalogue: Catalogue) -> PlanSpec:
    """The plan with what was typed; words for times are resolved later, with everything else."""
    return spec.model_copy(update={"steps": tuple(_edited(step, values, catalogue) for step in spec.steps)})


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


def modal(callback: str, name: str, submit: str, meta: dict[str, Any], blocks: list[Block]) -> Block:
    """A form; without a word for submitting it, it is only to be read."""
    frame = {
        "type": "modal", "callback_id": callback, "title": plain(name), "close": plain("Back"),
        "private_metadata": json.dumps(meta), "blocks": blocks,
    }  # fmt: skip
    return frame | ({"submit": plain(submit)} if submit else {})


def _which(view: PlanView) -> dict[str, Any]:
    return {"p": view.id, "r": view.revision}


def _when(step: StepSpec, name: str = "When may it start?") -> Block:
    element = {"type": "plain_text_input", "action_id": "value", "initial_value": when_words(step)}
    hint = plain("now, 2AM EST, tomorrow 02:00 in New York, in 20 minutes, or the name of a window")
    label = plain(clip(inert(name), 150))
    return {"type": "input", "block_id": f"when:{step.id}", "label": label, "element": element, "hint": hint}


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
    value, choices = str(step.parameters[name]), known or [str(c) for c in schema.get("enum", ())]
    if choices and len(choices) <= 100 and value in choices:
        options = [{"text": plain(clip(choice, 75)), "value": choice} for choice in choices]
        element: Block = {"type": "static_select", "action_id": "value", "options": options}
        element["initial_option"] = options[choices.index(value)]
    else:
        element = {"type": "plain_text_input", "action_id": "value", "initial_value": value}
    label = plain(str(schema.get("title") or name))
    return {"type": "input", "block_id": f"param:{step.id}:{name}", "label": label, "element": element}


def _edited(step: StepSpec, values: dict[str, str], catalogue: Catalogue) -> StepSpec:
    contract = catalogue.find(step)
    properties = contract.parameters.get("properties", {}) if contract else {}
    required = contract.parameters.get("required", ()) if contract else ()
    parameters = dict(step.parameters)
    for name in step.parameters:
        typed = values.get(f"param:{step.id}:{name}")
        if typed is not None and typed != str(step.parameters[name]):
            parameters[name] = _typed(typed, properties.get(name, {}))
            if not typed and name not in required:
                del parameters[name]  # left empty, the action's own default holds
    said = " ".join(values.get(f"when:{step.id}", when_words(step)).split())
    schedule = step.schedule if said == when_words(step) else Schedule(at="" if said == "now" else said)
    return step.model_copy(update={"parameters": parameters, "schedule": schedule})


def _typed(text: str, schema: dict[str, Any]) -> Any:
    """The JSON value of what was typed; what does not fit stays text, and the validator says so."""
    if schema.get("type") in {"integer", "number"}:
        try:
            return json.loads(text)
        except ValueError:
            return text
    return text


def _block_of(path: str, spec: PlanSpec) -> str:
    if not path.startswith("steps["):
        return ""
    index, _, rest = path.removeprefix("steps[").partition("].")
    step = spec.steps[int(index)].id
    if rest.startswith("parameters."):
        return f"param:{step}:{rest.removeprefix('parameters.').partition('.')[0]}"
    return f"when:{step}"
