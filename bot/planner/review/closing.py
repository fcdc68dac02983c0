"""The last word of a plan: what its reports say to the goal."""

from bot.planner.decision import Progress
from bot.planner.model.prompt import plain
from storage.contract.spec import StepSpec
from storage.contract.states import StepState

LONGEST = 2_000


def answer(now: Progress) -> str:
    """A summary's own text if there is one, else what the last steps reported, one line each."""
    reports = [report for step in _ended(now) if (report := now.steps[step.id].report)]
    return told(now) or "\n".join(plain(report.summary) for report in reports)


def told(now: Progress) -> str:
    """The text that a last step made to be read, or ""."""
    texts = [text for s in _ended(now) if isinstance(text := now.data().get(s.id, {}).get("text"), str)]
    return plain(texts[-1], LONGEST) if texts else ""


def _ended(now: Progress) -> list[StepSpec]:
    return [step for step in _last(now) if now.state(step.id) == StepState.succeeded]


def _last(now: Progress) -> list[StepSpec]:
    """The steps that no other one waits for."""
    needed = {need for step in now.spec.steps for need in step.depends_on}
    return [step for step in now.spec.steps if step.id not in needed]
