"""What a worker is: a class of actions; each carries the facts that approval and recovery rest on.

All that a worker needs to know of Signoff is here: what it takes from `storage`, it takes from this module.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum, auto
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, JsonValue

from storage.contract.capability import Check, fingerprint
from storage.contract.report import Report
from storage.contract.spec import holds
from storage.extras import missing
from storage.private_files import private_directory
from storage.secrets.redaction import Redactor, known_values

__all__ = [
    "Action",
    "Asks",
    "Check",
    "Context",
    "Named",
    "Params",
    "Permanent",
    "Preview",
    "Redactor",
    "Report",
    "Transient",
    "Unsure",
    "Verdict",
    "Worker",
    "action",
    "check",
    "fingerprint",
    "holds",
    "known_values",
    "missing",
]

F = TypeVar("F", bound=Callable[..., Any])


class Transient(Exception):
    """It did not work now; trying again may help. `after` is the least wait in seconds."""

    def __init__(self, message: str, *, after: float | None = None) -> None:
        super().__init__(message)
        self.after = after


class Permanent(Exception):
    """It will not work this way. The text says what, where, and what state things were left in."""


class Asks(Exception):
    """A person must say whether the plan goes on; the text is the question."""


class Unsure(Exception):
    """It may have happened or not, and the worker cannot tell: a person is asked."""


class Verdict(Enum):
    """What a probe says when it has no report of the interrupted attempt."""

    did_not_run = auto()
    cannot_tell = auto()


@dataclass(frozen=True)
class Preview:
    """What an action would do, in words, and what that rests on: if the basis moves, people are asked again.

    Without a basis the words are only for information. `found` are at most three short verdicts for the card,
    such as “image found”; one that people should stop at begins with “!”. `was` is what is there now, in a
    word or two.
    """

    text: str
    basis: JsonValue = None
    found: tuple[str, ...] = ()
    was: str = ""


class Params(BaseModel):
    """Base of every action's parameters: closed and frozen."""

    model_config = ConfigDict(frozen=True, extra="forbid")


@dataclass(frozen=True)
class Named:
    """Marks a parameter whose values are names of an inventory table: `Annotated[str, Named("services")]`."""

    table: str


@dataclass(frozen=True)
class Context:
    """What an attempt knows besides its parameters."""

    plan: int
    step: str
    attempt: int
    key: str  # idempotency key: the same for every attempt of this step
    place: Path  # where `scratch` is, or would be
    now: Callable[[], datetime]
    previous: dict[str, Any] = field(default_factory=dict)  # what `before` recorded at START
    progress: Callable[[str], None] = lambda text: None
    cancelled: Callable[[], bool] = lambda: False
    hold: Callable[[], None] = lambda: None  # right before a late effect: ends an attempt that lost its step
    approvers: Callable[[], tuple[str, ...]] = (
        tuple  # who said yes to the plan, for what is written elsewhere
    )

    @cached_property
    def scratch(self) -> Path:
        """Files written here are artefacts of the attempt. Made when first asked for: many need none."""
        return private_directory(self.place)


@dataclass
class Action:
    """One thing a worker can do. `run`, and the optional hooks that `before`, `probe`, … register."""

    run: Callable[..., Report[Any]]
    changes: bool
    repeat: Literal["safe", "unsafe"]
    timeout: float
    typical: float
    target: str
    undo: str
    criteria: dict[str, tuple[Check, ...]]
    says: str = ""
    leaves: str = ""
    drafts: bool = False
    planning: bool = False
    hooks: dict[str, Callable[..., Any]] = field(default_factory=dict)

    def before(self, function: F) -> F:
        """Reads the state that an undo must return to; recorded at START as `previous`."""
        return self._hook("before", function)

    def probe(self, function: F) -> F:
        """Finds out what became of an interrupted attempt: a Report if it ran, else a Verdict."""
        return self._hook("probe", function)

    def preview(self, function: F) -> F:
        """Finds out what the action would do, without doing it; people read it before they approve."""
        return self._hook("preview", function)

    def _hook(self, name: str, function: F) -> F:
        self.hooks[name] = function
        return function


def action(
    *,
    changes: bool,
    repeat: Literal["safe", "unsafe"] = "unsafe",
    timeout: float = 600.0,
    typical: float = 60.0,
    target: str = "",
    undo: str = "",
    criteria: dict[str, tuple[Check, ...]] | None = None,
    says: str = "",
    leaves: str = "",
    drafts: bool = False,
    planning: bool = False,
) -> Callable[[Callable[..., Report[Any]]], Action]:
    """Declare an action. `repeat="safe"`: running it again with the same key does no further harm.

    `says` is the line that people approve: "*Deploy* {service} [{was} → ]*{version}* on {environment}". What
    is in brackets is left out where it is not known; every chosen value that it does not name is said behind
    it. `leaves` says what is true once it succeeded: "{service} is {version} on {environment}".
    `drafts`: it makes what only a later approved step can publish, and spends money. `planning`: a quick read
    that a planner may have made before there is a plan; it sends nothing of its own.
    """
    if planning and (changes or drafts):
        raise ValueError("what changes or drafts something is never a planning read")
    facts = (changes, repeat, timeout, typical, target, undo, criteria or {}, says, leaves, drafts, planning)
    return lambda run: Action(run, *facts)


def check(field: str, op: Any, value: Any = None) -> Check:
    return Check(field=field, op=op, value=value)


class Worker:
    """Base of all workers. The docstring's first line is shown to planners and people."""

    name: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()

    def __init__(self, inventory: dict[str, dict[str, dict[str, Any]]]) -> None:
        self.inventory = inventory

    def entry(self, table: str, name: str) -> dict[str, Any]:
        """The inventory entry of that name; a kind error when there is none."""
        known = self.inventory.get(table, {})
        if name not in known:
            names = ", ".join(sorted(known)) or "none"
            raise Permanent(
                f"There is no '{name}' under [inventory.{table}] in signoff.toml. Known: {names}."
            )
        return known[name]

    def hint(self, table: str, name: str) -> str:
        """What a planner must know to use this entry of the inventory, in a few words."""
        return ""

    def packages(self) -> Iterator[str]:
        """Which packages of Signoff's extras it needs, as this inventory is."""
        yield from ()

    def needs(self) -> Iterator[tuple[str, Callable[[], object]]]:
        """What must be there outside, by name, each with a look that raises what is wrong; for `doctor`."""
        yield from ()
