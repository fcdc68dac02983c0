"""How long steps take, by what they took lately, and by what that is known. Pure."""

from collections.abc import Iterable
from dataclasses import replace

from bot.cards.phrases import lasting
from storage.contract.capability import Contract
from storage.contract.spec import StepSpec
from storage.reading.plan_view import PlanView

BASIS = {
    "target": "as its last runs there",
    "action": "as the last runs elsewhere",
    "promise": "as its worker says: it has hardly run here yet",
}


def informed(view: PlanView, contracts: Iterable[Contract]) -> PlanView:
    """The same, with what its actions took lately."""
    return replace(view, contracts={(made.worker, made.action): made for made in contracts})


def seconds(view: PlanView, step: StepSpec) -> float:
    made = view.contract(step)
    return made.takes(step.parameters)[0] if made else 0.0


def learnt(view: PlanView, step: StepSpec) -> float | None:
    """What it took before; None for what has not run often enough, there or anywhere."""
    made = view.contract(step)
    took, basis = made.takes(step.parameters) if made else (0.0, "promise")
    return took if basis != "promise" else None


def usually(view: PlanView, step: StepSpec) -> str:
    """What a step takes, and why we think so; "" where nobody knows its action."""
    made = view.contract(step)
    if made is None:
        return ""
    took, basis = made.takes(step.parameters)
    return f"about {lasting(took)}, {BASIS[basis]}"
