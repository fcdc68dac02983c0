"""What may be added to an approved plan without asking again. Pure: dispatch computes it for itself."""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from storage.contract.capability import Contract, Document
from storage.contract.spec import Mandate, PlanSpec, Schedule, StepSpec, UndoSpec, reference

ALLOWANCE = re.compile(
    r"(?P<worker>[\w-]+)\.(?P<action>\w+)(?P<bounds>(?: \w+=[^\s=]+)*)(?: x(?P<uses>[1-9]\d{0,2}))?"
)
RANGE = re.compile(r"(-?\d+(?:\.\d+)?)\.\.(-?\d+(?:\.\d+)?)")
SPOKEN = 10  # words of a request that reads may take
QUIET = frozenset({"ask", "continue"})  # how an added step may end the plan's own course: not at all


class Allowance(Document):
    """One entry of `mandate.extra`: an action, what each parameter may be, and how often."""

    worker: str
    action: str
    bounds: dict[str, tuple[str, ...]]
    uses: int = 1

    def names(self, step: StepSpec) -> bool:
        return (self.worker, self.action) == (step.worker, step.action)

    def fits(self, step: StepSpec) -> bool:
        """Whether it speaks of this call; what it does not bound may be anything."""
        given = ((step.parameters.get(name), words) for name, words in self.bounds.items())
        return self.names(step) and all(any(_fits(value, word) for word in words) for value, words in given)

    def outside(self, step: StepSpec) -> str:
        """The first parameter that is not what it is bound to."""
        given = ((name, step.parameters.get(name), words) for name, words in self.bounds.items())
        return next(name for name, value, words in given if not any(_fits(value, word) for word in words))

    def beyond(self, step: StepSpec, contract: Contract) -> str:
        """The first parameter that is outside its bounds, or ""."""
        fields = contract.parameters.get("properties", {})
        for name, value in step.parameters.items():
            usual = "default" in fields.get(name, {}) and fields[name]["default"] == value
            words = self.bounds.get(name, ())
            if not any(_fits(value, word) for word in words) and (words or not usual):
                return name
        return ""


def allowance(text: str) -> Allowance:
    """Read `k8s-deployer.scale service=auth replicas=1..5 x2`; ValueError says what the form is."""
    found = ALLOWANCE.fullmatch(text)
    if not found:
        raise ValueError(
            f"'{text}' is not of the form 'worker.action name=value name=a|b name=1..5 x2' (x2: two uses)"
        )
    given = [part.partition("=") for part in found["bounds"].split()]
    bounds = {name: tuple(words.split("|")) for name, _, words in given}
    return Allowance(
        worker=found["worker"], action=found["action"], bounds=bounds, uses=int(found["uses"] or 1)
    )


def covers(parent: PlanSpec, step: StepSpec, added: Sequence[StepSpec], contract: Contract) -> bool:
    """Whether this step may run under the parent's approval, with these others added before it."""
    return stands(parent, step) or not why_not(parent, step, added, contract)


def stands(parent: PlanSpec, step: StepSpec) -> bool:
    """Whether the parent has exactly this step, or has it earlier: a delay is no other step."""
    own = next((found for found in parent.steps if found.id == step.id), None)
    return own is not None and (own.digest() == step.digest() or _only_later(own, step))


def why_not(parent: PlanSpec, step: StepSpec, added: Sequence[StepSpec], contract: Contract) -> str:
    """Why the mandate does not cover an added step, or ""."""
    if isinstance(step, UndoSpec) or any(step.id == s.id for s in (*parent.steps, *parent.rollback)):
        return "it stands in the place of an approved step"
    if (contract.hash(), contract.binding(step.parameters)) != (step.contract, step.binding):
        return "it is not what its worker promises today"
    if len(added) >= parent.mandate.max_added_steps:
        return f"the mandate allows {parent.mandate.max_added_steps} added steps"
    if step.failure_action not in QUIET:
        return f"its failure would {step.failure_action} the plan"
    if contract.drafts and not contract.changes:
        return _not_to_draft(parent, step, added, contract)
    if contract.changes or not parent.mandate.reads:
        return _not_allowed(parent.mandate, step, added, contract)
    return _not_said(parent, step, contract)


