"""The answer to a question, for one person alone: what was read, or why it could not be."""

from bot.cards.blocks import Block, context, escape, section
from bot.untrusted import clip
from storage.contract.states import StepState
from storage.reading.plan_view import PlanView, StepView

ALONE = "Read just now. Only you see this."


def read_answer(view: PlanView) -> tuple[str, list[Block]]:
    """In words, and as blocks."""
    said = " ".join(_said(step) for step in view.steps) or "I could not find that out."
    notes = [escape(clip(note, 300)) for note in view.notes]
    return said, [section(escape(clip(said, 2800))), context(" · ".join([*notes, ALONE]))]


def _said(step: StepView) -> str:
    report = step.report
    if report is None:
        return "I could not find that out."
    why = report.error.message if report.error and step.state != StepState.succeeded else ""
    return report.summary if why in report.summary else f"{report.summary}: {why}"
