"""The whole plan in a form, with the decision under it: for those who come by the home tab."""

from datetime import datetime

from bot.cards.blocks import PREFIX, Block, context, escape, plain, section
from bot.cards.card import details, facts
from bot.cards.modal import code_field, modal
from bot.cards.words import standing, title
from bot.foreign import clip
from storage.views import PlanView

STEPS = 90  # blocks in a form, without the facts and the decision
CHOICES = (("approve", "Approve exactly this plan"), ("reject", "Reject it, and say why"))


def review_form(view: PlanView, channel: str, now: datetime) -> Block:
    """Everything that an approver must read. It decides about this revision and no other."""
    goal = view.spec.goal if view.spec else view.text
    blocks = [section(f"*{escape(clip(goal, 500))}* — {escape(standing(view, now))}")]
    for number, step in enumerate(view.steps[:STEPS], 1):
        heading = f"*{number}. {escape(clip(title(step.spec), 200))}*"
        blocks.append(section(f"{heading}\n{escape(clip(details(view, step), 1200))}"))
    blocks += facts(view, workers=True)
    meta = {"p": view.id, "r": view.revision, "d": view.digest[:PREFIX], "c": channel}
    if view.demands.denied:
        return modal("review", "Review the plan", "", meta, blocks)
    if any(step.previewing for step in view.steps):  # nobody approves what they have not seen
        wait = context("What it would do is still being found out. Please open this again in a moment.")
        return modal("review", "Review the plan", "", meta, [*blocks, wait])
    return modal("review", "Review the plan", "Decide", meta, [*blocks, *_decision(view)])


def _decision(view: PlanView) -> list[Block]:
    options = [{"text": plain(label), "value": value} for value, label in CHOICES]
    radio = {"type": "radio_buttons", "action_id": "value", "options": options}
    words = {"type": "plain_text_input", "action_id": "value", "multiline": True, "max_length": 1000}
    reason = {"type": "input", "block_id": "text", "label": plain("Why?"), "element": words, "optional": True}
    code = [code_field(optional=True)] if view.demands.second_factor else []
    return [
        {"type": "input", "block_id": "choice", "label": plain("Your decision"), "element": radio},
        *code,
        reason,
    ]
