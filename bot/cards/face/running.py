"""The card of a plan that is under way: where it stands, and a line for each step, with sign and words."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta

from bot.cards.blocks import escape
from bot.cards.face.lines import brief, subject, title
from bot.cards.face.once import named
from bot.cards.face.reasons import reason
from bot.cards.phrases import doer, first_clauses, lasting, placeless, standing, untold, waiting
from bot.untrusted import clip
from storage.config import local
from storage.contract.grouping import LINES
from storage.contract.report import asks
from storage.contract.states import OPEN, StepState
from storage.reading.plan_view import PlanView, StepView

SIGNS = {
    StepState.pending: ":white_circle:", StepState.running: ":hourglass_flowing_sand:",
    StepState.succeeded: ":white_check_mark:", StepState.failed: ":x:", StepState.unknown: ":warning:",
    StepState.skipped: ":heavy_minus_sign:", StepState.cancelled: ":no_entry_sign:",
}  # fmt: skip
COUNTED = {
    StepState.succeeded: "done", StepState.failed: "failed", StepState.unknown: "cut off",
    StepState.cancelled: "cancelled", StepState.skipped: "not run", StepState.running: "running",
    StepState.pending: "to come",
}  # fmt: skip
ASKS, DECLINED, UNANSWERED = "waiting for an answer", "declined", "not answered"
LEFT = {StepState.pending, StepState.running, StepState.unknown}
TOLD = 120  # characters of what a step reports
GONE_WELL = 60  # of one that went well: all of it stands in the thread
COUNTDOWN = [timedelta(hours=h) for h in (24, 12, 6, 3, 2, 1)] + [
    timedelta(minutes=m) for m in (30, 10, 5, 1)
]


def under_way(view: PlanView, now: datetime) -> list[str]:
    """What it is, where it stands, and its steps."""
    head = f"*{escape(clip(subject(view), 200))}*\n*{_capital(escape(standing(view, now)))}*"
    waits = standing(view, now).startswith("waits until")
    left = f" · in {lasting(_rounded(ahead(view, now) - now))}" if waits else ""
    lines = _lines(view, now)
    # The heading counts down already, for the step that is next.
    return [f"{head}{left}{_why(view)}", "\n".join(lines).replace(left.replace(" ·", ","), "", 1)]


def _why(view: PlanView) -> str:
    """Why it needs an answer, unless the line of a step says so."""
    told = [step.report.summary for step in view.steps if step.report]
    known = not reason(view) or any(view.reason in said for said in told)
    return "" if known or view.state != "stalled" else f"\n{escape(clip(reason(view), 300))}"


def ahead(view: PlanView, now: datetime) -> datetime:
    """The next time that a step waits for; now, if none does."""
    times = (step.not_before for step in view.steps if step.state == StepState.pending)
    return min((moment for moment in times if moment and moment > now), default=now)


def redrawn_at(view: PlanView, now: datetime) -> datetime | None:
    """When a countdown has gone down so far that the card says it anew: some ten times in one wait."""
    moment = ahead(view, now)
    return (
        min((at for left in COUNTDOWN if (at := moment - left) > now), default=None) if moment > now else None
    )


def _rounded(left: timedelta) -> float:
    return max(60.0, left.total_seconds() // 60 * 60)


def counted(view: PlanView) -> str:
    """How many of its steps are done, failed, to come. One that asks somebody has not failed."""
    found = Counter(asked(view, step) or COUNTED[step.state] for step in view.steps)
    words = (*COUNTED.values(), DECLINED, UNANSWERED, ASKS)
    return ", ".join(f"{found[told]} {told}" for told in words if found[told])


def listed(view: PlanView, step: StepView) -> str:
    """Its state, as lists of steps show it."""
    return asked(view, step) or str(step.state)


def asked(view: PlanView, step: StepView) -> str:
    """How a step that asked somebody stands, or "" for any other."""
    if not asking(step):
        return ""
    if step.choice:
        return DECLINED
    return ASKS if view.state in OPEN else UNANSWERED


def stretch(steps: Sequence[StepView], most: int) -> range:
    """The steps that are listed: all, or those from where the plan stands on, two fewer than fit."""
    if len(steps) <= most:
        return range(len(steps))
    left = [n for n, step in enumerate(steps) if step.state in LEFT]
    bad = [n for n, step in enumerate(steps) if step.state == StepState.failed]
    here = next(iter([*left, *bad]), 0)
    start = max(0, min(here - 2, len(steps) - (most - 2)))
    return range(start, start + most - 2)


def _lines(view: PlanView, now: datetime) -> list[str]:
    """Each step; of many what went wrong, what runs and what is next, and how many the others are."""
    numbered = [*enumerate(view.steps, 1)]
    if len(numbered) <= LINES:
        return [step_line(view, number, step, now) for number, step in numbered]
    loud = {StepState.failed, StepState.unknown, StepState.running, StepState.cancelled}
    shown = [(number, step) for number, step in numbered if step.state in loud][-(LINES - 2) :]
    comes = [(number, step) for number, step in numbered if step.state == StepState.pending][:1]
    lines = [step_line(view, number, step, now) for number, step in [*shown, *comes]]
    return [f"{len(numbered)} steps: {counted(view)}", *lines]


def step_line(view: PlanView, number: int, step: StepView, now: datetime) -> str:
    """One step: its sign, what it does, and how it stands."""
    sign = sign_of(step)
    name, told = escape(clip(title(view, step.spec), 200)), stands(step, now)
    told = first_clauses(told, GONE_WELL) if step.state == StepState.succeeded else told
    by = f" · by {doer(step.stopped_by)}" if step.stopped else ""
    return f"{sign}  {number}.  {named(name, escape(told))}{by}{_times(step, told)}"


def sign_of(step: StepView) -> str:
    """The sign of how it stands: who says no to a question has not made it fail."""
    if question(step):
        return ":raised_hand:"
    return SIGNS[StepState.skipped] if asking(step) else SIGNS[step.state]


def question(step: StepView) -> bool:
    """Whether it waits for somebody's word, and nobody has answered yet."""
    return asking(step) and not step.choice


