"""States: a shape, a colour and a word, always all three."""

from datetime import datetime

from bot.board.html import Safe, tag
from bot.cards.face.running import asking, question
from storage.contract.states import PlanState, StepState
from storage.reading.plan_view import PlanView, StepView

# kind → (colour, shape)
KINDS = {
    "run": ("run", "run"), "ok": ("ok", "ok"), "bad": ("bad", "bad"), "ask": ("ask", "ask"),
    "unknown": ("ask", "unk"), "wait": ("wait", "wait"), "hold": ("hold", "hold"), "skip": ("wait", "skip"),
}  # fmt: skip
ENDS = {
    "succeeded": ("ok", "Done"), "failed": ("bad", "Failed"), "rolled_back": ("bad", "Rolled back"),
    "incomplete": ("ask", "Incomplete"), "rejected": ("skip", "Rejected"), "expired": ("skip", "Expired"),
    "cancelled": ("skip", "Cancelled"),
}  # fmt: skip


def icon(kind: str) -> Safe:
    shape = tag("use", href=f"#i-{KINDS[kind][1]}")
    return tag("svg", shape, viewBox="0 0 14 14", aria_hidden="true")


def status(kind: str, word: str = "") -> Safe:
    return tag("span", icon(kind), word or None, class_=f"s {KINDS[kind][0]}")


def ended(state: str, outcome: str) -> Safe:
    return status(*ENDS.get(outcome or state, ("skip", (outcome or state).capitalize())))


def of_plan(view: PlanView, now: datetime) -> tuple[str, str]:
    """Kind and word of a plan as it stands: what it waits for, first of all."""
    if view.state not in {PlanState.planning, PlanState.proposed, PlanState.approved, PlanState.stalled}:
        return ENDS.get(view.outcome or view.state, ("skip", view.state.capitalize()))
    if any(step.state == StepState.unknown and not step.probing for step in view.steps):
        return "unknown", "Unknown"
    if view.state == PlanState.planning:
        return ("ask", "Answer") if view.form else ("run", "Planning")
    if view.state == PlanState.proposed:
        return "ask", "Approve"
    if view.state == PlanState.stalled:
        return ("run", "Reviewing") if view.looking else ("ask", "Answer")
    return _under_way(view, now)


def _under_way(view: PlanView, now: datetime) -> tuple[str, str]:
    running = {n: step for n, step in enumerate(view.steps, 1) if step.state == StepState.running}
    agents = [step for step in running.values() if (made := view.contract(step.spec)) and made.drafts]
    if len(running) > 1:
        return "run", f"{len(agents)} agents" if len(agents) == len(running) else f"{len(running)} steps"
    if running:
        return "run", f"Step {min(running)} of {len(view.steps)}"
    pending = [step for step in view.steps if step.state == StepState.pending]
    if any(step.stopped or step.withheld or step.held_by for step in pending):
        return "hold", "Held"
    if any(step.not_before and step.not_before > now for step in pending):
        return "wait", "Waits"
    return "run", "Starting"


STEPS = {
    StepState.pending: ("wait", "Waits"), StepState.running: ("run", "Running"),
    StepState.succeeded: ("ok", "Succeeded"), StepState.failed: ("bad", "Failed"),
    StepState.unknown: ("unknown", "Unknown"), StepState.skipped: ("skip", "Not run"),
    StepState.cancelled: ("bad", "Cancelled"),
}  # fmt: skip


def of_step(step: StepView) -> tuple[str, str]:
    if question(step):
        return "ask", "Asks"
    if asking(step):
        return "skip", "Declined"
    kind, word = STEPS[step.state]
    if step.state == StepState.succeeded and step.attempt > 1:
        return kind, f"{_ordinal(step.attempt)} attempt"
    if step.state == StepState.pending and (step.stopped or step.withheld or step.held_by):
        return "hold", "Held"
    return kind, word


def _ordinal(number: int) -> str:
    return (
        f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number if number < 20 else number % 10, 'th') }".replace(
            " ", ""
        )
    )


COLOURS = {"run": "f-run", "ok": "f-ok", "bad": "f-bad", "ask": "f-ask", "unknown": "f-ask", "skip": "f-idle"}
