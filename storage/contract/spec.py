"""The plan document: frozen, closed, and named by a digest of its effects. No state, no I/O."""

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from threading import Lock
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AwareDatetime, Field, JsonValue, StringConstraints

from storage.contract.capability import Check, Document, Value, fingerprint

Instant = Annotated[AwareDatetime, AfterValidator(lambda moment: moment.astimezone(UTC))]
Key = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$")]
FailureAction = Literal["ask", "abort", "rollback", "continue"]


class Schedule(Document):
    """When a step may start. `window`, `at` and `closed` are words; the rest is what happens."""

    window: str = ""
    at: str = ""
    not_before: Instant | None = None
    not_after: Instant | None = None
    zone: str = "UTC"
    closed: tuple[str, ...] = ()  # the holidays on which its window would have opened
    overrun: Literal["finish", "ask", "stop"] = "finish"  # what becomes of it if it still runs at the end


class Retries(Document):
    """How often a repeat-safe step is tried, and the first wait between tries in seconds."""

    attempts: int = Field(default=3, ge=1, le=10)
    wait: float = Field(default=5.0, ge=0, le=3600)


class StepSpec(Document):
    """One call of one action. `contract` and `binding` are filled in when the plan is proposed."""

    id: Key
    worker: str
    action: str
    purpose: str = ""
    parameters: dict[str, Value] = Field(default_factory=dict)
    depends_on: tuple[Key, ...] = ()
    schedule: Schedule = Schedule()
    success_criteria: tuple[Check | str, ...] = ()
    failure_action: FailureAction = "ask"
    retries: Retries = Retries()
    contract: str = ""
    binding: str = ""

    def effects(self) -> dict[str, Any]:
        """Everything of this step that an approval is about: no prose, no words for times."""
        effects = self.model_dump(mode="json", exclude={"purpose", "schedule"})
        when = self.schedule.model_dump(mode="json", include={"not_before", "not_after"})
        when |= {"overrun": self.schedule.overrun} if self.schedule.overrun != "finish" else {}
        return effects | {"schedule": when}

    def digest(self) -> str:
        return fingerprint(self.effects())


class UndoSpec(StepSpec):
    """A step that undoes another one; it runs only in a rollback."""

    undoes: Key


class Mandate(Document):
    """What the planner may add without asking again."""

    reads: bool = True
    extra: tuple[str, ...] = ()
    # What may stand in for a failed step, as policy names it. Left out where there is none: plans from before
    # there were any keep their digests.
    alternatives: tuple[str, ...] = Field(default=(), exclude_if=lambda given: not given)
    # Values that people said in their request, for reads that are added. Left out the same way.
    said: tuple[str, ...] = Field(default=(), exclude_if=lambda given: not given)
    max_added_steps: int = Field(default=5, ge=0)
    max_cost_usd: float = Field(default=1.0, ge=0)
    # What its steps that draft may cost together, in USD. Left out where it is nothing, as above.
    max_worker_usd: float = Field(default=0.0, ge=0, exclude_if=lambda given: not given)


class PlanSpec(Document):
    """What people approve: the contract between intention and execution."""

    goal: str
    steps: tuple[StepSpec, ...]
    rollback: tuple[UndoSpec, ...] = ()
    done_when: tuple[Check, ...] = ()
    mandate: Mandate = Mandate()
    continues: bool = False
    review: Literal["anomalies", "always"] = "anomalies"  # always: after each step it waits for a look

    def effects(self) -> dict[str, Any]:
        rest = self.model_dump(mode="json", include={"done_when", "mandate", "continues"})
        rest |= {"review": self.review} if self.review == "always" else {}
        return rest | {
            "steps": [step.effects() for step in self.steps],
            "rollback": [undo.effects() for undo in self.rollback],
        }

    def digest(self) -> str:
        return fingerprint(self.effects())

    def find(self, key: str) -> StepSpec:
        """The step or undo of that id."""
        return next(step for step in (*self.steps, *self.rollback) if step.id == key)


def reference(value: JsonValue) -> tuple[str, str] | None:
    """("step-2", "path") for the whole-value reference {"from": "step-2.path"}, else None."""
    if not isinstance(value, dict) or set(value) != {"from"}:
        return None
    step, _, field = str(value["from"]).partition(".")
    return step, field


def resolve(parameters: Mapping[str, JsonValue], data: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Parameters with each reference replaced by what that step reported."""
    return {name: _resolved(value, data) for name, value in parameters.items()}


def _resolved(value: JsonValue, data: Mapping[str, Mapping[str, Any]]) -> Any:
    found = reference(value)
    return data[found[0]][found[1]] if found else value


def holds(check: Check, data: Mapping[str, Any]) -> bool:
    """Whether a report's data answers the check. A missing or incomparable field is a no."""
    found: Any = data
    for part in check.field.split("."):
        if not isinstance(found, Mapping) or part not in found:
            return False
        found = found[part]
    try:
        return bool(_COMPARE[check.op](found, check.value))
    except TypeError:
        return False


_COMPARE: dict[str, Any] = {
    "eq": lambda found, value: found == value,
    "ne": lambda found, value: found != value,
    "lt": lambda found, value: found < value,
    "le": lambda found, value: found <= value,
    "gt": lambda found, value: found > value,
    "ge": lambda found, value: found >= value,
    "exists": lambda found, value: True,
    "contains": lambda found, value: value in found,
}


def utc(moment: datetime) -> str:
    """How an instant stands in a document."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


@dataclass(frozen=True)
class Reading:
    """What a stored document says now: the plan, its digest, and the digest of each step."""

    spec: PlanSpec
    digest: str
    steps: Mapping[str, tuple[StepSpec, str]]


ROOM = 1_000_000  # characters of documents that are remembered; what is read from them weighs more


class Shelf:
    """Readings, by a name: those that were used last, as many as their texts have room."""

    def __init__(self, room: int) -> None:
        self._room, self.size = room, 0
        self._kept: OrderedDict[str, tuple[str, Reading]] = OrderedDict()
        self._lock = Lock()

    def find(self, name: str, text: str) -> Reading | None:
        with self._lock:
            known = self._kept.get(name)
            if known is None or known[0] != text:
                return None
            self._kept.move_to_end(name)
            return known[1]

    def keep(self, name: str, text: str, reading: Reading) -> Reading:
        with self._lock:
            self.size += len(text) - len(self._kept.pop(name, ("", None))[0])
            self._kept[name] = text, reading
            while self.size > self._room:
                self.size -= len(self._kept.popitem(last=False)[1][0])
        return reading


_read, _approved = Shelf(ROOM), Shelf(ROOM)


def read_spec(text: str) -> Reading:
    """Remembered by the text, so an edit is seen."""
    if found := _read.find(text, text):
        return found
    spec = PlanSpec.model_validate_json(text)
    steps = {s.id: (s, s.digest()) for s in (*spec.steps, *spec.rollback)}
    return _read.keep(text, text, Reading(spec, spec.digest(), steps))


def read_approved(text: str, digest: str) -> Reading:
    """The same for a document that comes again with every claim: comparing costs a tenth of hashing."""
    return _approved.find(digest, text) or _approved.keep(digest, text, read_spec(text))


def readable(text: str, keys: Iterable[str]) -> PlanSpec | None:
    """What a stored document says, if it can be read and knows the steps that stand beside it."""
    try:
        reading = read_spec(text)
    except ValueError:
        return None
    return reading.spec if reading.steps.keys() >= set(keys) else None
