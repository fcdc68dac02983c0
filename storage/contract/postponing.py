"""Moving an approved plan later without asking again: what stays, and how far. Pure."""

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from itertools import combinations
from typing import Any

from storage.contract.spec import PlanSpec, Schedule, StepSpec
from storage.contract.states import dependents

AT_ONCE = datetime.min.replace(tzinfo=UTC)


def timed(spec: PlanSpec, pending: Collection[str]) -> list[StepSpec]:
    """The steps that wait for a time of their own, the first of them first."""
    found = [step for step in spec.steps if step.id in pending and step.schedule.not_before]
    return sorted(found, key=_begins)


def moved(spec: PlanSpec, pending: Collection[str], key: str, start: datetime) -> PlanSpec:
    """The plan with this step at `start`; what waits for a time behind it keeps its distance."""
    waiting, by = timed(spec, pending), start - _begins(spec.find(key))
    with_it = {key} | dependents(spec, {key})
    first = min(_begins(step) for step in waiting if step.id in with_it)
    along = {step.id for step in waiting if _begins(step) >= first}
    return spec.model_copy(
        update={"steps": tuple(_shifted(step, by) if step.id in along else step for step in spec.steps)}
    )


def why_not(old: PlanSpec, new: PlanSpec, pending: Collection[str], until: datetime) -> str:
    """Why an approval of the old plan is none of the new one, or "": only waiting steps, only later.

    The order of what waits stays, and the length of each window and what becomes of work that outlasts it;
    nothing that was moved ends after `until`, however often it was moved before.
    """
    if _untimed(old) != _untimed(new):
        return "it is another plan"
    pairs = [*zip(old.steps, new.steps, strict=True)]
    changed = [(a, b) for a, b in pairs if a.digest() != b.digest()]
    if not changed:
        return "it is not moved at all"
    for before, after in changed:
        if why := _kept(before, after, pending, until):
            return f"{before.id} {why}"
    waiting = {step.id for step in timed(old, pending)}
    order = [(a, b) for a, b in pairs if a.id in waiting]
    return "" if all(map(_in_order, combinations(order, 2))) else "what waits would change its order"


def _kept(before: StepSpec, after: StepSpec, pending: Collection[str], until: datetime) -> str:
    old, new = before.schedule, after.schedule
    if before.id not in pending or old.not_before is None:
        return "does not wait for a time"
    if new.not_before is None or new.not_before < old.not_before:
        return "would start earlier"
    if _length(old) != _length(new) or old.overrun != new.overrun:
        return "would have another time to end in"
    return "would come too long after the approval" if (new.not_after or new.not_before) > until else ""


Pair = tuple[tuple[StepSpec, StepSpec], tuple[StepSpec, StepSpec]]


def _in_order(pair: Pair) -> bool:
    """Two that began together still do, and one that came first still does."""
    (old_a, new_a), (old_b, new_b) = pair
    return _sign(_begins(old_a) - _begins(old_b)) == _sign(_begins(new_a) - _begins(new_b))


def _sign(distance: timedelta) -> int:
    return (distance > timedelta(0)) - (distance < timedelta(0))


def _begins(step: StepSpec) -> datetime:
    return step.schedule.not_before or AT_ONCE


def _length(schedule: Schedule) -> timedelta | None:
    if schedule.not_after is None or schedule.not_before is None:
        return None
    return schedule.not_after - schedule.not_before


def _shifted(step: StepSpec, by: timedelta) -> StepSpec:
    """The same step that much later. How its time was said is no longer true."""
    when = step.schedule
    end = when.not_after + by if when.not_after else None
    later = {"at": "", "not_before": _begins(step) + by, "not_after": end, "closed": ()}
    return step.model_copy(update={"schedule": when.model_copy(update=later)})


def _untimed(spec: PlanSpec) -> dict[str, Any]:
    """Everything that an approval is about but the times of its steps."""
    effects = spec.effects() | {"goal": spec.goal}
    return effects | {"steps": [step | {"schedule": None} for step in effects["steps"]]}
