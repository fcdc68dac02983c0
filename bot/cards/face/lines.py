"""What people decide by: the plan's title, a line for each step, when it starts, what follows if it fails.

Made by code from the actions' contracts and the parameters; a planner's words are quoted elsewhere.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from bot.cards.blocks import escape
from bot.cards.phrases import FAILURE
from bot.policy.authorize import mention
from bot.times.zones import spoken
from bot.untrusted import legible
from storage.config import local
from storage.contract.capability import Check
from storage.contract.grouping import Group, grouped, lines, said
from storage.contract.saying import line, short, verb
from storage.contract.spec import FailureAction, PlanSpec, Schedule, StepSpec, UndoSpec, reference
from storage.contract.states import StepState
from storage.reading.plan_view import PlanView

LATE = {"finish": "", "ask": ", asks if it still runs then", "stop": ", stops if it still runs then"}
OPS = {
    "eq": "=",
    "ne": "≠",
    "lt": "<",
    "le": "≤",
    "gt": ">",
    "ge": "≥",
    "exists": "exists",
    "contains": "has",
}
AT_ONCE = "on approval"
PREVIOUS = "previous"  # what was there when the step began


def title(view: PlanView, step: StepSpec) -> str:
    """A step in a few plain words."""
    return legible(short(view.contract(step), step))


def subject(view: PlanView) -> str:
    """What the whole plan does, in plain words; the wish itself while there is no plan."""
    return _subject(view, view.spec) if view.spec else view.text


def _subject(view: PlanView, spec: PlanSpec) -> str:
    found = grouped(spec)
    chosen = [group for group in found if view.changes_something(spec.steps[group.first])] or found
    if len(chosen) <= 2:
        first, *rest = (_short(view, spec, group) for group in chosen)
        return _capital(" and ".join([first, *(text[:1].lower() + text[1:] for text in rest)]))
    kinds = [*dict.fromkeys(verb_of(view, spec.steps[group.first]) for group in chosen)]
    many = sum(group.size for group in chosen)
    some = "changes" if view.changes_something(spec.steps[chosen[0].first]) else "steps"
    return f"{_capital(_and(kinds[:3], more=len(kinds) > 3))}: {many} {some}"


def _short(view: PlanView, spec: PlanSpec, group: Group) -> str:
    step = spec.steps[group.first]
    if group.size == 1:
        return title(view, step)
    many = f"{group.size} {group.varies.replace('_', ' ').removesuffix('s')}s"
    text = legible(short(view.contract(step), step, {group.varies: many}))
    return text if many in text else f"{text} ({many if group.varies else f'{group.size} times'})"


def verb_of(view: PlanView, step: StepSpec) -> str:
    """What it does, in a word: to be counted."""
    word = verb(view.contract(step), step)
    return word[:1].lower() + word[1:]


def _and(words: list[str], *, more: bool) -> str:
    return (
        f"{', '.join(words)}, …"
        if more
        else " and ".join([", ".join(words[:-1]), words[-1]]).removeprefix(" and ")
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def step_lines(view: PlanView, now: datetime) -> list[str]:
    """Every step, as mrkdwn: what it does with every chosen value, and when. Nothing is cut."""
    return [group_line(view, view.spec, group, now) for group in lines(view.spec)] if view.spec else []


def group_line(view: PlanView, spec: PlanSpec, group: Group, now: datetime) -> str:
    step, one = said(spec, group), spec.steps[group.first].id
    was = view.step(one).was if group.size == 1 and view.has(one) else ""
    text = line(view.contract(step), _readable(step, spec), was=was, show=escape)
    number = f"{group.first + 1}" if group.size == 1 else f"{group.first + 1}–{group.last + 1}"
    time = _done(view, spec, group) or when(spec, group.first, now)
    if time == AT_ONCE and view.starts_at:
        time = brief(view.starts_at, view.starts_zone, now)
    return f"{number}.  {text}{_together(group)}{_besides(step)}" + (f" · {time}" if time else "")


def _done(view: PlanView, spec: PlanSpec, group: Group) -> str:
    """What of it has run in an earlier revision, and stands: nobody shall wait for it to run again."""
    keys = [step.id for step in spec.steps[group.first : group.last + 1]]
    done = sum(ran(view, key) for key in keys)
    if done < group.size:
        return f"{done} of {group.size} done already, and not run again" if done else ""
    return "done already, and not run again"


def ran(view: PlanView, key: str) -> bool:
    return view.has(key) and view.step(key).state == StepState.succeeded


def _together(group: Group) -> str:
    if group.size == 1:
        return ""
    how = "one after the other" if group.chained else "together"
    return f", {how}" if group.varies else f", {group.size} times, {how}"


def _besides(step: StepSpec) -> str:
    """What else people approve with it: checks of its own, and more or fewer tries than usual."""
    usual = StepSpec.model_fields["retries"].default
    tries = f", up to {step.retries.attempts} tries" if step.retries.attempts != usual.attempts else ""
    own = [check for check in step.success_criteria if isinstance(check, Check) and not check.name]
    return tries + (f", done only if {escape(' and '.join(map(checked, own)))}" if own else "")


def checked(check: Check) -> str:
    return f"{check.field} {OPS[check.op]}" + ("" if check.op == "exists" else f" {check.value}")


def _readable(step: StepSpec, spec: PlanSpec) -> StepSpec:
    """With references said by the number of the step that they come from."""
    numbers = {other.id: number for number, other in enumerate(spec.steps, 1)}
    found = {name: ref for name, value in step.parameters.items() if (ref := reference(value))}
    words = {name: f"{field} of step {numbers.get(key, key)}" for name, (key, field) in found.items()}
    return step.model_copy(update={"parameters": step.parameters | words}) if words else step


def when(spec: PlanSpec, number: int, now: datetime) -> str:
    """When a step may start. Nothing is said of one that follows the step before it."""
    step, numbers = spec.steps[number], {other.id: n for n, other in enumerate(spec.steps, 1)}
    before = spec.steps[number - 1] if number else None
    follows = before is not None and step.depends_on == (before.id,)
    if step.schedule.not_before and not (follows and before and step.schedule == before.schedule):
        order = "" if follows or not step.depends_on else f", {_after(step, numbers)}"
        return f"{at(step.schedule, now)}{order}"
    if follows:
        return ""
    if before and step.depends_on == before.depends_on:
        first = next(n for n, other in enumerate(spec.steps, 1) if other.depends_on == step.depends_on)
        return f"together with {first}"
    return _after(step, numbers) if step.depends_on else AT_ONCE


def _after(step: StepSpec, numbers: Mapping[str, int]) -> str:
    return f"after {spans(numbers[key] for key in step.depends_on if key in numbers)}"


def at(schedule: Schedule, now: datetime) -> str:
    """A time as people say it, with its end, the days on which it is not, and what follows if it overruns."""
    if schedule.not_before is None:
        return AT_ONCE
    until = ""
    if schedule.not_after:
        same = (
            local(schedule.not_after, schedule.zone).date()
            == local(schedule.not_before, schedule.zone).date()
        )
        end = (
            f"{local(schedule.not_after, schedule.zone):%H:%M}"
            if same
            else brief(schedule.not_after, schedule.zone, now)
        )
        until = f", until {end}"
    closed = f", not on {', '.join(schedule.closed)}" if schedule.closed else ""
    return f"{brief(schedule.not_before, schedule.zone, now)}{until}{LATE[schedule.overrun]}{escape(closed)}"


def brief(moment: datetime, zone: str, now: datetime) -> str:
    """A moment of the coming days by its weekday; any other by its date."""
    there = local(moment, zone)
    near = timedelta(0) <= moment - now < timedelta(days=6)
    return f"{there:%a %H:%M} {there.tzname()}" if near else spoken(moment, zone).partition(" (")[0]


def spans(numbers: Iterable[int]) -> str:
    """Step numbers, those that follow each other as a span of the first and the last."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs)


