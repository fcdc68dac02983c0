"""The card of a plan that has ended: what is true now, first; then how it went, in one line."""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from bot.cards.blocks import clock, escape, moment
from bot.cards.face.lines import spans, subject, title
from bot.cards.face.once import elsewhere
from bot.cards.face.reasons import WRONG, reason, wrong
from bot.cards.face.running import SIGNS, asking, counted, sign_of, stands
from bot.cards.phrases import OUTCOMES, TIMED, first_clauses, lasting, spent, standing
from bot.untrusted import clip
from storage.config import local
from storage.contract.saying import outcome
from storage.contract.spec import StepSpec
from storage.contract.states import PlanState, StepState
from storage.reading.plan_view import PlanView, StepView

STEPS = 4  # told one by one
TOLD = 45  # characters of what each reported
SHORT = 75  # characters of all that went well: two lines on a phone
MINUTE = timedelta(minutes=1)
ADVICE = 3
BESIDES = re.compile(r" \([^()]*\)")
SECONDS = re.compile(rf" {TIMED.pattern}")


def ended(view: PlanView, now: datetime) -> list[str]:
    if view.state != PlanState.done:
        why = f": {escape(clip(view.reason, 300))}" if reason(view) else ""
        told = _course(view) if any(step.attempt for step in view.steps) else []
        head = f"*{escape(clip(subject(view), 200))}*\n:no_entry:  *{_closed(view, now)}*{why}"
        return ["\n".join([head, *told])]
    good = view.outcome == "succeeded"
    sign = SIGNS[StepState.succeeded if good else StepState.failed]
    fact = fact_of(view) if good else f"{subject(view)}: {OUTCOMES.get(view.outcome, view.outcome)}"
    told = [" ".join(_true_now(view))] if not good else []
    told += [*_course(view), *advice(view)]
    head = f"{sign}  *{escape(clip(fact, 250))}*{_since(view) if good else ''}"
    return ["\n".join(filter(None, [head, *told]))]


def _true_now(view: PlanView) -> Iterator[str]:
    """Why it ended so, and what is true now, where that is easily said."""
    bad = spans(number for number, step in wrong(view) if not asking(step))
    failed = f"Step {bad} failed" if bad and len(view.steps) > 1 else ""
    if said := reason(view) or failed:
        yield f"{escape(clip(said, 300)).rstrip('.')}."
    back = [step.report.summary for step in view.steps if _undone(step) and step.report]
    if back:
        yield f"Now: {escape('; '.join(first_clauses(said, TOLD) for said in back))}."
    if view.steps and not any(step.attempt for step in view.steps if view.changes_something(step.spec)):
        yield "Nothing was changed."


def _undone(step: StepView) -> bool:
    return bool(step.undo) and step.state == StepState.succeeded


def _closed(view: PlanView, now: datetime) -> str:
    words = standing(view, now)
    return escape(words[:1].upper() + words[1:])


def fact_of(view: PlanView) -> str:
    """What is true now that it succeeded: as its last change says, if there are few of them."""
    return come_true(view) or f"{subject(view)}: done"


def come_true(view: PlanView) -> str:
    """What its last change has left, in plain words; "" where that is not the whole of it, or not done."""
    last = _last_change(view) if view.outcome == "succeeded" else None
    return outcome(view.contract(last), last) if last else ""


def _last_change(view: PlanView) -> StepSpec | None:
    changing = [step.spec for step in view.steps if view.changes_something(step.spec) and not step.undo]
    return changing[-1] if 0 < len(changing) <= 2 else None


def _since(view: PlanView) -> str:
    last = _last_end(view)
    if last is None:
        return ""
    zone = zone_of(view)
    same = local(last, zone or "UTC").date() == local(view.created_at, zone or "UTC").date()
    day = "" if same or not zone else f"{local(last, zone):%d %b} "  # the message has the day of the request
    return f" · since {day}{_clock(last, zone, named=True) if zone or same else moment(last)}"


def _last_end(view: PlanView) -> datetime | None:
    return max((step.ended_at for step in view.steps if step.ended_at), default=None)


