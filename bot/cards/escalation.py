"""When a plan cannot go on by itself: what happened, how things stand, and what a person may do."""

from collections.abc import Iterable
from typing import Any

from bot.cards.blocks import Block, actions, button, escape, pack, plain, section
from bot.cards.forms import modal
from bot.cards.phrases import title
from bot.planner.edits.pointing import typed
from bot.untrusted import clip, inert
from storage.contract.capability import Check, Contract
from storage.contract.spec import PlanSpec, reference
from storage.contract.states import StepState
from storage.plans.takeovers import must
from storage.reading.plan_view import PlanView, StepView

LABELS = {"confirm": "Go On", "retry": "Retry", "skip": "Skip", "rollback": "Roll Back",
          "take_over": "Take Over", "guide": "Give Guidance", "abort": "Abort"}  # fmt: skip


ANYTHING = {"anyOf": [{"type": "number"}, {"type": "boolean"}]}  # else a text


def mention(on_call: str) -> str:
    """The configured group, as the one mention that a question carries."""
    return f"<!subteam^{on_call}> " if on_call else ""


def asking(view: PlanView, step: StepView, on_call: str, guides: bool) -> tuple[list[str], list[Block]]:
    """How things stand, what the worker advises, and the question with its buttons."""
    lines = [*left(view, step), *advice(step)]
    lines.append(f"{mention(on_call)}How shall it go on? Nothing runs until somebody answers.")
    return lines, [answers(view, step, guides)]


def left(view: PlanView, step: StepView) -> Iterable[str]:
    """What has happened so far, and what has not."""
    done = [title(s.spec) for s in view.steps if s.state == StepState.succeeded]
    ahead = [title(s.spec) for s in view.steps if s.state == StepState.pending]
    parts = [f"done: {', '.join(done)}" if done else "nothing else was done"]
    parts += [f"not run: {', '.join(ahead)}"] if ahead else []
    tries = f" It was tried {step.attempt} times." if step.attempt > 1 else ""
    yield f"*How things stand:* {escape(clip('; '.join(parts), 600))}.{tries}"
    undo = [title(u) for u in (view.spec.rollback if view.spec else ())]
    if undo and "rollback" in step.choices:
        yield f"*Roll Back would:* {escape(clip(', '.join(undo), 300))}"


def undoable(view: PlanView) -> bool:
    """Whether something was done that the plan knows how to undo, and nothing is undone yet."""
    began = {step.spec.id for step in view.steps if step.attempt}
    undos = view.spec.rollback if view.spec else ()
    return any(undo.undoes in began for undo in undos) and not any(step.undo for step in view.steps)


def advice(step: StepView) -> list[str]:
    found = step.report.recommendations if step.report else ()
    return ["*Its worker advises:*", *(f"• {escape(clip(line, 300))}" for line in found[:5])] if found else []


def answers(view: PlanView, step: StepView, guides: bool) -> Block:
    """Its buttons; guidance only where there is a planner who can follow it."""
    value, choices = pack(view.id, view.revision, view.digest, step.spec.id), [*step.choices]
    if guides and "take_over" in choices:
        choices.insert(choices.index("take_over") + 1, "guide")
    made = [button(LABELS[choice], f"answer_{choice}", value) for choice in choices]
    return actions(f"answer_{step.spec.id}_{step.attempt}", *made)


def takeover_form(view: PlanView, step: StepView, contract: Contract | None) -> Block:
    """What became of it, in the person's words, and every value that the plan needs to know."""
    wanted = [_wanted(name, step, contract) for name in needed(view.spec, step)] if view.spec else []
    about = section(
        f"*{escape(clip(title(step.spec), 200))}*\nIt counts as done by you; the journal keeps your words."
    )
    words: Block = {"type": "plain_text_input", "action_id": "value", "multiline": True, "max_length": 1000}
    label = plain("What did you do, and what came of it?")
    told = {"type": "input", "block_id": "text", "label": label, "element": words}
    return modal("take_over", "Take over the step", "Take Over", _which(view, step), [about, told, *wanted])


def guide_form(view: PlanView, step: StepView | None) -> Block:
    """A person's own words to the planner."""
    words: Block = {"type": "plain_text_input", "action_id": "value", "multiline": True, "max_length": 1000}
    label = plain("How shall it go on? The planner reads this; what it then wants to change, people approve.")
    told = {"type": "input", "block_id": "text", "label": label, "element": words}
    return modal("guide", "Give guidance", "Tell the Planner", _which(view, step), [told])


def needed(spec: PlanSpec, step: StepView) -> list[str]:
    """The fields of its report that its criteria, the goal's checks or later steps look at."""
    key = step.spec.id
    asked = [
        check.field.partition(".")[0] for check in step.spec.success_criteria if isinstance(check, Check)
    ]
    refs = [
        found for later in spec.steps for value in later.parameters.values() if (found := reference(value))
    ]
    goals = [check.field.split(".") for check in spec.done_when]
    asked += [field for source, field in refs if source == key]
    asked += [path[1] for path in goals if path[0] == key and len(path) > 1]
    return [*dict.fromkeys(asked)]


def read_fields(values: dict[str, str], contract: Contract | None) -> dict[str, Any]:
    """The values of a take-over form, typed as the action reports them."""
    schemas = contract.data.get("properties", {}) if contract else {}
    given = {name.removeprefix("data:"): value for name, value in values.items() if name.startswith("data:")}
    return {name: typed(value, schemas.get(name) or ANYTHING) for name, value in given.items()}


def _wanted(name: str, step: StepView, contract: Contract | None) -> Block:
    schema = contract.data.get("properties", {}).get(name, {}) if contract else {}
    checks = [c for c in step.spec.success_criteria if isinstance(c, Check) and c.field == name]
    hint = "; ".join(map(must, checks))
    label = plain(clip(str(schema.get("title") or name), 150))
    field: Block = {
        "type": "input", "block_id": f"data:{name}", "label": label,
        "element": {"type": "plain_text_input", "action_id": "value", "max_length": 1000},
    }  # fmt: skip
    return field | ({"hint": plain(clip(inert(hint), 150))} if hint else {})


def _which(view: PlanView, step: StepView | None) -> dict[str, Any]:
    return {"p": view.id, "r": view.revision, "s": step.spec.id if step else ""}