def failing(view: PlanView, on_call: str = "") -> list[str]:
    """What follows if a step fails, grouped by that, and what undoes what."""
    spec = view.spec
    if spec is None:
        return []
    ways: dict[FailureAction, list[int]] = {}
    for number, step in enumerate(spec.steps, 1):
        ways.setdefault(step.failure_action, []).append(number)
    undos = _undos(view, spec)
    alone = [*undos] == ways.get("rollback")  # it undoes itself, and nothing else is ever undone
    words = FAILURE | ({"ask": f"asks {' '.join(map(mention, on_call.split()))}"} if on_call else {})
    words |= {"rollback": next(iter(undos.values())) if alone and len(undos) == 1 else "rolls back"}
    single = len(spec.steps) == 1
    told = [words[way] if single else f"{spans(numbers)}: {words[way]}" for way, numbers in ways.items()]
    lines = [f"*If it fails:* {' · '.join(told)}"]
    all_ = " · ".join(f"{number}: {text}" for number, text in undos.items())
    return lines if not undos or (alone and len(undos) == 1) else [*lines, f"*Rolling back:* {all_}"]


def _undos(view: PlanView, spec: PlanSpec) -> dict[int, str]:
    """What undoes each step, by its number."""
    numbers = {step.id: number for number, step in enumerate(spec.steps, 1)}
    return {numbers[undo.undoes]: _undo(view, spec, undo) for undo in spec.rollback}


def _undo(view: PlanView, spec: PlanSpec, undo: UndoSpec) -> str:
    """What undoes a step; where it only puts back what its preview found there, what that is."""
    step = next(step for step in spec.steps if step.id == undo.undoes)
    was = view.step(step.id).was if view.has(step.id) else ""
    own = {name: value for name, value in undo.parameters.items() if step.parameters.get(name) != value}
    if was and [*own.values()] == [PREVIOUS]:
        return f"back to *{escape(was)}*"
    return line(view.contract(undo), undo, show=escape)


def within(parts: list[str], room: int) -> list[str]:
    """As many as fit, and how many do not."""
    kept: list[str] = []
    for part in parts:
        if sum(map(len, kept)) + len(part) > room:
            return [*kept, f"and {len(parts) - len(kept)} more in Details"]
        kept.append(part)
    return kept