def exceeds(
    parent: PlanSpec, child: PlanSpec, contracts: Mapping[str, Contract], earlier: Collection[str]
) -> str:
    """Why a revision goes beyond what the parent's approval covers, or ""; `earlier` was added before."""
    added: list[StepSpec] = []
    for step in (step for step in child.steps if not stands(parent, step)):
        if why := why_not(parent, step, added, contracts[step.id]):
            return f"{step.id}: {why}"
        added.append(step)
    if len({*earlier, *(step.digest() for step in added)}) > parent.mandate.max_added_steps:
        return f"the mandate allows {parent.mandate.max_added_steps} added steps in all"
    return _another(parent, child)


def _another(parent: PlanSpec, child: PlanSpec) -> str:
    """What else of the plan is not as it was approved, or ""."""
    kept = {step.id for step in child.steps}
    wanted = [undo.digest() for undo in parent.rollback if undo.undoes in kept]
    if [undo.digest() for undo in child.rollback] != wanted:
        return "the rollback is another one"
    if any(need not in kept for step in child.steps for need in step.depends_on):
        return "a step is left out that a later one relies on"
    ends = [(spec.goal, spec.model_dump_json(include={"done_when"})) for spec in (parent, child)]
    if ends[0] != ends[1] or child.review != parent.review or (child.continues and not parent.continues):
        return "the goal, or what makes it reached, is another one"
    return "" if narrower(parent.mandate, child.mandate) else "the mandate has become wider"


def narrower(old: Mandate, new: Mandate) -> bool:
    """Whether the new mandate allows nothing that the old one did not."""
    return (
        new.reads <= old.reads
        and set(new.extra) <= set(old.extra)
        and set(new.alternatives) <= set(old.alternatives)
        and set(new.said) <= set(old.said)
        and new.max_added_steps <= old.max_added_steps
        and new.max_cost_usd <= old.max_cost_usd
        and new.max_worker_usd <= old.max_worker_usd
    )


def _not_allowed(mandate: Mandate, step: StepSpec, added: Sequence[StepSpec], contract: Contract) -> str:
    found = next((a for a in map(allowance, mandate.extra) if a.names(step)), None)
    if found is None:
        kind = "changes something" if contract.changes else "reads"
        return f"it {kind}, and the mandate does not name it"
    if sum(found.names(other) for other in added) >= found.uses:
        return f"the mandate allows it {found.uses} times"
    name = found.beyond(step, contract)
    return f"the mandate does not allow this {name}" if name else ""


def _not_to_draft(parent: PlanSpec, step: StepSpec, added: Sequence[StepSpec], contract: Contract) -> str:
    """People name what may be drafted, how often and where; nothing else in it may be anybody's own words."""
    found = next((a for a in map(allowance, parent.mandate.extra) if a.names(step)), None)
    if found is None:
        return "it drafts something, and the mandate does not name it"
    if sum(found.names(other) for other in added) >= found.uses:
        return f"the mandate allows it {found.uses} times"
    if open_ := [name for name in contract.names if name in step.parameters and name not in found.bounds]:
        return f"the mandate does not say which {open_[0]}"
    if not found.fits(step):
        return f"the mandate does not allow this {found.outside(step)}"
    return _not_said(parent, step, contract)


def _not_said(parent: PlanSpec, step: StepSpec, contract: Contract) -> str:
    """What a worker reported must not leave in a parameter: each free value must be an approved one."""
    said = set(_leaves([found.parameters for found in (*parent.steps, *parent.rollback)]))
    said |= {leaf for word in parent.mandate.said for leaf in _spoken(word)}
    fields: Mapping[str, Any] = contract.parameters.get("properties", {})
    for name, value in step.parameters.items():
        field = fields.get(name, {})
        if field.get("from_output") or _closed(value, field):
            continue  # what stands here goes nowhere, or there is no room for a message
        if reference(value):
            return f"{name} would carry another step's report"
        if name in contract.names:
            if not isinstance(value, str) or value not in contract.names[name]:
                return f"{name} is not in the inventory"
        elif not said.issuperset(_leaves(value)):
            return f"{name} has a value that nobody approved"
    return ""


