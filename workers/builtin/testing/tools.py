"""The test tools: how each is asked for a report, what it tells on the way, and how its report is read."""

import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from workers.base import Permanent, missing
from workers.builtin.testing import reports
from workers.builtin.testing.results import Case, Found
from workers.commands.process import Finished

COUNTED = re.compile(r"\[ *(\d+/\d+)\]$")
INTERRUPTED = 2


class Tool:
    """One run of a tool. This one writes JUnit XML where the inventory says; `again`: failures only."""

    endings: ClassVar[dict[int, str]] = {}
    suffix: ClassVar[str] = "xml"
    mute: ClassVar[bool] = False  # it writes no report, and is not expected to

    def words(self, command: Sequence[str], report: Path, *, reruns: bool) -> list[str]:
        """The words to run; `python` means the interpreter that runs this worker."""
        return [sys.executable, *command[1:]] if command[0] == "python" else [*command]

    def again(self, words: list[str], bad: list[Case]) -> list[str]:
        """The words that run the failed tests once more, or all where the tool cannot choose."""
        return words

    def hear(self, line: str) -> str:
        """How far it is, if the line tells."""
        return ""

    def found(self, files: list[Path], done: Finished) -> Found | None:
        return reports.junit(files)


class Pytest(Tool):
    endings: ClassVar[dict[int, str]] = {
        INTERRUPTED: "The test run was interrupted",
        3: "pytest failed with an internal error",
        4: "pytest did not accept its command line",
        5: "No tests were collected",
    }

    def words(self, command: Sequence[str], report: Path, *, reruns: bool) -> list[str]:
        words = super().words(command, report, reruns=reruns)
        own = [*own_pytest(), *words[1:]] if words[0] == "pytest" else words
        memory = ["-o", f"cache_dir={report.parent / 'cache'}"] if reruns else ["-p", "no:cacheprovider"]
        return [*own, f"--junitxml={report}", "-o", "console_output_style=count", *memory]

    def again(self, words: list[str], bad: list[Case]) -> list[str]:
        return [*words, "--last-failed"]

    def hear(self, line: str) -> str:
        counted = COUNTED.search(line)
        return f"{counted[1]} tests" if counted else ""

    def found(self, files: list[Path], done: Finished) -> Found | None:
        return reports.junit(files, interrupted=bool(done.broken_off()) or done.returncode == INTERRUPTED)


class Jest(Tool):
    """Also vitest, whose JSON is the same."""

    suffix: ClassVar[str] = "json"
    options: ClassVar[tuple[str, ...]] = ("--json", "--outputFile={report}")
    tells: ClassVar[re.Pattern[str]] = re.compile(r"^ *(?:PASS|FAIL|✓|❯) +(\S+\.[cm]?[jt]sx?)(?![:\w])")

    def __init__(self) -> None:
        self.files: set[str] = set()

    def words(self, command: Sequence[str], report: Path, *, reruns: bool) -> list[str]:
        return [*command, *(option.format(report=report) for option in self.options)]

    def hear(self, line: str) -> str:
        self.files.update(self.tells.findall(line))
        return many(len(self.files), "test file")

    def found(self, files: list[Path], done: Finished) -> Found | None:
        return reports.jest(files[0]) if files else None


class Vitest(Jest):
    options: ClassVar[tuple[str, ...]] = (
        "--reporter=default",
        "--reporter=json",
        "--outputFile.json={report}",
    )


class ExitCode(Tool):
    """A command that writes no report: its exit code is the only witness, and the command the only test."""

    mute: ClassVar[bool] = True

    def found(self, files: list[Path], done: Finished) -> Found | None:
        return Found([Case("the command", "failed" if done.returncode else "passed")])


def own_pytest() -> list[str]:
    """`pytest` means the one that Signoff is installed with; without one, whatever is called so here."""
    if not (said := missing("pytest")):
        return [sys.executable, "-m", "pytest"]
    if found := shutil.which("pytest"):
        return [found]
    raise Permanent(f"{said} Or let the suite's command name the project's own pytest.")


def many(number: int, word: str) -> str:
    """`1 test`, `12 tests`; "" for none."""
    return f"{number} {word}{'s' * (number != 1)}" if number else ""
