"""What a later change relied on, and a new plan does without. Pure: card, gate and storage ask alike."""

from collections.abc import Collection, Iterator

from storage.contract.spec import PlanSpec, StepSpec
from storage.contract.states import dependents


def dropped(
    old: PlanSpec,
    new: PlanSpec,
    changing: Collection[str],
    also: Collection[str],
    done: Collection[str] = (),
) -> dict[str, str]:
    """Each step that came before a change and does no more, with the step that makes that change now.

    `changing` are the steps of the old plan that change something, `also` those of the new one. A change
    that is gone may be stood in for by any that is new: leaving both out for another one loses the guard.
    What is `done` already, and stays on record, has come before whatever is still to come.
    """
    found: dict[str, str] = {}
    for guard in old.steps:
        heirs = {other.id for other in new.steps if other.id == guard.id or _same(other, guard)}
        behind = heirs.union(*(dependents(new, {heir}) for heir in heirs))
        if heirs & {*done}:
            continue
        still = (now for now in _relying(old, new, guard, changing, also) if now not in behind)
        if unguarded := next(still, ""):
            found[guard.id] = unguarded
    return found


def _relying(
    old: PlanSpec, new: PlanSpec, guard: StepSpec, changing: Collection[str], also: Collection[str]
) -> Iterator[str]:
    """The steps of the new plan that make the changes which relied on this one, in its order."""
    before, later = {step.id for step in old.steps}, dependents(old, {guard.id}) & set(changing)
    gone = later - {step.id for step in new.steps}
    for step in new.steps:
        if step.id in later or (gone and step.id in also and step.id not in before):
            yield step.id


def _same(one: StepSpec, other: StepSpec) -> bool:
    """The same call, by whatever name."""
    return (one.worker, one.action, one.parameters) == (other.worker, other.action, other.parameters)
