"""When a plan cannot go on by itself: what happened, how things stand, and what a person may do."""

from collections.abc import Iterable
from typing import Any

from bot.cards.blocks import Block, actions, button, escape, pack, plain, section
from bot.cards.face.lines import title
from bot.cards.forms import modal
from bot.planner.edits.pointing import typed
from bot.policy.authorize import mention
from bot.untrusted import clip, legible
from storage.config import local
from storage.contract.capability import Check, Contract
from storage.contract.spec import PlanSpec, reference
from storage.contract.states import PlanState, StepState, can_skip
from storage.plans.takeovers import must
from storage.reading.plan_view import PlanView, StepView

LABELS = {"confirm": "Go On", "decline": "Leave It Out", "update": "Bring Up to Date", "retry": "Try Again",
          "skip": "Go On Without It", "rollback": "Roll Back", "take_over": "I Did It",
          "guide": "Tell It How", "next": "Next Window", "time": "Other Time", "later": "Move Later",
          "abort": "Stop"}  # fmt: skip
MEANS = {
    "confirm": "what you see is fine, and the plan goes on",
    "decline": "no; what waits for this is left out, and the rest goes on",
    "update": "makes it the plan as things are now; somebody approves the difference",
    "retry": "runs it once more",
    "skip": "goes on with the rest",
    "rollback": "undoes what was done",
    "take_over": "you did it by hand, and say what came of it",
    "guide": "tells the planner how; what it changes, people approve",
    "next": "moves it to the next time that it may run; the approval stays",
    "time": "moves it to another later time; the approval stays",
    "abort": "ends the plan; nothing else runs",
}


YES = {"true": "Yes", "false": "No"}
ANYTHING = {"anyOf": [{"type": "number"}, {"type": "boolean"}]}  # else a text


def called(view: PlanView, on_call: str) -> str:
    """Whom a question calls: those on call, else who approved it and who asked for it."""
    people = on_call.split() or [*view.approved_by, view.requester]
    return " ".join(map(mention, dict.fromkeys(people)))


def asking(view: PlanView, step: StepView, guides: bool) -> tuple[list[str], list[Block]]:
    """How things stand, what the worker advises, and what each choice does, with its button."""
    offered = choices(step, guides)
    meant = [f"*{label(step, choice)}*: {escape(means(view, step, choice))}" for choice in offered]
    return [*left(view, step), *advice(step)], [section("\n".join(meant)), answers(view, step, offered)]


def label(step: StepView, choice: str) -> str:
    """The words of a button; the next window by its time."""
    if choice != "next" or step.opens is None:
        return LABELS[choice]
    there = local(step.opens, step.spec.schedule.zone)
    return f"{LABELS[choice]}: {there:%a %d %b %H:%M} {there.tzname()}"


def choices(step: StepView, guides: bool) -> list[str]:
    """What a person may choose; guidance only where there is a planner who can follow it."""
    offered = [*step.choices]
    if guides and "take_over" in offered:
        offered.insert(offered.index("take_over") + 1, "guide")
    return offered


def means(view: PlanView, step: StepView, choice: str) -> str:
    """What a choice does, and whether somebody must approve that first."""
    name = title(view, step.spec)
    if choice == "skip" and view.spec and not can_skip(view.spec, _changing(view), step.spec.id):
        return clip(f"goes on without “{clip(name, 80)}”; somebody approves that first", 200)
    if choice == "skip" and not any(other.state == StepState.pending for other in view.steps):
        return "ends the plan without it"
    if choice == "retry" and "basis" in ((step.report and step.report.data) or {}):
        return "runs it as it would be done now; that takes somebody who can approve"
    undo = ", ".join(title(view, u) for u in (view.spec.rollback if view.spec else ()))
    return clip(f"{MEANS[choice]}: {undo}", 300) if choice == "rollback" and undo else MEANS[choice]


def _changing(view: PlanView) -> set[str]:
    return {step.spec.id for step in view.steps if step.changes}


def left(view: PlanView, step: StepView) -> Iterable[str]:
    """What is true now: what was done, what was not."""
    done = [title(view, s.spec) for s in view.steps if s.state == StepState.succeeded]
    ahead = [title(view, s.spec) for s in view.steps if s.state == StepState.pending]
    nothing = "Nothing else was done." if step.attempt else "Nothing was done."
    parts = [f"Done: {', '.join(done)}." if done else nothing]
    parts += [f"Not run: {', '.join(ahead)}."] if ahead else []
    parts += [f"It was tried {step.attempt} times."] if step.attempt > 1 else []
    yield escape(clip(" ".join([*parts, "The plan waits for an answer."]), 700))


def undoable(view: PlanView) -> bool:
    """Whether something was done that the plan knows how to undo, and nothing is undone yet."""
    began = {step.spec.id for step in view.steps if step.attempt}
    undos = view.spec.rollback if view.spec else ()
    return any(undo.undoes in began for undo in undos) and not any(step.undo for step in view.steps)


def advice(step: StepView) -> list[str]:
    found = step.report.recommendations if step.report else ()
    return ["*Its worker advises:*", *(f"• {escape(clip(line, 300))}" for line in found[:5])] if found else []


def answers(view: PlanView, step: StepView, offered: Iterable[str]) -> Block:
    value = pack(view.id, view.revision, view.digest, step.spec.id)
    made = [button(label(step, choice), f"answer_{choice}", value) for choice in offered]
    return actions(f"answer_{step.spec.id}_{step.attempt}", *made)


def update_button(view: PlanView) -> Block:
    return button(LABELS["update"], "update", pack(view.id, view.revision, view.digest), "primary")


def updating(view: PlanView) -> list[Block]:
    """For a plan that was approved, and is out of date by now: nobody needs to wait until it fails."""
    stands = view.state == PlanState.approved and not view.cancelled_by
    idle = not any(step.state == StepState.running for step in view.steps)
    made = [actions(f"update_{view.id}_r{view.revision}", update_button(view))]
    return made if view.outdated and stands and idle else []


def takeover_form(view: PlanView, step: StepView, contract: Contract | None) -> Block:
    """What became of it, in the person's words, and every value that the plan needs to know."""
    wanted = [_wanted(name, step, contract) for name in needed(view.spec, step)] if view.spec else []
    name = escape(clip(title(view, step.spec), 200))
    about = section(f"*{name}*\nIt counts as done by you; the journal keeps your words.")
    words: Block = {"type": "plain_text_input", "action_id": "value", "multiline": True, "max_length": 1000}
    label = plain("What did you do, and what came of it?")
    told = {"type": "input", "block_id": "text", "label": label, "element": words}
    return modal("take_over", "You did it by hand", "I Did It", _which(view, step), [about, told, *wanted])


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
    element: Block = {"type": "plain_text_input", "action_id": "value", "max_length": 1000}
    if schema.get("type") == "boolean":
        options = [{"text": plain(said), "value": value} for value, said in YES.items()]
        element = {"type": "static_select", "action_id": "value", "options": options}
    label = plain(clip(str(schema.get("title") or name), 150))
    field: Block = {
        "type": "input",
        "block_id": f"data:{name}",
        "label": label,
        "element": element,
    }
    return field | ({"hint": plain(clip(legible(hint), 150))} if hint else {})


def _which(view: PlanView, step: StepView | None) -> dict[str, Any]:
    return {"p": view.id, "r": view.revision, "s": step.spec.id if step else ""}
