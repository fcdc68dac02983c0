"""How plans, steps, times and differences are said. Plain text; whoever shows it makes it inert."""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta

from bot.cards.blocks import escape
from bot.times.windows import next_opening, passed_over
from bot.times.zones import spoken
from bot.untrusted import clip
from storage.config import SignoffConfig
from storage.contract.grouping import Find
from storage.contract.saying import short
from storage.contract.spec import FailureAction, PlanSpec, Schedule, StepSpec
from storage.contract.states import PlanState, StepState
from storage.errors import BadTime
from storage.reading.plan_view import PlanView, StepView

OUTCOMES = {
    "succeeded": "done",
    "failed": "failed",
    "rolled_back": "failed, and rolled back",
    "incomplete": "done, but incomplete",
}
FAILURE: dict[FailureAction, str] = {  # what follows when a step fails, in the reader's terms, everywhere
    "ask": "asks a person",
    "abort": "nothing else runs",
    "rollback": "rolls back",
    "continue": "goes on without it",
}

OURS = {
    "policy": "Policy",
    "clock": "The clock",
    "rules": "The rules",
    "planner": "The planner",
    "breaker": "The circuit breaker",
}


MACHINES = {"token": "the machine {}", "hook": "the hook {}"}


def doer(actor: str) -> str:
    """Who did something: a person, one of our own parts, or a machine."""
    kind, _, name = actor.partition(":")
    return MACHINES[kind].format(escape(name)) if kind in MACHINES else OURS.get(actor, person(actor))


def person(id_: str) -> str:
    """Somebody of Slack as a mention; who came by another door (`terminal:ann`) by their name."""
    door, known, name = id_.partition(":")
    return f"<@{id_}>" if not known else f"{re.sub(r'[^a-zA-Z0-9._-]', '', name)} (at the {door})"


def wisher(view: PlanView) -> str:
    """Who asked for a plan: a person, or a machine in a person's name."""
    return f"{doer(view.machine)}, for {person(view.requester)}," if view.machine else person(view.requester)


def alarm_line(view: PlanView) -> str:
    """How often a hook has called about it, and what it says: a quote, and nobody's instruction."""
    if view.alarm is None:
        return ""
    times = f"said {view.alarm.count:,} time{'s' if view.alarm.count != 1 else ''}"
    over = "" if view.alarm.open else ", over by now"
    words = f": “{escape(clip(' '.join(view.alarm.words.split()), 200))}”" if view.alarm.words else ""
    return f"{times}{over}{words}"


