"""What a worker promises about one action, as published: the only thing planning knows of execution."""

import hashlib
from typing import Annotated, Any, Literal

import rfc8785
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue


class Document(BaseModel):
    """Frozen and closed: what was read is what is meant."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def fingerprint(value: JsonValue) -> str:
    """SHA-256 over canonical JSON (RFC 8785)."""
    return hashlib.sha256(rfc8785.dumps(value)).hexdigest()


def _sayable(value: JsonValue) -> JsonValue:
    """Canonical JSON has no NaN, no infinity and no integer beyond 2^53."""
    try:
        rfc8785.dumps(value)
    except rfc8785.CanonicalizationError as error:
        raise ValueError(f"this value cannot stand in a plan: {error}") from None
    return value


Value = Annotated[JsonValue, AfterValidator(_sayable)]


class Check(Document):
    """One question to a report's data that code can answer; `name` is how people say it."""

    field: str
    op: Literal["eq", "ne", "lt", "le", "gt", "ge", "exists", "contains"]
    value: Value = None
    name: str = ""


class Entry(Document):
    """What one inventory name stands for: the hash of its definition, and where it lives."""

    binding: str
    environment: str = ""
    hint: str = ""  # what a planner must know to use it; no effect, so no part of the binding
    usd: float = Field(default=0.0, ge=0, exclude_if=lambda given: not given)  # the most an attempt may cost


PROSE = {
    "summary",
    "aliases",
    "typical",
    "usual",
    "names",
    "preview",
    "leaves",
    "planning",
}  # what no approval relies on
Basis = Literal["target", "action", "promise"]  # the last runs there, the last runs, or the worker's word


class Contract(Document):
    """One action of one worker."""

    worker: str
    action: str
    summary: str
    aliases: tuple[str, ...] = ()
    parameters: dict[str, Any]
    data: dict[str, Any]
    changes: bool
    repeat: Literal["safe", "unsafe"] = "unsafe"
    timeout: float
    typical: float
    # What it took lately, as the installation has seen it: by target, and "" for whichever. Never published.
    usual: dict[str, float] = Field(default_factory=dict, exclude_if=lambda given: not given)
    target: str = ""
    undo: str = ""
    criteria: dict[str, tuple[Check, ...]] = Field(default_factory=dict)
    names: dict[str, dict[str, Entry]] = Field(default_factory=dict)
    preview: bool = False
    planning: bool = False  # a read that a planner may have made before there is a plan
    # How a step is said, as a template over its parameters (`storage.contract.saying`). People decide by
    # these words, so they are in the hash where there are any; without, what was approved keeps its hash.
    says: str = Field(default="", max_length=300, exclude_if=lambda given: not given)
    leaves: str = Field(default="", max_length=300)  # what is true once it succeeded, the same way
    # It makes what only a later approved step can publish, and spends money. Left out of hashes where it does
    # not: what was approved before there was this fact stays approved.
    drafts: bool = Field(default=False, exclude_if=lambda given: not given)

    @property
    def reads(self) -> bool:
        """Whether it leaves everything as it is: only then may it be an answer, or go unapproved."""
        return not self.changes and not self.drafts

    def hash(self) -> str:
        """Of what an approver relies on. What the inventory holds is not part of it: that is the binding."""
        return fingerprint(self.model_dump(mode="json", exclude=PROSE))

    def binding(self, parameters: dict[str, Any]) -> str:
        """Hash of what the names among these parameters stand for today."""
        entries = {
            name: known[str(parameters[name])].binding
            for name, known in self.names.items()
            if str(parameters.get(name)) in known
        }
        return fingerprint(entries)  # type: ignore[arg-type] # dict[str, str] is JSON; dict is invariant

    def environment(self, parameters: dict[str, Any]) -> str:
        """Where a step with these parameters acts, or "" when nothing says."""
        if "environment" in parameters:
            return str(parameters["environment"])
        found = (known.get(str(parameters.get(name))) for name, known in self.names.items())
        return next((entry.environment for entry in found if entry and entry.environment), "")

    def ceiling(self, parameters: dict[str, Any]) -> float:
        """The most that one attempt with these parameters may cost, in USD."""
        found = (known.get(str(parameters.get(name))) for name, known in self.names.items())
        return max((entry.usd for entry in found if entry), default=0.0)

    def takes(self, parameters: dict[str, Any]) -> tuple[float, Basis]:
        """How many seconds a step with these parameters takes, and by what that is known."""
        target = self.locks(parameters)
        if target and target in self.usual:
            return self.usual[target], "target"
        return (self.usual[""], "action") if "" in self.usual else (self.typical, "promise")

    def locks(self, parameters: dict[str, Any]) -> str:
        """The target a step with these parameters holds while it runs, or "" for none."""
        text = self.target
        for name, value in parameters.items():
            text = text.replace("{" + name + "}", str(value))
        return text
