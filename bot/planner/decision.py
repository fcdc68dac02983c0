"""What the review says next, and the state it looks at. Documents only; `gate` says what becomes of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from storage.contract.capability import Document
from storage.contract.spec import PlanSpec
from storage.contract.states import StepState
from storage.reading.plan_view import PlanView, StepView

Verb = Literal["continue", "retry", "alternative", "simplify", "amend", "ask", "finish", "abort"]
REVISING: frozenset[Verb] = frozenset({"alternative", "simplify", "amend"})


class Decision(Document):
    """One word on how a plan goes on. `spec` is the whole plan from now on, for the verbs that revise."""

    verb: Verb
    reason: str
    step: str = ""
    spec: PlanSpec | None = None
    wait: float = 0.0  # seconds before a retry
    options: tuple[str, ...] = ()  # what a person who is asked may choose
    source: str = "rules"


@dataclass(frozen=True)
class Progress:
    """A plan on its way: what people approved, what stands now, and how each step fared."""

    approved: PlanSpec
    spec: PlanSpec
    steps: Mapping[str, StepView] = field(default_factory=dict)
    text: str = ""  # the request, in the person's words
    spent: float = 0.0  # USD for thinking, so far
    guidance: str = ""  # what a person told the planner, when it had asked how to go on
    failures: tuple[str, ...] = ()  # every attempt that failed, oldest first, also of steps left behind
    known: Mapping[str, Any] = field(default_factory=dict)  # what code knows besides: freezes, stops, locks

    def state(self, key: str) -> StepState:
        return self.steps[key].state if key in self.steps else StepState.pending

    def data(self) -> dict[str, dict[str, object]]:
        """What the steps reported, by step."""
        found = {key: step.report for key, step in self.steps.items()}
        return {key: report.data or {} for key, report in found.items() if report}


def progress(
    view: PlanView, *, spent: float = 0.0, guidance: str = "", failures: tuple[str, ...] = ()
) -> Progress:
    """From the stored plan. What was approved is itself, or the parent that it was made from."""
    if view.spec is None:
        raise ValueError(f"plan {view.id} has no revision to look at")
    steps = {step.spec.id: step for step in view.steps}
    return Progress(view.parent or view.spec, view.spec, steps, view.text, spent, guidance, failures)
