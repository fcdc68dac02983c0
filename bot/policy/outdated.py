"""What a plan rests on, as it was when the plan was made and as it is now: names, promises, times, freezes.

Pure: the same is asked when a card is drawn, when somebody approves, and in between.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.planner.prepare import fits, window_of
from bot.planner.validate import Catalogue
from bot.times.when import When
from bot.times.zones import spoken
from storage.config import Freeze, SignoffConfig
from storage.contract.capability import Contract
from storage.contract.spec import Schedule, StepSpec, UndoSpec
from storage.contract.states import PlanState, StepState
from storage.errors import BadTime
from storage.reading.plan_view import PlanView


@dataclass(frozen=True)
class World:
    """What plans rest on, as it is now."""

    catalogue: Catalogue
    config: SignoffConfig
    now: datetime


def left(view: PlanView) -> list[StepSpec]:
    """The steps of a plan that are still to come; a failed one may be tried again."""
    over = {StepState.succeeded, StepState.skipped, StepState.cancelled, StepState.running, StepState.unknown}
    return [step.spec for step in view.steps if step.state not in over and not step.undo]


def outdated(view: PlanView, world: World) -> list[str]:
    """What has changed since this revision was made, one line each, in people's words."""
    if view.spec is None or any(step.undo for step in view.steps):
        return []
    lines: dict[str, list[str]] = {}
    for step in (*left(view), *view.spec.rollback):
        for line in _changed(step, view, world):
            lines.setdefault(line, []).append(step.id)
    return [f"{line} ({', '.join(keys)})" for line, keys in lines.items()]


def ahead(view: PlanView, world: World) -> list[str]:
    """The freezes that would hold a step between now and its time, one line each."""
    lines: dict[str, list[str]] = {}
    for step in left(view) if view.spec else ():
        for freeze in _freezes(step, view, world):
            lines.setdefault(_frozen(freeze), []).append(step.id)
    return [f"{line}: {', '.join(keys)} would wait" for line, keys in lines.items()]


def untimely(step: StepSpec, view: PlanView, world: World) -> str:
    """Why the time of this step is none any more, or ""."""
    contract = world.catalogue.find(step)
    if isinstance(step, UndoSpec) or contract is None:
        return ""
    try:
        fits(step.schedule, contract.timeout, world.now)
        found = window_of(step, contract, world.config)
    except BadTime as error:
        return str(error)
    moved = found is not None and not _within(step.schedule, found)
    return f"{_named(step)} does not open then any more" if moved else _frozen_out(step, view, world)


def _frozen_out(step: StepSpec, view: PlanView, world: World) -> str:
    """The freeze that leaves the step no moment to start at, or ""; somebody may break the glass for it."""
    contract = world.catalogue.find(step)
    if contract is None or any(glass.part == "freeze" for glass in view.demands.glass):
        return ""
    whole = [freeze for freeze in _freezes(step, view, world) if _whole(freeze, step, contract, world.now)]
    return f"{_frozen(whole[0])}: that is all of its time" if whole else ""


def _within(when: Schedule, found: When) -> bool:
    """Whether a time that was moved or not lies in the opening."""
    begins = found.not_before and when.not_before and found.not_before <= when.not_before
    ends = found.not_after and when.not_after and when.not_after <= found.not_after
    return bool(begins and ends)


def _changed(step: StepSpec, view: PlanView, world: World) -> Iterator[str]:
    contract = world.catalogue.find(step)
    call = f"{step.worker}.{step.action}"
    if contract is None:
        yield f"no worker offers {call} any more"
    elif world.catalogue.hash(contract) != step.contract:
        yield f"{call} takes or promises something else by now"
    elif contract.binding(step.parameters) != step.binding:
        yield f"what {_names(step, contract)} stands for in the inventory is another thing by now"
    # What was approved keeps its instants, whatever becomes of a window; a missed one has its own question.
    timely = untimely if view.state == PlanState.proposed else _frozen_out
    if not isinstance(step, UndoSpec) and (why := timely(step, view, world)):
        yield why


def _names(step: StepSpec, contract: Contract) -> str:
    given = [str(step.parameters[name]) for name in contract.names if name in step.parameters]
    return " or ".join(given) or "a name"


def _named(step: StepSpec) -> str:
    said = step.schedule.window or step.schedule.at
    return said if "window" in said else f"the window {said}"


def _freezes(step: StepSpec, view: PlanView, world: World) -> list[Freeze]:
    """Those that hold its environment at a moment at which it might start."""
    contract = world.catalogue.find(step)
    if contract is None or not contract.changes:
        return []
    place, start = contract.environment(step.parameters), _start(step, world.now)
    last = _last(step, contract) or (start if step.schedule.not_before else view.expires_at or start)
    found = world.config.freezes.values()
    return [one for one in found if one.holds(place, max(start, one.since)) and one.since <= max(start, last)]


def _whole(freeze: Freeze, step: StepSpec, contract: Contract, now: datetime) -> bool:
    """Whether it leaves the step no moment to start at."""
    last = _last(step, contract)
    return last is not None and freeze.since <= _start(step, now) and last < freeze.until


def _start(step: StepSpec, now: datetime) -> datetime:
    return max(step.schedule.not_before or now, now)


def _last(step: StepSpec, contract: Contract) -> datetime | None:
    end = step.schedule.not_after
    return end - timedelta(seconds=contract.timeout) if end else None


def _frozen(freeze: Freeze) -> str:
    where = ", ".join(freeze.environments) or "everything"
    span = f"{spoken(freeze.since, freeze.zone)} to {spoken(freeze.until, freeze.zone)}"
    return f"{where} is frozen from {span} ({freeze.reason})"
