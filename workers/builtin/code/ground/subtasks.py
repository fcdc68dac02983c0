"""Subtasks: what an agent shall do, where, and which tests decide whether it did. Pure, and read strictly."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)

from workers.base import Permanent, fingerprint

MOST = 200  # of one epic
BRIEF, TESTS = 4096, 20  # characters, and tests, of one
PARTS = 3  # that one may be split into


def _plain(name: str) -> str:
    """A path inside the repository, spelt plainly."""
    parts = name.split("/")
    if name.startswith(("/", "-")) or any(part.lower() in {"", ".", "..", ".git"} for part in parts):
        raise ValueError(f"'{name}' is no plain path inside the repository")
    return name


PathName = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z0-9_.+@ /-]+$", max_length=200), AfterValidator(_plain)
]
TestName = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z0-9_.+@/:\[\]-]+$", max_length=300), AfterValidator(_plain)
]


class Part(BaseModel):
    """What an agent shall do. `tests` are ids or files that are there already; `needs` are earlier items."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: str = Field(min_length=1, max_length=120)
    brief: str = Field(min_length=1, max_length=BRIEF)
    paths: tuple[PathName, ...] = Field(min_length=1, max_length=20)
    tests: tuple[TestName, ...] = Field(min_length=1, max_length=TESTS)
    needs: tuple[Annotated[int, Field(ge=0, lt=MOST)], ...] = ()


class Subtask(Part):
    """One piece of an epic. `parts` are what it falls into if no agent gets it green as a whole."""

    parts: tuple[Part, ...] = Field(default=(), max_length=PARTS, exclude_if=lambda given: not given)
    # Whose place it takes, once that one could not land as it was cut. Never a person's or a model's word.
    instead: int | None = Field(default=None, ge=0, lt=MOST, exclude_if=lambda given: given is None)


class Work(BaseModel):
    """What a goal was cut into, and the commit that it was cut from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    repository: str
    base: str
    items: tuple[Subtask, ...] = Field(min_length=1, max_length=MOST)
    since: str = Field(default="", exclude_if=lambda given: not given)  # the first base, if it is another

    @property
    def start(self) -> str:
        """Where the repository stood before anything of the epic landed."""
        return self.since or self.base

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        for number, item in enumerate(self.items):
            if any(need >= number for need in item.needs):
                raise ValueError(f"subtask {number} needs one that comes after it")
            if item.instead is not None and item.instead >= number:
                raise ValueError(f"subtask {number} takes the place of one that comes after it")
        return self

    def item(self, number: int) -> Subtask:
        if not 0 <= number < len(self.items):
            raise Permanent(f"There is no subtask {number}: the work has {len(self.items)}. Nothing was run.")
        return self.items[number]

    def successors(self, number: int) -> list[int]:
        """What takes the place of a subtask."""
        return [later for later, item in enumerate(self.items) if item.instead == number]

    def judges(self) -> frozenset[str]:
        """The files of tests that decide about any of them: no agent changes one."""
        return frozenset(test.partition("::")[0] for item in self.items for test in item.tests)


def read_plan(text: str, repository: str, base: str) -> Work:
    """A plan file of subtasks, as a person writes it: `{"subtasks": [...]}`."""
    try:
        given = json.loads(text)
        found = given.get("subtasks") if isinstance(given, dict) else None
        work = Work.model_validate({"repository": repository, "base": base, "items": found})
    except (ValueError, ValidationError) as error:
        raise Permanent(f"The plan of subtasks cannot be used: {_first(error)}. Nothing was run.") from None
    if any(item.instead is not None for item in work.items):
        raise Permanent("A plan of subtasks does not say what takes whose place. Nothing was run.")
    return work


def write(work: Work, place: Path) -> tuple[str, str]:
    """The file that change steps are pointed to, and the hash that names what is in it."""
    text = work.model_dump_json()
    digest = fingerprint(json.loads(text))
    file = place / f"work-{digest[:16]}.json"
    file.write_text(text)
    return str(file), digest


def read(file: str, home: Path, repository: str) -> Work:
    """Work that a decompose step of this plan wrote: no other file, and nobody's own words."""
    path = Path(file)
    inside = path.is_absolute() and path.resolve().is_relative_to(home.resolve())
    if not inside or path.is_symlink() or not path.is_file():
        raise Permanent("The work is no file that a decompose step of this plan wrote. Nothing was run.")
    try:
        found = Work.model_validate_json(path.read_text())
    except (ValidationError, ValueError) as error:
        raise Permanent(f"The work cannot be read: {_first(error)}. Nothing was run.") from None
    if path.name != f"work-{fingerprint(found.model_dump(mode='json'))[:16]}.json":
        raise Permanent("The work was changed after it was written. Nothing was run.")
    if found.repository != repository:
        raise Permanent(f"The work is about {found.repository}, and this step about {repository}.")
    return found


def needs_of(items: Sequence[Subtask]) -> list[list[int]]:
    return [[*item.needs] for item in items]


def _first(error: Exception) -> str:
    if isinstance(error, ValidationError):
        fault = error.errors()[0]
        return f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}"
    return str(error)[:200]
