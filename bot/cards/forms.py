"""The small forms (code, reject, wish, stop), and how the values of any form are read back."""

import json
from collections.abc import Mapping
from typing import Any

from bot.cards.blocks import PREFIX, Block, escape, plain, section
from bot.cards.face.lines import subject
from bot.untrusted import clip, legible
from storage.reading.plan_view import PlanView

FIELDS = 100  # blocks in a form
LONGEST = 3000  # characters in a field


def code_form(view: PlanView) -> Block:
    """Approve with a second factor. Neither Slack nor we keep what is typed here once it was looked at."""
    return modal("code", "Approve the plan", "Approve", _exactly(view), _coded(view, "You approve plan"))


def glass_form(view: PlanView) -> Block:
    """The second step of breaking the glass, where a rule asks for a second factor."""
    blocks = _coded(view, "You override the rules for plan")
    return modal("glass", "Emergency override", "Override", _exactly(view), blocks)


def _exactly(view: PlanView) -> dict[str, Any]:
    return _which(view) | {"d": view.digest[:PREFIX]}


def _coded(view: PlanView, what: str) -> list[Block]:
    goal = subject(view)
    which = f"{what} {view.id}, revision {view.revision}, as its card shows it."
    return [section(f"*{escape(clip(goal, 500))}*\n{which}"), code_field()]


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


def move_form(view: PlanView, key: str, what: str, now: str, offered: Mapping[str, str]) -> Block:
    """A later time for what waits. `offered` are times, and how to say them."""
    planned = f"Now planned for {escape(now)}. A later time keeps the approval; an earlier one is an edit."
    words = plain("Saturday 3am in New York")
    said = {"type": "plain_text_input", "action_id": "value", "placeholder": words}
    hint = plain(clip(legible(f"Later than {now}, inside a window where it has one"), 150))
    when = {"type": "input", "block_id": "when", "label": plain("Or another time"), "element": said}
    blocks = [section(f"*{escape(clip(what, 300))}*\n{planned}"), *_offers(offered)]
    blocks.append(when | {"optional": True, "hint": hint})
    return modal("later", "Move it later", "Move", _which(view) | {"s": key}, blocks)


def _offers(offered: Mapping[str, str]) -> list[Block]:
    options = [{"text": plain(clip(legible(said), 75)), "value": value} for value, said in offered.items()]
    radio: Block = {"type": "radio_buttons", "action_id": "value", "options": options}
    label = plain("Next times")
    made = {"type": "input", "block_id": "next", "label": label, "element": radio, "optional": True}
    return [made] if options else []


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
        if "selected_options" in entered:
            found[block_id] = " ".join(one["value"] for one in entered["selected_options"])
            continue
        chosen = entered.get("selected_option")
        found[block_id] = str((chosen or {}).get("value") if chosen else entered.get("value") or "")
    return found


def modal(callback: str, name: str, submit: str, meta: dict[str, Any], blocks: list[Block]) -> Block:
    """A form; without a word for submitting it, it is only to be read."""
    frame = {
        "type": "modal", "callback_id": callback, "title": plain(name), "close": plain("Back"),
        "private_metadata": json.dumps(meta), "blocks": blocks,
    }  # fmt: skip
    return frame | ({"submit": plain(submit)} if submit else {})


def _which(view: PlanView) -> dict[str, Any]:
    return {"p": view.id, "r": view.revision}
