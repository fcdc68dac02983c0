"""What is known about plans, reports and rules, in the form that a planner reads: bounded. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from bot.planner.model.advice import bounded
from bot.planner.model.prompt import plain
from bot.times.windows import next_opening
from storage.config import Freeze, SignoffConfig
from storage.contract.spec import StepSpec, utc
from storage.contract.states import StepState
from storage.errors import BadTime
from storage.reading.plan_view import PlanView, StepView

AHEAD = timedelta(days=14)  # freezes and holidays that are told of
LAST = 3  # plans on one thing
STEPS = 12  # of one earlier plan
WORDS = 40  # messages of a thread
DETAIL = (12, 120)  # of a report: fields, and characters of a value


@dataclass(frozen=True)
class Said:
    """One message of a thread: who said it, and whether they may instruct."""

    author: str
    text: str
    at: str
    instructs: bool


def thread(messages: Sequence[Said]) -> list[dict[str, Any]]:
    """What was said before, oldest first; of more than fits, the newest."""
    return [
        {
            "author": plain(one.author, 60),
            "at": one.at,
            "may_instruct": one.instructs,
            "said": plain(one.text, 500),
        }
        for one in messages[-WORDS:]
    ]


def earlier(views: Iterable[PlanView]) -> list[dict[str, Any]]:
    """Plans that may be meant, with what they did: calls, values, and what was there before."""
    return [
        {"plan": view.id, "request": plain(view.text, 300), "ended": ending(view), "at": utc(view.created_at),
         "steps": [_step(step) for step in view.steps if not step.undo][:STEPS]}
        for view in views
    ]  # fmt: skip


def _step(step: StepView) -> dict[str, Any]:
    was = {"was_before": bounded(step.previous, DETAIL)} if step.previous else {}
    state = "" if step.state == StepState.pending else str(step.state)
    return {
        "call": _call(step.spec),
        "parameters": bounded(step.spec.parameters, DETAIL),
        "state": state,
    } | was


def _call(step: StepSpec) -> str:
    return f"{step.worker}.{step.action}"


def ending(view: PlanView) -> str:
    """How a plan ended, and why."""
    how = view.outcome or str(view.state)
    return plain(f"{how}: {view.reason}" if view.reason else how, 200)


def last_plans(name: str, views: Iterable[PlanView]) -> list[dict[str, Any]]:
    """The newest plans on one thing, newest first."""
    found = [
        view for view in views if view.spec and any(name in _values(s.parameters) for s in view.spec.steps)
    ]
    return [
        {"plan": view.id, "at": utc(view.created_at), "request": plain(view.text, 200), "ended": ending(view)}
        for view in found[:LAST]
    ]  # fmt: skip


def last_seen(
    name: str, reads: Iterable[tuple[StepSpec, Mapping[str, Any], str, datetime]]
) -> list[dict[str, Any]]:
    """What reads of one thing reported last, one for each action, with how long ago."""
    found: dict[str, dict[str, Any]] = {}
    for step, data, summary, at in sorted(reads, key=lambda one: one[3], reverse=True):
        if name in _values(step.parameters) and _call(step) not in found:
            said = {"call": _call(step), "at": utc(at), "parameters": bounded(step.parameters, DETAIL)}
            found[_call(step)] = said | {"summary": plain(summary), "data": bounded(data, DETAIL)}
    return [*found.values()]


def freezes(config: SignoffConfig, now: datetime) -> list[dict[str, Any]]:
    """Those that hold, or will soon."""
    near = [one for one in config.freezes.values() if one.until > now and one.since < now + AHEAD]
    return [_freeze(one, now) for one in near]


def _freeze(one: Freeze, now: datetime) -> dict[str, Any]:
    return {
        "environments": [*one.environments] or ["all"], "from": utc(one.since), "until": utc(one.until),
        "holds_now": one.since <= now, "reason": plain(one.reason, 200),
    }  # fmt: skip


def windows(config: SignoffConfig, now: datetime) -> list[dict[str, str]]:
    """When each window opens next."""
    found = []
    for name, window in config.windows.items():
        try:
            found.append({"window": name, "opens": utc(next_opening(window, now)[0])})
        except (BadTime, ValueError):
            continue
    return found


def holidays(config: SignoffConfig, now: datetime) -> list[str]:
    """The near days on which no window opens."""
    today = now.astimezone(UTC).date()
    days = {day: name for name, given in config.holidays.items()
            for day in (given if isinstance(given, tuple) else (given,))}  # fmt: skip
    return [
        f"{day}: {plain(name, 60)}" for day, name in sorted(days.items()) if today <= day <= today + AHEAD
    ]


def _values(parameters: Mapping[str, Any]) -> list[Any]:
    return [value for value in parameters.values() if isinstance(value, str)]
