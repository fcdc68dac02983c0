"""How a plan ended: the summary in its thread, and of a long plan the results as a file."""

from collections.abc import Sequence
from datetime import UTC, datetime

from bot.cards.blocks import Block, actions, button, escape, pack
from bot.cards.face.lines import subject, title
from bot.cards.face.once import elsewhere
from bot.cards.face.reasons import why
from bot.cards.face.running import asking, counted, listed
from bot.cards.phrases import OUTCOMES, SOON, first_clauses, lasting, overrode, placeless, spent, wisher
from bot.cards.save_form import save_button
from bot.planner.decision import progress
from bot.planner.review.closing import told
from bot.untrusted import clip, legible
from storage.contract.states import StepState
from storage.database.tables import Event
from storage.reading.plan_view import PlanView, StepView

WHY = 60  # characters of what the message above says in full
ROOM = 2000  # characters for the results of the steps
SIGNS = {StepState.succeeded: ":white_check_mark:", StepState.failed: ":x:"}


def summary(view: PlanView, event: Event | None) -> tuple[list[str], list[Block]]:
    """How it ended, to whoever asked. What each step came to stands above it in the thread, a line each."""
    good = view.outcome == "succeeded"
    sign = ":white_check_mark:" if good else ":octagonal_sign:"
    lines = [
        f"{sign} *{escape(subject(view))}*: {_outcome(view)} · {wisher(view).rstrip(',')}{overrode(view)}"
    ]
    if view.spec and (said := told(progress(view))):
        lines.append(f"> {escape(said)}")
    if not good and (len(view.steps) > 1 or not _told_above(view.steps)):
        lines.append(f"Why: {escape(first_clauses(why(view), WHY))}")
    lines += _results(view)
    again = actions(
        f"again_{view.id}", button("Plan Again", "plan_again", pack(view.id, view.revision, view.digest))
    )
    return lines, [save_button(view)] if good else [again]


def lengthy(view: PlanView) -> bool:
    """Whether the results of the steps go into a file."""
    return sum(map(len, _lines(view))) > ROOM and len(view.steps) > 1


def results_file(view: PlanView) -> str:
    return f"plan-{view.id}-results.txt"


def results(view: PlanView) -> str:
    """What each step came to, to read as a file."""
    lines = [f"{subject(view)}: {_outcome(view)}", ""]
    for number, step in enumerate(view.steps, 1):
        said, name = _said(view, step), f"{number}. [{listed(view, step)}] {title(view, step.spec)}"
        lines.append(f"{name}: {said}{spent(step, said)}")
    return legible("\n".join(lines)) + "\n"


def _results(view: PlanView) -> list[str]:
    """The result of an only step; of many what did not go well, and where all of it stands."""
    if len(view.steps) == 1:
        return [] if _told_above(view.steps) else [escape(clip(_said(view, view.steps[0]), 1500))]
    if not lengthy(view):
        return []  # a line each, above
    bad = [step for step in view.steps if step.state in {StepState.failed, StepState.unknown}]
    said = f"{len(view.steps)} steps: {counted(view)}. Each of them stands in `{results_file(view)}`."
    return [said, *(_line(view, step, 200) for step in bad[:4])]


def _told_above(steps: Sequence[StepView]) -> bool:
    """Whether the message about the only step has said why it failed."""
    return steps[0].state == StepState.failed if steps else False


def _lines(view: PlanView) -> list[str]:
    return [_line(view, step, 300) for step in view.steps]


def _line(view: PlanView, step: StepView, longest: int) -> str:
    sign = ":white_circle:" if asking(step) else SIGNS.get(step.state, ":white_circle:")
    name = escape(clip(title(view, step.spec), 150))
    said = _said(view, step)
    return f"{sign} {name}: {escape(clip(said, longest))}{spent(step, said)}"


def busy(spans: Sequence[tuple[datetime, datetime]]) -> float:
    """For how many seconds something ran, by the clock on the wall: what ran together counts once."""
    seconds, until = 0.0, datetime.min.replace(tzinfo=UTC)
    for start, end in sorted(spans):
        seconds += max(0.0, (end - max(start, until)).total_seconds())
        until = max(until, end)
    return seconds


def _said(view: PlanView, step: StepView) -> str:
    """What it reports, without the place that stands before it."""
    said = placeless(step.report.summary) if step.report else "not run"
    return elsewhere(title(view, step.spec), said)


def _outcome(view: PlanView) -> str:
    """How it ended and how long it took, and how long with the waiting, where that is much more."""
    ended = OUTCOMES.get(view.outcome, view.outcome)
    spans = [(step.started_at, step.ended_at) for step in view.steps if step.started_at and step.ended_at]
    if not spans:
        return ended
    work = busy(spans)
    whole = (max(end for _, end in spans) - min(start for start, _ in spans)).total_seconds()
    waited = f" ({lasting(whole)} with waiting)" if whole > 2 * work + 5 else ""
    return f"{ended} in {lasting(work)}{waited}" if work >= SOON else ended
