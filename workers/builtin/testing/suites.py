"""`[inventory.suites.*]`: what the name of a test suite stands for, and where it may run."""

import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from workers.base import Permanent
from workers.builtin.shared.entries import Setting, secrets
from workers.builtin.testing.streams import Cargo, Go, Node
from workers.builtin.testing.tools import ExitCode, Jest, Pytest, Tool, Vitest
from workers.commands.process import Limits

LIMIT = 1800.0
GRACES = (10.0, 5.0)
TOOLS: dict[str, type[Tool]] = {
    "pytest": Pytest, "go": Go, "node": Node, "jest": Jest, "vitest": Vitest, "cargo": Cargo, "junit": Tool,
    "exit-code": ExitCode,
}  # fmt: skip
# Which words of a command give a tool away, unless the entry names it.
TRACES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("pytest", ("pytest",)), ("go", ("go", "test")), ("node", ("node", "--test")), ("jest", ("jest",)),
    ("vitest", ("vitest",)), ("cargo", ("cargo", "test")),
)  # fmt: skip


class Suite(Setting):
    """One entry. `report` is a glob of JUnit files; `versions` a pattern of tags and branches on request."""

    command: tuple[str, ...] = Field(min_length=1)
    directory: Path | None = None
    tool: Literal["", "pytest", "go", "node", "jest", "vitest", "cargo", "junit", "exit-code"] = ""
    report: str = ""
    environments: dict[str, Setting] | None = None
    repository: str = ""
    ref: str = "HEAD"
    versions: str = ""
    timeout: float = Field(default=600.0, gt=0, le=LIMIT - 2 * sum(GRACES))
    silence: float | None = Field(default=None, gt=0)
    reruns: Literal[0, 1] = 0
    limits: Limits = Limits()

    @field_validator("environments", mode="before")
    @classmethod
    def _named(cls, value: Any) -> Any:
        """A list of names, or a table with settings for each."""
        return {name: {} for name in value} if isinstance(value, list | tuple) else value

    @field_validator("versions")
    @classmethod
    def _readable(cls, value: str) -> str:
        try:
            re.compile(value)
        except re.error as error:
            raise ValueError(f"it is no regular expression: {error}") from None
        return value

    @field_validator("report")
    @classmethod
    def _inside(cls, value: str) -> str:
        _check_relative(Path(value))
        return value

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if not self.repository and self.directory is None:
            raise ValueError("needs 'directory', or 'repository' for a clean checkout")
        if self.repository:
            _check_relative(self.directory or Path())
        if re.search(r"//[^/@]*:[^/@]*@", self.repository):
            raise ValueError("'repository' holds a password; git's credential helper is the place for it")
        if self.versions and not self.repository:
            raise ValueError("'versions' needs a repository")
        if self.reruns and self.kind() == "exit-code":
            raise ValueError("'reruns' needs a tool that says which tests failed")
        return self

    def kind(self) -> str:
        """The name of the tool: as the entry says, or as the command gives away."""
        names = [Path(word).name for word in self.command]
        traced = (tool for tool, trace in TRACES if all(word in names for word in trace))
        return self.tool or ("junit" if self.report else next(traced, "junit"))

    def new_tool(self) -> Tool:
        return TOOLS[self.kind()]()

    def line(self) -> str:
        return shlex.join(self.command)


def _check_relative(place: Path) -> None:
    if place.is_absolute() or ".." in place.parts:
        raise ValueError("it must be a place inside the project: relative, and without '..'")


def settings(suite: Suite, name: str, environment: str) -> tuple[dict[str, str], list[str]]:
    """The variables of a suite in this environment, and the secret values among them."""
    _allow(suite, name, environment)
    there = (suite.environments or {}).get(environment, Setting())
    secret = secrets({**suite.secrets_env, **there.secrets_env}, f"suites.{name}")
    plain = {**suite.env, **there.env, "SIGNOFF_ENVIRONMENT": environment}
    return {**plain, **secret}, [*secret.values()]


def refs(suite: Suite, name: str, version: str) -> Sequence[str]:
    """What to look for in the repository, the first that exists."""
    if not version:
        return [suite.ref]
    if not suite.versions or not re.fullmatch(suite.versions, version):
        rule = f"match {suite.versions}" if suite.versions else "be left out: the suite names no 'versions'"
        raise Permanent(f"The version of '{name}' must {rule} (see signoff.toml). Nothing was run.")
    return [f"refs/tags/{version}", f"refs/heads/{version}"]


def _allow(suite: Suite, name: str, environment: str) -> None:
    if suite.environments is not None and environment not in suite.environments:
        raise Permanent(
            f"The suite '{name}' may not run on {environment}; "
            f"signoff.toml allows it on: {', '.join(suite.environments)}. Nothing was run."
        )
