"""The whole plan in a form, with the decision under it: for those who come by the home tab."""

from datetime import datetime

from bot.cards.blocks import PREFIX, Block, context, escape, plain, section, split
from bot.cards.card import body
from bot.cards.face.lines import subject, title
from bot.cards.face.long_plan import named
from bot.cards.forms import code_field, modal
from bot.cards.phrases import standing
from bot.cards.tasks import details
from bot.untrusted import clip
from storage.reading.plan_view import PlanView

STEPS = 90  # blocks in a form, without the facts and the decision
FEW = 40  # steps that get a block of their own
ROOM = 2900  # characters in one of them
CHOICES = (("approve", "Approve exactly this plan"), ("reject", "Reject it, and say why"))


def decision_form(view: PlanView, channel: str, now: datetime) -> Block:
    """Everything that an approver must read. It decides about this revision and no other."""
    goal = subject(view)
    head = section(f"*{escape(clip(goal, 500))}* — {escape(standing(view, now))}")
    shown = [section(text) for text in split(body(view, now))]
    blocks = [*shown, {"type": "divider"}, *_steps(view)]
    if view.lengthy or len(blocks) > STEPS:
        long = context(
            f"This plan is too long for a form. Please decide on its card, beside `{named(view)}`."
        )
        return modal("review", "Review the plan", "", {"c": channel}, [head, long])
    meta = {"p": view.id, "r": view.revision, "d": view.digest[:PREFIX], "c": channel}
    if view.demands.denied or view.outdated:
        return modal("review", "Review the plan", "", meta, blocks)
    if any(step.previewing for step in view.steps):  # nobody approves what they have not seen
        wait = context("What it would do is still being found out. Please open this again in a moment.")
        return modal("review", "Review the plan", "", meta, [*blocks, wait])
    return modal("review", "Review the plan", "Decide", meta, [*blocks, *_decision(view)])


def _steps(view: PlanView) -> list[Block]:
    """Every step, as many to a block as it holds."""
    parts: list[str] = []
    for number, step in enumerate(view.steps, 1):
        heading = f"*{number}. {escape(clip(title(view, step.spec), 200))}*"
        said = f"{heading}\n{escape(clip(details(view, step), 1200))}"
        if len(view.steps) > FEW and parts and len(parts[-1]) + len(said) < ROOM:
            parts[-1] += f"\n{said}"
        else:
            parts.append(said)
    return [section(part) for part in parts]


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
