"""How a plan ended: the summary in its thread, and of a long plan the results as a file."""

from bot.cards.blocks import Block, actions, button, escape, pack
from bot.cards.phrases import OUTCOMES, lasting, overrode, spent, title
from bot.cards.save_form import save_button
from bot.cards.tasks import counted, goal
from bot.planner.decision import progress
from bot.planner.review.closing import told
from bot.untrusted import clip, inert
from storage.contract.states import StepState
from storage.database.tables import Event
from storage.reading.plan_view import PlanView, StepView

ROOM = 2000  # characters for the results of the steps
SIGNS = {StepState.succeeded: ":white_check_mark:", StepState.failed: ":x:"}


def summary(view: PlanView, event: Event | None) -> tuple[list[str], list[Block]]:
    good = view.outcome == "succeeded"
    sign = ":white_check_mark:" if good else ":octagonal_sign:"
    lines = [f"{sign} *{escape(goal(view))}*: {_outcome(view)}"]
    if view.spec and (said := told(progress(view))):
        lines.append(f"> {escape(said)}")
    if not good:
        lines.append(f"Why: {escape(clip(view.reason, 500))}")
    lines += _results(view)
    approved = f"; {_names(view)} approved" if view.approved_by else ""
    lines.append(f"<@{view.requester}> asked{approved}{overrode(view)}")
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
    lines = [f"{goal(view)}: {_outcome(view)}", ""]
    for number, step in enumerate(view.steps, 1):
        lines.append(f"{number}. [{step.state}] {title(step.spec)}: {_said(step)}{spent(step)}")
    return inert("\n".join(lines)) + "\n"


def _results(view: PlanView) -> list[str]:
    """What each step came to; of a long plan what did not go well, and where the rest stands."""
    if not lengthy(view):
        return _lines(view)
    bad = [step for step in view.steps if step.state in {StepState.failed, StepState.unknown}]
    said = f"{len(view.steps)} steps: {counted(view.steps)}. Each of them stands in `{results_file(view)}`."
    return [said, *(_line(step, 200) for step in bad[:4])]


def _lines(view: PlanView) -> list[str]:
    return [_line(step, 300 if len(view.steps) > 1 else 1500) for step in view.steps]


def _line(step: StepView, longest: int) -> str:
    sign = SIGNS.get(step.state, ":white_circle:")
    return f"{sign} {escape(clip(title(step.spec), 150))}: {escape(clip(_said(step), longest))}{spent(step)}"


def _said(step: StepView) -> str:
    return step.report.summary if step.report else "not run"


def _outcome(view: PlanView) -> str:
    """How it ended and how long it took, and how long with the waiting, where that is much more."""
    ended = OUTCOMES.get(view.outcome, view.outcome)
    spans = [(step.started_at, step.ended_at) for step in view.steps if step.started_at and step.ended_at]
    if not spans:
        return ended
    work = sum((end - start).total_seconds() for start, end in spans)
    whole = (max(end for _, end in spans) - min(start for start, _ in spans)).total_seconds()
    waited = f" ({lasting(whole)} with waiting)" if whole > 2 * work + 5 else ""
    return f"{ended} in {lasting(work)}{waited}"


def _names(view: PlanView) -> str:
    return ", ".join(f"<@{user}>" for user in view.approved_by)