def open_value(step: StepSpec, contract: Contract) -> str:
    """The first parameter whose value is no name of the inventory and none of a few, or ""."""
    fields: Mapping[str, Any] = contract.parameters.get("properties", {})
    places = {entry.environment for entries in contract.names.values() for entry in entries.values()} - {""}
    for name, value in step.parameters.items():
        known = isinstance(value, str) and value in contract.names.get(name, {})
        place = name == "environment" and value in places
        if (
            not known
            and not place
            and not (name not in contract.names and _closed(value, fields.get(name, {})))
        ):
            return name
    return ""


def spoken(text: str) -> tuple[str, ...]:
    """The values in somebody's words that a read may take: paths, numbers, dates, what is quoted."""
    quoted = re.findall(r"[\"“']([^\"“”']{1,80})[\"”']", text)
    bare = re.findall(r"(?<![\w/.])(/[\w./-]{1,80}|\d[\d.:-]{0,20})(?![\w/])", text)
    return (*dict.fromkeys(word.rstrip(".,") for word in (*quoted, *bare) if word.strip()),)[:SPOKEN]


def unsaid(step: StepSpec, contract: Contract, text: str) -> str:
    """The first parameter with a value that is neither a name, one of a few, nor in these words; or ""."""
    fields: Mapping[str, Any] = contract.parameters.get("properties", {})
    places = {entry.environment for entries in contract.names.values() for entry in entries.values()} - {""}
    words = text.lower()
    for name, value in step.parameters.items():
        field = fields.get(name, {})
        known = isinstance(value, str) and value in contract.names.get(name, {})
        if known or (name == "environment" and value in places) or _closed(value, field):
            continue
        if reference(value):
            if not field.get("from_output"):
                return name
        elif not all(_within(leaf, words) for leaf in _leaves(value)):
            return name
    return ""


def _within(leaf: str, words: str) -> bool:
    """Whether this scalar was said as it stands, and not as a part of another word."""
    said = str(json.loads(leaf)).strip().lower()
    return not said or re.search(rf"(?<![\w/]){re.escape(said)}(?![\w/])", words) is not None


def _spoken(word: str) -> Iterator[str]:
    """A word as it may stand in a parameter: as text, and as the number that it is."""
    yield json.dumps(word)
    if re.fullmatch(r"-?\d{1,15}", word):
        yield json.dumps(int(word))


def _closed(value: Any, field: Mapping[str, Any]) -> bool:
    """A default, a choice, a switch, or a number between bounds."""
    if value is None or isinstance(value, bool) or ("default" in field and value == field["default"]):
        return True
    if value in field.get("enum", ()) or ("const" in field and value == field["const"]):
        return True
    if any(_closed(value, way) for way in field.get("anyOf", ())):
        return True
    return isinstance(value, int) and {"minimum", "maximum"} <= field.keys()


def _leaves(value: Any) -> Iterator[str]:
    """Every scalar and every key inside a value, as JSON so that 1 is not true."""
    if isinstance(value, Mapping):
        if not reference(dict(value)):
            for key, inner in value.items():
                yield json.dumps(key)
                yield from _leaves(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _leaves(inner)
    else:
        yield json.dumps(value)


def _only_later(old: StepSpec, new: StepSpec) -> bool:
    same = old.model_copy(update={"schedule": new.schedule}).digest() == new.digest()
    return same and later(old.schedule, new.schedule)


def later(old: Schedule, new: Schedule) -> bool:
    """Whether the new time only postpones, inside the time that was approved."""
    begins = new.not_before is not None and (old.not_before is None or new.not_before >= old.not_before)
    ends = old.not_after is None or (new.not_after is not None and new.not_after <= old.not_after)
    return begins and ends


def _fits(value: Any, word: str) -> bool:
    limits = RANGE.fullmatch(word)
    if limits and isinstance(value, int | float) and not isinstance(value, bool):
        return float(limits[1]) <= value <= float(limits[2])
    return (value if isinstance(value, str) else json.dumps(value)) == word
