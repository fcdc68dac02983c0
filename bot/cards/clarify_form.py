"""What is asked before there can be a plan: on the card, and in its form."""

import re

from bot.cards.blocks import Block, actions, button, escape, pack, plain, section
from bot.cards.forms import modal
from bot.planner.runbooks.questions import Field, Form
from bot.untrusted import clip, inert
from storage.reading.plan_view import PlanView

MOST = 100  # options of one select


def questions(view: PlanView, form: Form) -> list[Block]:
    """Why there is no plan yet, and the way to the form."""
    labels = [field.label for field in form.fields if not field.value]
    asked, why = "\n".join(f"• {escape(label)}" for label in labels), re.sub(r"`([^`]*)`", r"“\1”", form.why)
    value = pack(view.id, view.revision, view.digest)
    if all(label in why for label in labels):  # not twice
        rest = why.replace(" ".join(labels), "").strip()
        said = f"before I can plan this, I must know:\n{asked}\n{escape(clip(rest, 600))}"
    else:
        said = f"{escape(clip(why, 600))}\n{asked}"
    return [
        section(f"<@{view.requester}>, {said}"),
        actions(f"clarify_{view.id}", button("Answer", "clarify", value, "primary")),
    ]


def clarify_form(view: PlanView, form: Form) -> Block:
    """Everything that is missing, at once; what is known is filled in."""
    blocks = [section(f"“{escape(clip(view.text, 500))}”"), *map(_input, form.fields)]
    return modal("clarify", "Before I can plan", "Plan It", {"p": view.id, "r": view.revision}, blocks)


def _input(field: Field) -> Block:
    return {
        "type": "input", "block_id": field.name, "label": plain(clip(inert(field.label), 150)),
        "element": _select(field) if 0 < len(field.options) <= MOST else _text(field),
    }  # fmt: skip


def _select(field: Field) -> Block:
    options = [{"text": plain(clip(inert(name), 75)), "value": name} for name in field.options]
    made: Block = {"type": "static_select", "action_id": "value", "options": options}
    known = [option for option in options if option["value"] == field.value]
    return made | ({"initial_option": known[0]} if known else {})


def _text(field: Field) -> Block:
    made: Block = {"type": "plain_text_input", "action_id": "value", "max_length": 500}
    return made | ({"initial_value": field.value} if field.value else {})
