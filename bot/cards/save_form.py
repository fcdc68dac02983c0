"""Save as runbook: the button under a plan that went well, its form, and what came of it."""

from bot.cards.blocks import Block, actions, button, escape, pack, plain, section
from bot.cards.face.lines import subject
from bot.cards.forms import modal
from bot.cards.phrases import doer
from bot.untrusted import clip, legible
from storage.database.tables import Event
from storage.reading.plan_view import PlanView


def save_button(view: PlanView) -> Block:
    value = pack(view.id, view.revision, view.digest)
    return actions(f"save_{view.id}", button("Save as Runbook", "save", value))


def save_form(view: PlanView) -> Block:
    goal = subject(view)
    about = section(f"*{escape(clip(goal, 300))}*\nNames, versions and numbers become slots of the runbook.")
    fields = [
        _input("name", "Name", "lower-case letters, digits and hyphens; it is asked for as: run NAME …"),
        _input("title", "Title", "as people read it in lists", clip(legible(goal), 100)),
        _input("trigger", "Words that mean it", "besides its name; empty for none") | {"optional": True},
    ]
    return modal("save", "Save as runbook", "Save", {"p": view.id, "r": view.revision}, [about, *fields])


def saved(view: PlanView, event: Event | None) -> tuple[list[str], list[Block]]:
    """What was made, and how it is used."""
    data = event.data if event else {}
    name, who = escape(str(data.get("name", ""))), doer(event.actor if event else "")
    if data.get("kept"):
        return [f":bookmark: {who} saved this as a runbook: `/plan run {name} …`"], []
    how = "No folder for runbooks can be written, so it is attached: put it into one and restart the bot."
    return [f":bookmark: {who} made the runbook {name}. {how}"], []


def _input(name: str, label: str, hint: str, value: str = "") -> Block:
    element: Block = {"type": "plain_text_input", "action_id": "value", "max_length": 200}
    element |= {"initial_value": value} if value else {}
    return {
        "type": "input", "block_id": name, "label": plain(label), "element": element, "hint": plain(hint),
    }  # fmt: skip
