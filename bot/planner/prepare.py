"""Make a plan whole: aliases, defaults, named criteria, promises, bindings and times; then check it."""

from datetime import datetime, timedelta
from typing import Any

from bot.planner.validate import Catalogue, named_checks, validate
from bot.times import when
from storage.config import SignoffConfig
from storage.contract.capability import Contract
from storage.contract.spec import PlanSpec, Schedule, StepSpec
from storage.contract.stand_in import speaking_of
from storage.errors import BadTime, InvalidPlan, Issue


def prepare(spec: PlanSpec, catalogue: Catalogue, config: SignoffConfig, now: datetime) -> PlanSpec:
    """The plan as it can be proposed; InvalidPlan names everything that is wrong."""
    whole, issues = complete(spec, catalogue, config, now)
    if issues:
        raise InvalidPlan(issues)
    return whole


def complete(
    spec: PlanSpec, catalogue: Catalogue, config: SignoffConfig, now: datetime
) -> tuple[PlanSpec, list[Issue]]:
    """As whole as it can be made, and every problem found."""
    issues: list[Issue] = []
    changed: dict[str, list[Any]] = {"steps": [], "rollback": []}
    for part, steps in (("steps", spec.steps), ("rollback", spec.rollback)):
        for index, step in enumerate(steps):
            contract = catalogue.find(step)
            ready = fill(step, contract) if contract else step
            try:
                schedule = scheduled(ready.schedule, config, now, _wants(ready, contract))
                fits(schedule, contract.timeout if contract else 0.0, now)
                ready = ready.model_copy(update={"schedule": schedule})
            except BadTime as error:
                issues.append(Issue("bad_time", f"{part}[{index}].schedule", str(error)))
            changed[part].append(ready)
    named = (*spec.mandate.alternatives, *speaking_of(config.policy.alternatives, changed["steps"]))
    mandate = spec.mandate.model_copy(update={"alternatives": (*dict.fromkeys(named),)})
    whole = spec.model_copy(
        update={part: tuple(steps) for part, steps in changed.items()} | {"mandate": mandate}
    )
    return whole, [*validate(whole, catalogue), *issues]


def scheduled(
    schedule: Schedule, config: SignoffConfig, now: datetime, wants: when.Wants = when.NOTHING
) -> Schedule:
    """Words become instants, once. An instant that is there already stays."""
    if schedule.not_before or not (words := schedule.window or schedule.at):
        return schedule
    if schedule.window and schedule.window not in config.windows:
        known = ", ".join(config.windows) or "none"
        raise BadTime(f"there is no window '{schedule.window}'; known: {known}")
    found = when.resolve(words, now, zone=config.zone, windows=config.windows, wants=wants)
    return Schedule(
        window=schedule.window, at=found.said, not_before=found.not_before, not_after=found.not_after,
        zone=found.zone, closed=found.closed, overrun=found.overrun,
    )  # fmt: skip


def schedule_anew(step: StepSpec, contract: Contract, config: SignoffConfig, now: datetime) -> Schedule:
    """What its words for a time mean now: the next such hour, or opening, that no freeze takes whole."""
    words = Schedule(window=step.schedule.window, at=step.schedule.at)
    if not (words.window or words.at):
        raise BadTime("its time is over, and no words say when else")
    wants, place = _wants(step, contract), contract.environment(step.parameters)
    for _ in range(len(config.freezes) + 1):
        found = scheduled(words, config, now, wants)
        fits(found, contract.timeout, now)
        start = max(found.not_before or now, now)
        last = (found.not_after or start) - timedelta(seconds=contract.timeout)
        whole = [f for f in config.freezes.values() if f.holds(place, start) and last < f.until]
        if not whole or not contract.changes:
            return found
        now = max(freeze.until for freeze in whole)
    raise BadTime("a freeze takes all of its time")


def window_of(step: StepSpec, contract: Contract, config: SignoffConfig) -> when.When | None:
    """The opening in which the step was to start, as its window is now; None where it is in none."""
    schedule = step.schedule
    if schedule.not_before is None:
        return None
    if schedule.window and schedule.window not in config.windows:
        raise BadTime(f"there is no window '{schedule.window}' any more")
    words = schedule.window or schedule.at
    found = when.opening(words, schedule.not_before, config.windows, _wants(step, contract))
    if found is None and "window" in words.lower():
        raise BadTime(f"there is no “{words}” any more")
    return found


def _wants(step: StepSpec, contract: Contract | None) -> when.Wants:
    if contract is None:
        return when.NOTHING
    return when.Wants(contract.environment(step.parameters), timedelta(seconds=contract.timeout))


def fits(schedule: Schedule, timeout: float, now: datetime) -> None:
    """A step that could never start in its time is a problem now, not a missed window later."""
    end = schedule.not_after
    if end is None:
        return
    start = max(schedule.not_before or now, now)
    if end <= start:
        raise BadTime("its time has passed" if end <= now else "its time ends before it begins")
    if end - start < timedelta(seconds=timeout):
        raise BadTime(
            f"the step may take {timeout:.0f} s, which does not fit before {end:%Y-%m-%d %H:%M} UTC"
        )


def fill(step: StepSpec, contract: Contract) -> StepSpec:
    properties: dict[str, Any] = contract.parameters.get("properties", {})
    defaults = {name: field["default"] for name, field in properties.items() if "default" in field}
    given = defaults | step.parameters
    parameters = {name: given[name] for name in (*properties, *given) if name in given}
    return step.model_copy(
        update={
            "worker": contract.worker,
            "parameters": parameters,
            "success_criteria": named_checks(step, contract),
            "contract": contract.hash(),
            "binding": contract.binding(parameters),
        }
    )
