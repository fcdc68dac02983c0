"""What is asked before there can be a plan: of the requester alone, by buttons and a form."""

import re

from bot.cards.blocks import Block, actions, button, context, escape, pack, plain, section
from bot.cards.forms import modal
from bot.planner.runbooks.questions import BY_FORM, Field, Form
from bot.untrusted import clip, legible
from storage.contract.states import PlanState
from storage.reading.plan_view import PlanView

MOST = 100  # options of one select
BUTTONS = 4  # answers that can be pressed


def questions(view: PlanView, form: Form) -> list[Block]:
    """Why there is no plan yet; few answers as buttons, more behind one. Only the requester sees it."""
    labels = [field.label for field in form.fields if not field.value]
    why = re.sub(r"`([^`]*)`", r"“\1”", form.why)
    rest = why.replace(" ".join(labels), "").strip() if all(label in why for label in labels) else why
    asked = "\n".join(f"*{escape(label)}*" for label in labels)
    said = "\n".join(filter(None, [asked, escape(clip(rest, 600))]))
    note = f"You said “{escape(clip(view.text, 300))}”. The plan is posted once it is complete."
    return [section(said), actions(f"clarify_{view.id}", *_ways(view, form)), context(note)]


def _ways(view: PlanView, form: Form) -> list[Block]:
    """Each answer that can be pressed, the form for any other, and the way out."""
    field = picked_from(form)
    answers = [
        button(clip(legible(option), 75), f"clarify_pick_{number}", _value(view, str(number)))
        for number, option in enumerate(field.options if field else ())
    ]
    more = "Other…" if answers else "Make a Plan" if form.why == BY_FORM else "Answer"
    form_ = button(more, "clarify", _value(view), "" if answers else "primary")
    return [*answers, form_, button("Never Mind", "clarify_never", _value(view))]


def choices(view: PlanView, offered: list[tuple[str, str]]) -> list[Block]:
    """Answers as buttons, each with the words that it stands for; and Edit, while it may be changed."""
    made = [
        button(clip(legible(label), 75), f"say_{number}", _value(view, words))
        for number, (label, words) in enumerate(offered)
    ]
    edit = [button("Edit", "edit", _value(view))] if view.state == PlanState.proposed else []
    return [actions(f"say_{view.id}", *made, *edit)] if made or edit else []


def own_choices(offered: list[tuple[str, str]]) -> list[Block]:
    """Own words as buttons: pressed, they are said as they would be typed."""
    made = [
        button(clip(legible(label), 75), f"own_{number}", pack(0, 0, "", said))
        for number, (label, said) in enumerate(offered)
    ]
    return [actions("own", *made)]


def picked_from(form: Form) -> Field | None:
    """The one fact that is missing, if its possible answers fit on a few buttons."""
    missing = [field for field in form.fields if not field.value]
    few = len(missing) == 1 and 0 < len(missing[0].options) <= BUTTONS
    return missing[0] if few else None


def _value(view: PlanView, answer: str = "") -> str:
    return pack(view.id, view.revision, view.digest, answer)


def clarify_form(view: PlanView, form: Form) -> Block:
    """Everything that is missing, at once; what is known is filled in."""
    blocks = [section(f"“{escape(clip(view.text, 500))}”"), *map(_input, form.fields)]
    return modal("clarify", "Before I can plan", "Plan It", {"p": view.id, "r": view.revision}, blocks)


def _input(field: Field) -> Block:
    return {
        "type": "input", "block_id": field.name, "label": plain(clip(legible(field.label), 150)),
        "element": _select(field) if 0 < len(field.options) <= MOST else _text(field),
    }  # fmt: skip


def _select(field: Field) -> Block:
    options = [{"text": plain(clip(legible(name), 75)), "value": name} for name in field.options]
    made: Block = {"type": "static_select", "action_id": "value", "options": options}
    known = [option for option in options if option["value"] == field.value]
    return made | ({"initial_option": known[0]} if known else {})


def _text(field: Field) -> Block:
    made: Block = {"type": "plain_text_input", "action_id": "value", "max_length": 500}
    return made | ({"initial_value": field.value} if field.value else {})
