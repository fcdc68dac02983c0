"""What may stand in for a step that failed: the same action on the same things, or what policy names. Pure.

Whoever would answer a failure otherwise must ask: dispatch computes it for itself.
"""

from collections.abc import Collection, Iterable, Sequence

from storage.contract.mandate import Allowance, allowance
from storage.contract.spec import Mandate, PlanSpec, StepSpec

FOR = " for "  # between what stands in and what it stands in for


def alternative(text: str) -> tuple[Allowance, Allowance]:
    """Read `mirror.fetch source=b for data.fetch source=a`: what stands in, and for what."""
    instead, found, lost = text.partition(FOR)
    if not found:
        raise ValueError(
            f"'{text}' is not of the form 'worker.action name=value for worker.action name=value'"
        )
    return allowance(instead), allowance(lost)


def speaking_of(texts: Iterable[str], steps: Sequence[StepSpec]) -> tuple[str, ...]:
    """Those that say what may stand in for one of these steps."""
    return tuple(text for text in texts if any(alternative(text)[1].fits(step) for step in steps))


def same_kind(mandate: Mandate, lost: StepSpec, new: StepSpec) -> bool:
    """Whether the new step is for what the lost one was for, if it comes to anything."""
    pairs = map(alternative, mandate.alternatives)
    return _same(lost, new) or any(of.fits(lost) and instead.fits(new) for instead, of in pairs)


def meets(mandate: Mandate, lost: StepSpec, new: StepSpec) -> bool:
    """Whether the new step's success is the lost one's: its checks are made, and its failure asks as well."""
    checked = all(check in new.success_criteria for check in lost.success_criteria)
    return checked and new.failure_action in {"ask", lost.failure_action} and same_kind(mandate, lost, new)


def answered(mandate: Mandate, lost: StepSpec, child: PlanSpec, known: Collection[str]) -> bool:
    """Whether a step that was not known before stands in for the lost one."""
    return any(step.id not in known and meets(mandate, lost, step) for step in child.steps)


def _same(lost: StepSpec, new: StepSpec) -> bool:
    """The same action on the same things; of another worker, the very same call."""
    if new.action != lost.action:
        return False
    where = new.parameters.get("environment") == lost.parameters.get("environment")
    mine = new.worker == lost.worker and new.binding == lost.binding and where
    return mine or new.parameters == lost.parameters
