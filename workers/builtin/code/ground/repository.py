"""`[inventory.repositories.*]`: where a repository lies, what judges a change of it, who works on it."""

import fnmatch
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from workers.base import Named
from workers.builtin.shared.entries import read_entry
from workers.commands.box import interpreter

TABLE = "repositories"
Repository = Annotated[str, Named(TABLE)]
PROTECTED = (
    "tests/*",
    "test/*",
    "conftest.py",
    "*/conftest.py",
    "pyproject.toml",
    "pytest.ini",
    "setup.cfg",
    "tox.ini",
    "*.lock",
    ".github/*",
    ".gitlab-ci.yml",
    ".ci/*",
    "*.pth",
    "sitecustomize.py",
    "Makefile",
    "Dockerfile",
)
TRIES = 3  # of one call of the model
PATIENCE = 120.0
PASSED = r"\d+ passed"
RISKY = (
    "subprocess",
    "os.system",
    "os.kill",
    "os.execv",
    "socket",
    "urllib",
    "requests",
    "httpx",
    "eval(",
    "exec(",
    "__import__",
    "ctypes",
    "pickle",
    "shutil.rmtree",
    "base64",
    "environ",
    "_exit",
    "atexit",
    "monkeypatch",
)


class Model(BaseModel):
    """One model that may work here, and its price in USD per million tokens."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    input: float = Field(default=1.0, ge=0)
    output: float = Field(default=5.0, ge=0)


class Entry(BaseModel):
    """One repository. `models` are tried in their order: the cheap one first."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: str  # a path or an address that git fetches from
    pool: Path  # a folder of our own: the clone, and a place for each agent
    base: str = "main"
    environment: str = ""
    suite: tuple[str, ...] = ()  # the command that tests all of it; names of tests are put behind it
    suite_ends: str = ""  # a pattern in what a suite prints when it has come to its end; pytest's is known
    suite_seconds: float = Field(default=300.0, gt=0, le=3600)
    read: tuple[Path, ...] = ()  # folders that tests need besides, such as a virtual environment
    protected: tuple[str, ...] = PROTECTED
    paths: tuple[str, ...] = ("*",)
    risky: tuple[str, ...] = RISKY
    max_lines: int = Field(default=400, gt=0)  # of one change
    driver: Literal["loop", "claude-agent-sdk"] = "loop"
    models: tuple[Model, ...] = (
        Model(name="claude-haiku-5-5"),
        Model(name="claude-sonnet-5-5", input=3.0, output=15.0),
    )
    api: str = ""  # where the Messages API is, if not at its usual address
    key_env: str = "ANTHROPIC_API_KEY"  # the variable that holds its key; "" for one that wants none
    call_seconds: float = Field(default=120.0, gt=0, le=600)  # for one reply of the model
    silent_seconds: float = Field(default=0.0, ge=0, le=3600)  # without a word of an agent; 0: see `silence`
    max_usd: float = Field(default=1.0, gt=0)  # of one attempt
    turns: int = Field(default=16, gt=0, le=100)
    seconds: float = Field(default=300.0, gt=0, le=3600)
    subtasks: Path | None = None  # a folder of plan files, for an epic without a model
    sandbox: Literal["full"] = "full"
    push: str = ""  # where code-publish pushes to
    push_token_env: str = ""  # the variable of its workers process that holds the credential
    forge: str = ""  # the forge's API, such as https://api.github.com/repos/acme/shop
    forge_token_env: str = ""

    def seen(self) -> tuple[Path, ...]:
        return (*interpreter(), *self.read)

    def command(self) -> list[str]:
        import sys

        usual = (sys.executable, "-I", "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider")
        return [*(self.suite or usual)]

    def silence(self) -> float:
        """How long an agent may say nothing and use nothing; usually, as long as its model may be tried."""
        return self.silent_seconds or max(PATIENCE, TRIES * self.call_seconds)

    def reply_seconds(self) -> float:
        """For one try of one reply, so that all tries of it end with the silence that is allowed."""
        return min(self.call_seconds, self.silence() / TRIES)

    def finished(self) -> str:
        """What a green suite's output holds, so that a program which only ends with 0 is not believed."""
        return self.suite_ends or (PASSED if any("pytest" in word for word in self.command()) else "")


def entry_of(name: str, raw: dict[str, Any]) -> Entry:
    return read_entry(Entry, TABLE, name, raw)


def matches(path: str, globs: Iterable[str]) -> bool:
    """Whether a path is one of these, or lies below one."""
    return any(fnmatch.fnmatchcase(path, glob) or path.startswith(f"{glob.rstrip('/')}/") for glob in globs)