def zone_of(view: PlanView) -> str:
    """The zone in which its times were said; "" where none was."""
    zones = [step.spec.schedule.zone for step in view.steps if step.spec.schedule.not_before]
    return zones[-1] if zones else ""


def _clock(moment: datetime, zone: str, *, named: bool = False) -> str:
    """A time in the zone in which people spoke of it, else in the reader's own."""
    if not zone:
        return clock(moment)
    there = local(moment, zone)
    return f"{there:%H:%M} {there.tzname()}" if named else f"{there:%H:%M}"


def _course(view: PlanView) -> list[str]:
    """What happened when, with how long it took by the clock on the wall."""
    times = [(step.started_at, step.ended_at) for step in view.steps if step.started_at and step.ended_at]
    if len(view.steps) <= STEPS:
        ran = [step for step in view.steps if (step.report or step.started_at) and not _undone(step)]
        told = [" · ".join(_one_by_one(view, ran))] if times else []
        return [" · ".join([*told, *_not_run(view)])]
    whole = (max(end for _, end in times) - min(start for start, _ in times)).total_seconds() if times else 0
    wrong = [step for step in view.steps if step.state in WRONG][:3]
    bad = [f"{sign_of(step)}  {_told(view, step, at=step.started_at)}" for step in wrong]
    return [f"{len(view.steps)} steps: {counted(view)}, in {lasting(whole)}", *bad]


def _not_run(view: PlanView) -> list[str]:
    left = [title(view, step.spec) for step in view.steps if not (step.report or step.started_at)]
    return [f"not run: {escape(clip(', '.join(left), 200))}"] if left else []


def _one_by_one(view: PlanView, steps: Sequence[StepView]) -> Iterator[str]:
    """Each step, with its minute unless the one before it began in the same, or the heading says it."""
    good = view.outcome == "succeeded"
    minute = _minute(_last_end(view)) if good else None
    for step in steps:
        began = _minute(step.started_at)
        at = began if began != minute else None
        short = good and len(steps) > 1
        yield _in_short(view, step, SHORT // len(steps), at=at) if short else _told(view, step, at=at)
        minute = began


def _minute(at: datetime | None) -> datetime | None:
    return at and at.replace(second=0, microsecond=0)


def _told(view: PlanView, step: StepView, *, at: datetime | None) -> str:
    """When, what it reports (a report says what it is about), and how long that took."""
    said = _reported(view, step)
    return f"{_when(view, at)}{escape(said)}{spent(step, said)}"


def _in_short(view: PlanView, step: StepView, room: int, *, at: datetime | None) -> str:
    """The same without seconds, and without particulars that have no room: the thread has them."""
    said = SECONDS.sub("", _reported(view, step))
    said = said if len(said) <= room else said.partition(": ")[0]
    return f"{_when(view, at)}{escape(said)}{spent(step, said) if (step.took or MINUTE) > MINUTE else ''}"


def _when(view: PlanView, at: datetime | None) -> str:
    return f"{_clock(at, zone_of(view))} " if at else ""


def _reported(view: PlanView, step: StepView) -> str:
    """The main thing; what stands in brackets of a step that went well, the thread says."""
    if not step.report:
        return _unsaid(view, step.spec, title(view, step.spec))
    said = stands(step, view.created_at)
    said = BESIDES.sub("", said) if step.state == StepState.succeeded else said
    return _unsaid(view, step.spec, first_clauses(said, TOLD))


def _unsaid(view: PlanView, step: StepSpec, said: str) -> str:
    """A report without the place of which the heading speaks; of its own step, without the name, too."""
    fact = come_true(view)
    heard = step.parameters.values() if fact and step == _last_change(view) else ()
    for name in (value for value in heard if isinstance(value, str) and value in fact):
        said = said.removeprefix(f"{name} ")
    what, colon, rest = said.partition(": ")
    said = rest if colon and what in fact else said
    return elsewhere(fact or subject(view), said)


def advice(view: PlanView) -> list[str]:
    """What the workers recommend, also of steps that went well."""
    found = [line for step in view.steps if step.report for line in step.report.recommendations]
    return [f"*Advice:* {escape(clip(line, 200))}" for line in dict.fromkeys(found)][:ADVICE]
