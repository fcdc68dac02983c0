"""Why a plan stands or ended as it did: what its rows say, in the words of people."""

import re

from bot.cards.phrases import placeless
from storage.contract.states import StepState
from storage.reading.plan_view import PlanView, StepView

# What a state or a step's own line says anyway.
BARE = re.compile(r"(step \S+ failed|rolled back|nobody decided in time|not every step succeeded)\.?", re.I)
WRONG = {StepState.failed, StepState.unknown}


def reason(view: PlanView) -> str:
    """The reason of a plan, with steps by their number; "" where its state has said it all."""
    return "" if BARE.fullmatch(view.reason.strip()) else numbered(view)


def numbered(view: PlanView) -> str:
    """The reason of a plan, with steps by their number."""
    text = placeless(view.reason)
    for number, step in enumerate(view.steps, 1):
        text = text.replace(f"step {step.spec.id} ", f"step {number} ")
    return text[:1].upper() + text[1:]


def wrong(view: PlanView) -> list[tuple[int, StepView]]:
    """The steps that went wrong, each with its number."""
    return [(number, step) for number, step in enumerate(view.steps, 1) if step.state in WRONG]


def why(view: PlanView) -> str:
    """Why it ended so: its reason, else the step that went wrong and what that reports."""
    found = [(number, step.report.summary) for number, step in wrong(view) if step.report]
    told = [f"Step {number}: {placeless(said)}" for number, said in found[:1]]
    return reason(view) or next(iter(told), "") or numbered(view)