def asking(step: StepView) -> bool:
    """Whether it has asked for somebody's word, as the plan says: that is no failure."""
    return step.state == StepState.failed and step.report is not None and asks(step.report.model_dump())


def stands(step: StepView, now: datetime) -> str:
    """How one step stands, in a few plain words."""
    if step.state == StepState.running:
        return clip(step.progress, TOLD)
    if step.state == StepState.pending:
        return _pending(step, now)
    if step.state == StepState.unknown:
        return "was cut off; whether it happened is being found out" if step.probing else "was cut off"
    if step.state == StepState.skipped:
        return "not run"
    return clip(placeless(step.report.summary), TOLD) if step.report else COUNTED[step.state]


def _pending(step: StepView, now: datetime) -> str:
    if step.stopped or not step.not_before or step.not_before <= now:
        return clip(waiting(step, now), TOLD)
    zone = step.spec.schedule.zone
    until = f", until {_end(step.not_before, step.not_after, zone, now)}" if step.not_after else ""
    again = "again " if step.attempt else ""
    return f"{again}{brief(step.not_before, zone, now)}, in {lasting(_rounded(step.not_before - now))}{until}"


def _end(start: datetime, end: datetime, zone: str, now: datetime) -> str:
    same = local(start, zone).date() == local(end, zone).date()
    return f"{local(end, zone):%H:%M}" if same else brief(end, zone, now)


def _times(step: StepView, told: str) -> str:
    tries = f"try {step.attempt}" if step.attempt > 1 else ""
    ended = untold(step, told) if step.state in {StepState.succeeded, StepState.failed} else ""
    ended = "" if asking(step) else ended
    return "".join(f" · {part}" for part in (tries, ended) if part)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
