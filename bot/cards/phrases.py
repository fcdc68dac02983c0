"""How plans, steps, times and differences are said. Plain text; whoever shows it makes it inert."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from bot.times.windows import next_opening, passed_over
from bot.times.zones import spoken
from storage.config import SignoffConfig
from storage.contract.spec import PlanSpec, Schedule, StepSpec
from storage.contract.states import PlanState, StepState
from storage.errors import BadTime
from storage.reading.plan_view import PlanView, StepView

OUTCOMES = {
    "succeeded": "done",
    "failed": "failed",
    "rolled_back": "failed, and rolled back",
    "incomplete": "done, but incomplete",
}
FAILURE = {
    "ask": "ask a person",
    "abort": "stop the plan",
    "rollback": "roll back what was done",
    "continue": "go on without it",
}


OURS = {
    "policy": "Policy",
    "clock": "The clock",
    "rules": "The rules",
    "planner": "The planner",
    "breaker": "The circuit breaker",
}


def doer(actor: str) -> str:
    """Who did something: a person, or one of our own parts."""
    return OURS.get(actor, f"<@{actor}>")


def lasting(seconds: float) -> str:
    """A duration as people say it."""
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"


def title(step: StepSpec) -> str:
    return step.purpose or f"{step.worker}: {step.action}"


def timing(step: StepSpec) -> str:
    """When a step may start, in the zone it was said in and in UTC."""
    schedule = step.schedule
    if schedule.not_before is None:
        return f"after {', '.join(step.depends_on)}" if step.depends_on else "at once"
    until = f", until {spoken(schedule.not_after, schedule.zone)}" if schedule.not_after else ""
    closed = f"; not on {', '.join(schedule.closed)}" if schedule.closed else ""
    late = {"finish": "", "ask": "; asks if it still runs then", "stop": "; stops if it still runs then"}
    return f"{spoken(schedule.not_before, schedule.zone)}{until}{closed}{late[schedule.overrun]}"


def standing(view: PlanView, now: datetime) -> str:
    """Where a plan stands, in a few words."""
    return _standing(view, now) + (" (glass broken, to be reviewed)" if view.unreviewed else "")


def _standing(view: PlanView, now: datetime) -> str:
    if view.state == PlanState.approved:
        return _under_way(view, now)
    return {
        PlanState.planning: "needs an answer" if view.form else "planning",
        PlanState.proposed: "waiting for approval" + _count(view),
        PlanState.stalled: "needs an answer",
        PlanState.done: OUTCOMES.get(view.outcome, view.outcome),
        PlanState.rejected: "rejected",
        PlanState.expired: "expired: nobody decided in time",
        PlanState.cancelled: "cancelled",
    }[view.state]


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
        return f"running step {running[0]} of {len(steps)}"
    ahead = [step for step in steps if step.state == StepState.pending and _waits_for_time(step, now)]
    if ahead and ahead[0].not_before:
        return f"waits until {spoken(ahead[0].not_before, ahead[0].spec.schedule.zone)}"
    return "approved"


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


def took(step: StepView) -> str:
    return lasting(step.took.total_seconds()) if isinstance(step.took, timedelta) else ""


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


def differences(old: PlanSpec, new: PlanSpec) -> list[str]:
    """What a revision changes, one line each."""
    before, after = ({step.id: step for step in spec.steps} for spec in (old, new))
    lines = [f"{key}: removed" for key in before if key not in after]
    lines += [f"{key}: added ({title(step)})" for key, step in after.items() if key not in before]
    for key in after:
        if key in before:
            lines += _step_differences(before[key], after[key])
    if [key for key in after if key in before] != [key for key in before if key in after]:
        lines.append("the order of the steps changed")
    parts = {"rollback": "the rollback", "done_when": "what makes it done", "mandate": "the mandate",
             "continues": "whether it goes on planning", "review": "how often the planner looks"}  # fmt: skip
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
    fields = ["worker", "action", "success_criteria", "failure_action", "retries", "contract", "binding"]
    for field in fields[:-1] if old.parameters != new.parameters else fields:  # the binding follows a name
        if getattr(old, field) != getattr(new, field):
            yield f"{new.id}: {field} changed"


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


def spent(step: StepView) -> str:
    return f" ({took(step)})" if took(step) else ""
