"""Which differences between an approved plan and a new one people must read and approve. Pure."""

from collections.abc import Collection, Iterator
from typing import Any

from bot.planner.validate import Catalogue
from bot.times.zones import spoken
from storage.contract.guards import dropped
from storage.contract.mandate import stands, why_not
from storage.contract.saying import verb
from storage.contract.spec import PlanSpec, StepSpec
from storage.contract.states import dependents

WORDS = {"depends_on": "waits for", "failure_action": "on failure", "retries": "retries",
         "success_criteria": "criteria", "worker": "worker", "action": "action"}  # fmt: skip

ADDED = "added; "  # and why that is not covered by the approval before
UNCHANGING = ": only what changes nothing"  # behind the goal of a plan whose every change was left out


def asks(old: PlanSpec, new: PlanSpec, catalogue: Catalogue, done: Collection[str] = ()) -> list[str]:
    """Everything of the new plan that the approval of the old one does not cover, one line each."""
    old = old.model_copy(update={"mandate": new.mandate})  # the gate lets it become narrower only
    return [
        *_dropped(old, new, catalogue, done),
        *_changed(old, new),
        *_added(old, new, catalogue),
        *_rest(old, new),
    ]


def _dropped(old: PlanSpec, new: PlanSpec, catalogue: Catalogue, done: Collection[str]) -> Iterator[str]:
    kept = {step.id for step in new.steps}
    risky = changing(old, catalogue)
    lost = dropped(old, new, risky, changing(new, catalogue), done)
    for step in old.steps:
        if step.id in lost and lost[step.id] not in dependents(old, {step.id}):
            yield f"{lost[step.id]} would not wait for {step.id}, as the change did in whose place it stands"
        if step.id in kept:
            continue
        if relying := sorted(dependents(old, {step.id}) & kept & risky):
            yield f"{step.id} is left out, and {relying[0]} relies on it"
        elif step.success_criteria and (checked := [key for key in _before(old, step) if key in risky]):
            yield f"{step.id} is left out, and it checks what {checked[-1]} changes"


def _changed(old: PlanSpec, new: PlanSpec) -> Iterator[str]:
    before, after = ({step.id: step for step in spec.steps} for spec in (old, new))
    for key in (key for key in after if key in before):
        if not stands(old, after[key]):
            # The digest tells 1 from true and one second from the next; words may not, but must be there.
            yield from [*_words(before[key], after[key])] or [f"{key}: it is not quite what was approved"]
    if [key for key in after if key in before] != [key for key in before if key in after]:
        yield "the order of the steps is another one"


def _words(old: StepSpec, new: StepSpec) -> Iterator[str]:
    if old.schedule != new.schedule:
        yield from _time(old, new)
    for name in {**old.parameters, **new.parameters}:
        was, is_ = old.parameters.get(name), new.parameters.get(name)
        if was != is_:
            yield f"{new.id}: {name} {was} → {is_}"
    for field, said in WORDS.items():
        if getattr(old, field) != getattr(new, field):
            yield f"{new.id}: {said} {_said(getattr(old, field))} → {_said(getattr(new, field))}"
    if (old.contract, old.binding) != (new.contract, new.binding):
        yield f"{new.id}: what its names stand for, or what its worker promises, is not what was approved"


def _time(old: StepSpec, new: StepSpec) -> Iterator[str]:
    times = [[spoken(at, s.schedule.zone) if at else none for at, none in _ends(s)] for s in (old, new)]
    (was, until), (is_, end) = times
    if was != is_:
        yield f"{new.id}: {was} → {is_}"
    if until != end:
        yield f"{new.id}: until {until} → until {end}"


def _ends(step: StepSpec) -> tuple[tuple[Any, str], tuple[Any, str]]:
    return (step.schedule.not_before, "at once"), (step.schedule.not_after, "whenever")


def _added(old: PlanSpec, new: PlanSpec, catalogue: Catalogue) -> Iterator[str]:
    known, before = {step.id for step in old.steps}, list[StepSpec]()
    for step in (step for step in new.steps if step.id not in known):
        contract = catalogue.find(step)
        why = why_not(old, step, before, contract) if contract else "no worker offers it"
        if why:
            yield f"{step.id}: {ADDED}{why}"
        before.append(step)


def _rest(old: PlanSpec, new: PlanSpec) -> Iterator[str]:
    kept, after = {step.id for step in new.steps}, {undo.id: undo.digest() for undo in new.rollback}
    wanted = {undo.id: undo.digest() for undo in old.rollback if undo.undoes in kept}
    yield from (f"{key} is left out of the rollback" for key in wanted if key not in after)
    yield from (
        f"{key} in the rollback is new or another one" for key in after if after[key] != wanted.get(key)
    )
    if [*wanted] != [key for key in after if key in wanted] and wanted.keys() <= after.keys():
        yield "the order of the rollback is another one"
    if old.model_dump_json(include={"done_when"}) != new.model_dump_json(include={"done_when"}):
        yield "what makes the goal reached is another thing"
    if new.review != old.review:
        yield "whether the planner looks at every step is another thing"
    if new.continues and not old.continues:
        yield "the planner would be asked again after these steps"


def losses(old: PlanSpec, new: PlanSpec, catalogue: Catalogue, done: Collection[str] = ()) -> list[str]:
    """What the new plan's changes do without, though those of the old one relied on it: for people."""
    lost = dropped(old, new, changing(old, catalogue), changing(new, catalogue), done)
    return [
        f"left out: {called(old.find(guard), catalogue)}; {called(new.find(change), catalogue)} relied on it"
        for guard, change in lost.items()
    ]


def still_lost(said: Collection[str], new: PlanSpec, catalogue: Catalogue) -> list[str]:
    """What was said to be lost, but for what is in the plan again."""
    back = [f"left out: {called(step, catalogue)}; " for step in new.steps]
    return [line for line in said if not line.startswith((*back,))]


def called(step: StepSpec, catalogue: Catalogue) -> str:
    """A step by what it does and to what, never by a planner's words."""
    contract = catalogue.find(step)
    word = verb(contract, step) if contract and contract.says else step.action.replace("_", " ")
    names = [
        str(step.parameters[name]) for name in (contract.names if contract else ()) if name in step.parameters
    ]
    return " ".join([word[:1].lower() + word[1:], *(name for name in names if name not in word.split())])


def changing(spec: PlanSpec, catalogue: Catalogue) -> set[str]:
    """Steps that change something; one that nobody offers any more counts as one."""
    found = {step.id: catalogue.find(step) for step in spec.steps}
    return {key for key, contract in found.items() if contract is None or contract.changes}


def _before(spec: PlanSpec, step: StepSpec) -> list[str]:
    """Every step that this one waits for, directly or not."""
    return [other.id for other in spec.steps if step.id in dependents(spec, {other.id})]


def _said(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(_said, value)) or "nothing"
    if hasattr(value, "op"):
        return f"{value.field} {value.op} {value.value}"
    return f"{value.attempts} times" if hasattr(value, "attempts") else str(value)
