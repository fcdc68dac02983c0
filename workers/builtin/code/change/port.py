"""What a driver is: somebody who works in a folder when spoken to, and says when and why it stopped."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from workers.base import Transient
from workers.builtin.code.ground.acceptance import Verdict
from workers.builtin.code.ground.repository import Entry, Model
from workers.builtin.code.ground.subtasks import Subtask

Why = Literal["finished", "turns", "time", "repetition", "money", "refusal", "stalled"]  # never “success”


class Stalled(Transient):
    """Nothing was heard, and it is the model that did not answer: nobody's fault, and no rung is used."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"The model said nothing for {seconds:.0f} s.")


@dataclass(frozen=True)
class Task:
    """All that an agent gets: no repository, no credential, no word of the plan."""

    subtask: Subtask
    entry: Entry
    model: Model
    place: Path
    tried: str  # what was tried before, in two lines
    tests: Callable[[], Verdict]
    told: Callable[[str], None]
    cancelled: Callable[[], bool]
    clock: Callable[[], float]
    judges: frozenset[str] = frozenset()  # files of tests, which nobody changes
    marks: Mapping[str, str] = field(default_factory=dict)  # what its processes carry, to be found by


@dataclass
class Spent:
    """What a conversation has cost so far."""

    usd: float = 0.0
    input: int = 0
    output: int = 0
    calls: int = 0


@dataclass
class Ended:
    """Why an agent stopped. Whether it did its work is for the tests to say."""

    why: Why
    said: str = ""
    spent: Spent = field(default_factory=Spent)


class Agent(Protocol):
    """A conversation in a folder. API trouble is raised as Transient, and is nobody's fault."""

    @property
    def spent(self) -> Spent: ...

    def say(self, text: str) -> Ended:
        """Say this to it, and wait until it stops."""

    def close(self) -> None:
        """Nothing of it is left."""
