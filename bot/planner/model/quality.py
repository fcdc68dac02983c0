"""What a plan lacks that people would have written into it: flagged by code, and asked for once."""

from collections.abc import Iterator, Sequence

from bot.planner.validate import Catalogue
from storage.contract.capability import Contract
from storage.contract.spec import PlanSpec, StepSpec
from storage.errors import Issue


class OneRepair:
    """The flags of the first plan that could be proposed; a second one is taken as it is."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue, self.said = catalogue, list[Issue]()

    def __call__(self, spec: PlanSpec) -> Sequence[Issue]:
        if self.said:
            return ()
        self.said = flags(spec, self._catalogue)
        return self.said


def flags(spec: PlanSpec, catalogue: Catalogue) -> list[Issue]:
    """What is missing, each with its place; a plan can be proposed without it."""
    found = [(index, step, contract) for index, step in enumerate(spec.steps)
             if (contract := catalogue.find(step)) and contract.changes]  # fmt: skip
    return [
        *(issue for one in found for issue in _unproved(*one)),
        *(issue for one in found for issue in _without_way_back(*one, spec)),
        *_one_after_the_other(spec, catalogue),
        *_unchecked_goal(spec, catalogue),
    ]


def _unproved(index: int, step: StepSpec, contract: Contract) -> Iterator[Issue]:
    if contract.criteria and not step.success_criteria:
        known = ", ".join(contract.criteria)
        yield Issue("no_criteria", f"steps[{index}].criteria", f"nothing proves {step.id}; there is: {known}")


def _without_way_back(index: int, step: StepSpec, contract: Contract, spec: PlanSpec) -> Iterator[Issue]:
    if (
        contract.undo
        and contract.undo != contract.action
        and not any(u.undoes == step.id for u in spec.rollback)
    ):
        how = f"{contract.worker}.{contract.undo}"
        yield Issue("no_rollback", f"steps[{index}]", f"{step.id} can be undone by {how}; rollback lacks it")


def _one_after_the_other(spec: PlanSpec, catalogue: Catalogue) -> Iterator[Issue]:
    """Reads of which one waits for another whose report it does not use, and nothing changes in between."""
    steps = {step.id: step for step in spec.steps}
    for index, step in enumerate(spec.steps):
        for need in step.depends_on:
            before = steps.get(need)
            both = before and _reads(step, catalogue) and _reads(before, catalogue)
            gate = before and (before.failure_action == "abort" or before.worker == "wait")
            if both and not gate and not _uses(step, need):
                why = f"{step.id} waits for {need}, and uses nothing of it"
                yield Issue("not_parallel", f"steps[{index}].depends_on", why)


def _unchecked_goal(spec: PlanSpec, catalogue: Catalogue) -> Iterator[Issue]:
    """A plan that continues and changes nothing ends when its goal can be checked; but only where it can."""
    if spec.continues or spec.done_when:
        return
    last = spec.steps[-1] if spec.steps else None
    changes = [s for s in spec.steps if (found := catalogue.find(s)) and found.changes]
    if last and changes and last.id not in {s.id for s in changes} and not last.success_criteria:
        contract = catalogue.find(last)
        if contract and contract.data.get("properties") and any(c.id in last.depends_on for c in changes):
            why = f"{last.id} looks at what was changed, and nothing asks what it found"
            yield Issue("no_goal_check", "done_when", why)


def _reads(step: StepSpec, catalogue: Catalogue) -> bool:
    found = catalogue.find(step)
    return found is not None and not found.changes


def _uses(step: StepSpec, need: str) -> bool:
    return f"{need}." in repr(step.parameters)