def lasting(seconds: float) -> str:
    """A duration as people say it."""
    if seconds < 60:
        return f"{seconds:.1f}".removesuffix(".0") + " s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    return f"{minutes // 60} h" + (f" {minutes % 60} min" if minutes % 60 else "")


def timing(step: StepSpec) -> str:
    """When a step may start, in the zone it was said in and in UTC."""
    schedule = step.schedule
    if schedule.not_before is None:
        return f"after {', '.join(step.depends_on)}" if step.depends_on else "on approval"
    until = f", until {spoken(schedule.not_after, schedule.zone)}" if schedule.not_after else ""
    closed = f"; not on {', '.join(schedule.closed)}" if schedule.closed else ""
    late = {"finish": "", "ask": "; asks if it still runs then", "stop": "; stops if it still runs then"}
    return f"{spoken(schedule.not_before, schedule.zone)}{until}{closed}{late[schedule.overrun]}"


def standing(view: PlanView, now: datetime) -> str:
    """Where a plan stands, in a few words."""
    return _standing(view, now) + (" (emergency override, to be reviewed)" if view.unreviewed else "")


def _standing(view: PlanView, now: datetime) -> str:
    if view.state == PlanState.approved:
        return _under_way(view, now)
    return {
        PlanState.planning: "needs an answer" if view.form else "planning",
        PlanState.proposed: "not allowed by policy"
        if view.demands.denied
        else "waiting for approval" + _count(view),
        PlanState.stalled: "needs an answer",
        PlanState.done: OUTCOMES.get(view.outcome, view.outcome),
        PlanState.rejected: "rejected",
        PlanState.expired: "closed: nobody decided" + _deadline(view),
        PlanState.cancelled: "cancelled",
    }[view.state]


def _deadline(view: PlanView) -> str:
    return f" by {spoken(view.expires_at, 'UTC')}" if view.expires_at else " in time"


def _count(view: PlanView) -> str:
    return f" ({len(view.approved_by)} of {view.needed})" if view.needed > 1 else ""


def _under_way(view: PlanView, now: datetime) -> str:
    steps = view.steps
    if view.cancelled_by:
        return "being cancelled: what runs is told to stop"
    if any(step.state == StepState.unknown for step in steps):
        unknown = next(step for step in steps if step.state == StepState.unknown)
        return "finding out what happened" if unknown.probing else "needs an answer"
    if any(step.undo for step in steps):
        return "rolling back"
    if any(step.stopped for step in steps):
        return "stopped"
    running = [number for number, step in enumerate(steps, 1) if step.state == StepState.running]
    if running:
        return f"running step {running[0]} of {len(steps)}" if len(steps) > 1 else "running"
    if starting(view, now):
        return "under way" if any(step.attempt for step in steps) else "approved"
    ahead = [step for step in steps if step.state == StepState.pending and _waits_for_time(step, now)]
    if ahead and ahead[0].not_before:
        return f"waits until {spoken(ahead[0].not_before, ahead[0].spec.schedule.zone)}"
    return "approved"


def starting(view: PlanView, now: datetime) -> bool:
    """Whether something may start at once: between two steps it does not wait for the time of a later one."""
    over = {step.spec.id for step in view.steps if step.state in {StepState.succeeded, StepState.skipped}}
    return any(not waiting(step, now) and over.issuperset(step.spec.depends_on)
               for step in view.steps if step.state == StepState.pending)  # fmt: skip


def _waits_for_time(step: StepView, now: datetime) -> bool:
    return step.not_before is not None and step.not_before > now


def waiting(step: StepView, now: datetime) -> str:
    """Why a pending step has not started, or ""."""
    if step.state != StepState.pending:
        return ""
    if step.stopped:
        return step.stopped
    if _waits_for_time(step, now) and step.not_before:
        again = "tries again at" if step.attempt else "waits until"
        return f"{again} {spoken(step.not_before, step.spec.schedule.zone)}"
    if step.withheld:
        return f"waits: {step.withheld}"
    if step.held_by:
        return f"waits for plan {step.held_by}, which holds what it touches"
    return ""


_PATH = re.compile(r"(?<![\w/.:-])/(?:[\w.+-]+/)+([\w.+-]+)")


def placeless(text: str) -> str:
    """The same without the folders of a server: whoever reads it knows things by their names."""
    return _PATH.sub(r"\1", text)


def first_clauses(said: str, room: int) -> str:
    """As many of its first clauses as there is room for: a report says the main thing first."""
    first, *rest = re.split(r"(?<=[,;.]) ", " ".join(said.split()))
    for clause in rest:
        if len(first) + len(clause) >= room:
            break
        first = f"{first} {clause}"
    return clip(first.rstrip(",;."), 2 * room)


SOON = 0.05  # seconds


def took(step: StepView) -> str:
    """How long it took; nothing of what took no time worth a word."""
    seconds = step.took.total_seconds() if isinstance(step.took, timedelta) else 0.0
    return lasting(seconds) if seconds >= SOON else ""


def openings(config: SignoffConfig, now: datetime) -> list[str]:
    """Each window with its next opening, and each freeze that is not over."""
    lines = []
    for name, window in config.windows.items():
        try:
            start, end = next_opening(window, now)
        except BadTime as error:
            lines.append(f"{name}: {error}")
            continue
        where = f" for {', '.join(window.environments)}" if window.environments else ""
        when = "open now" if start <= now else f"opens {spoken(start, window.zone)}"
        closed = [f"{day:%a %d %b} ({why})" for day, why in passed_over(window, now, start)]
        but = f"; not on {', '.join(closed)}" if closed else ""
        lines.append(f"{name}{where}: {when}, until {spoken(end, window.zone)}{but}")
    for name, freeze in config.freezes.items():
        if freeze.until > now:
            span = f"{spoken(freeze.since, freeze.zone)} to {spoken(freeze.until, freeze.zone)}"
            where = ", ".join(freeze.environments) or "everything"
            lines.append(f"freeze {name}: {where}, {span}: {freeze.reason}")
    return lines


def differences(old: PlanSpec, new: PlanSpec, find: Find = lambda step: None) -> list[str]:
    """What a revision changes, one line each; `find` knows what an action promises."""
    before, after = ({step.id: step for step in spec.steps} for spec in (old, new))
    lines = [f"{key}: removed" for key in before if key not in after]
    lines += [f"{key}: added ({short(find(step), step)})" for key, step in after.items() if key not in before]
    for key in after:
        if key in before:
            lines += _step_differences(before[key], after[key])
    if [key for key in after if key in before] != [key for key in before if key in after]:
        lines.append("the order of the steps changed")
    parts = {"rollback": "the rollback", "done_when": "what makes it done",
             "mandate": "what the planner may add", "continues": "whether it goes on planning",
             "review": "how often the planner looks"}  # fmt: skip
    lines += [f"{said} changed" for part, said in parts.items() if getattr(old, part) != getattr(new, part)]
    return lines


def _step_differences(old: StepSpec, new: StepSpec) -> Iterator[str]:
    if old.schedule.not_before != new.schedule.not_before:
        yield f"{new.id}: {_short(old.schedule)} → {_short(new.schedule)}"
    elif old.schedule.not_after != new.schedule.not_after:
        yield f"{new.id}: the end of its time changed to {new.schedule.not_after or 'never'}"
    for name in {**old.parameters, **new.parameters}:
        was, is_ = old.parameters.get(name), new.parameters.get(name)
        if was != is_:
            yield f"{new.id}: {name} {was} → {is_}"
    if old.depends_on != new.depends_on:
        yield f"{new.id}: waits for {', '.join(new.depends_on) or 'nothing'}"
    yield from _other_differences(old, new)


def _other_differences(old: StepSpec, new: StepSpec) -> Iterator[str]:
    if old.failure_action != new.failure_action:
        yield f"{new.id}: if it fails: {FAILURE[old.failure_action]} → {FAILURE[new.failure_action]}"
    same = old.parameters == new.parameters  # the binding follows a name
    for field, said in FIELDS.items():
        if getattr(old, field) != getattr(new, field) and (same or field != "binding"):
            yield f"{new.id}: {said} changed"


REFRESHED = "brought up to date: "  # before a difference that the world made, and not a person
# How a difference says what people cannot see on the card.
FIELDS = {
    "worker": "who does it",
    "action": "what is done",
    "success_criteria": "what counts as success",
    "retries": "how often it is tried",
    "contract": "what its action takes or promises",
    "binding": "what its names stand for",
}


def _short(schedule: Schedule) -> str:
    return spoken(schedule.not_before, schedule.zone) if schedule.not_before else "at once"


def overrode(view: PlanView) -> str:
    """Who broke the glass for it, and what for; to be said behind who approved."""
    return f"; <@{view.broken_by}> overrode the {' and the '.join(view.overrides)}" if view.overrides else ""


def cost(usd: float) -> str:
    """What thinking about a plan has cost, as the card says it; "" when no model was asked."""
    if usd <= 0:
        return ""
    return "thinking cost less than 0.01 USD" if usd < 0.01 else f"thinking cost {usd:.2f} USD"


TIMED = re.compile(r"\b(?:in|after) \d[\d.]* (?:s|min|h)\b")


def untold(step: StepView, said: str) -> str:
    """How long it took, unless its report says so."""
    return "" if TIMED.search(said) else took(step)


def spent(step: StepView, said: str = "") -> str:
    return f" ({untold(step, said)})" if untold(step, said) else ""


def altered(plan_id: int, why: str) -> str:
    """In place of a plan whose stored words are not those on record."""
    return (
        f":rotating_light: What is stored of plan {plan_id} is not what was put on record: {why}. I do not "
        "show it, and nothing of it is approved or started. Please tell an administrator."
    )
