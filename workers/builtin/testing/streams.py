"""Test tools that tell their results line by line: go test -json, node --test, cargo test."""

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from workers.builtin.testing.results import Case, Found, Outcome
from workers.builtin.testing.tools import Tool, many
from workers.commands.process import Finished

GO_PLACE = re.compile(r"^(\S+\.go:\d+)(?::\d+)?: (.*)")
GO_UNBUILT = re.compile(r"^FAIL\s+(\S+) \[(?:build|setup) failed\]")
GO_ENDS: dict[str, Outcome] = {"pass": "passed", "fail": "failed", "skip": "skipped"}
TAP_SUBTEST = re.compile(r"^( *)# Subtest: (.*)$")
TAP_POINT = re.compile(r"^( *)(not )?ok \d+(?: - (.*?))?(?: # (SKIP|TODO)\b.*)?$")
TAP_SUMMARY = re.compile(r"^# (pass|fail|cancelled|skipped|todo) (\d+)$")
TAP_WORDS = {
    "pass": "passed",
    "fail": "failed",
    "cancelled": "errors",
    "skipped": "skipped",
    "todo": "skipped",
}
TAP_FACT = re.compile(r"^ *(type|location|failureType|error): (?:'(.*)'|(\|-))$")
CANCELLED = ("cancelledByParent", "testAborted", "testTimeoutFailure")
CARGO_TEST = re.compile(r"^test (.+?)(?: - should panic)? \.\.\. (ok|FAILED|ignored)\b")
CARGO_RESULT = re.compile(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored;")
CARGO_ENDS: dict[str, Outcome] = {"ok": "passed", "FAILED": "failed", "ignored": "skipped"}
CARGO_PANIC = re.compile(r"^thread '(.+?)' .*panicked at (?:'(.*)', )?(\S+?:\d+):\d+:?$")
CARGO_OPENS = re.compile(
    r"^thread '(.+?)' panicked at '(.*)$"
)  # compilers before 1.73, words of several lines
CARGO_CLOSES = re.compile(r"^(.*)', (\S+?:\d+):\d+$")


class Go(Tool):
    """The events of `go test -json`. A package that could not be built or that died is an error."""

    def __init__(self) -> None:
        self.cases: dict[tuple[str, str], Case] = {}
        self.said: dict[tuple[str, str], list[str]] = {}
        self.fault = ("", "")
        self.heard = False

    def words(self, command: Sequence[str], report: Path, *, reruns: bool) -> list[str]:
        more = (
            [] if any(word.startswith("-count") for word in command) else ["-count=1"]
        )  # not from its cache
        return insert(command, "test", *([] if "-json" in command else ["-json"]), *more)

    def again(self, words: list[str], bad: list[Case]) -> list[str]:
        names = sorted({re.escape(case.name.partition("/")[0]) for case in bad if case.name != case.group})
        return insert(words, "test", "-run", f"^({'|'.join(names)})$") if names else words

    def hear(self, line: str) -> str:
        event = _event(line)
        self.heard = self.heard or event is not None
        if event is None or event.get("Action") == "build-output":
            self._loose(str(event["Output"]) if event else line)
            return ""
        key = str(event.get("Package", "")), str(event.get("Test", ""))
        if event.get("Action") == "output":
            self._output(key, str(event.get("Output", "")))
        elif event.get("Action") in GO_ENDS:
            self._ends(key, GO_ENDS[event["Action"]])
        done = sum(bool(name) for _, name in self.cases)
        return many(done, "test")

    def found(self, files: list[Path], done: Finished) -> Found | None:
        bad = [key for key, case in self.cases.items() if _bad(case)]
        parents = {(package, test.rpartition("/")[0]) for package, test in bad if "/" in test}
        cases = [replace(case, derived=key in parents) for key, case in self.cases.items()]
        return Found(cases) if cases or self.heard else None

    def _output(self, key: tuple[str, str], text: str) -> None:
        self.said.setdefault(key, []).append(text)
        del self.said[key][:-200]
        if not key[1]:
            self._loose(text)

    def _loose(self, text: str) -> None:
        if (found := GO_PLACE.match(text)) and not self.fault[0]:
            self.fault = found[1], found[2]
        if unbuilt := GO_UNBUILT.match(text):
            self.cases[unbuilt[1], ""] = Case(unbuilt[1], "errors", unbuilt[1], *self.fault)
            self.fault = "", ""

    def _ends(self, key: tuple[str, str], outcome: Outcome) -> None:
        package, test = key
        place, reason = _go_reason(self.said.pop(key, [])) if outcome == "failed" else ("", "")
        if test:
            self.cases[key] = Case(test, outcome, package, place, reason)
        elif outcome == "failed" and not any(
            _bad(case) and case.group == package for case in self.cases.values()
        ):
            self.cases[key] = Case(package, "errors", package, place or package, reason or "it ended early")


class Node(Tool):
    """The TAP of `node --test`. What groups tests is no test; its own summary at the end has the counts."""

    def __init__(self) -> None:
        self.cases: list[Case] = []
        self.summary: Counter[str] | None = None
        self.begun = False
        self.point: re.Match[str] | None = None
        self.facts: dict[str, str] = {}
        self.block = self.cause = ""
        self.path: list[str] = []

    def words(self, command: Sequence[str], report: Path, *, reruns: bool) -> list[str]:
        return insert(command, "node", "--test-reporter=tap")

    def hear(self, line: str) -> str:
        self.begun = self.begun or line.startswith("TAP version")
        if found := TAP_SUBTEST.match(line):
            self.path[len(found[1]) // 4 :] = [found[2]]
        elif found := TAP_SUMMARY.match(line):
            self.summary = self.summary or Counter()
            self.summary[TAP_WORDS[found[1]]] += int(found[2])
        elif found := TAP_POINT.match(line):
            self._close()
            self.point, self.facts, self.block = found, {}, ""
        elif re.match(r"# \w*Error\b.*: ", line):
            self.cause = line[2:]
        elif self.point:
            self._fact(line)
        return many(len(self.cases), "test")

    def found(self, files: list[Path], done: Finished) -> Found | None:
        self._close()
        return Found(self.cases, self.summary) if self.begun else None

    def _fact(self, line: str) -> None:
        if line.strip() == "...":
            self._close()
        elif self.block and line.strip():
            self.facts[self.block], self.block = line.strip(), ""
        elif fact := TAP_FACT.match(line):
            self.facts[fact[1]], self.block = fact[2] or "", fact[1] if fact[3] else ""

    def _close(self) -> None:
        point, self.point = self.point, None
        if point is None or self.facts.get("type") == "suite":
            return
        name = re.sub(r"\\([#\\])", r"\1", point[3] or "")
        kind, message = self.facts.get("failureType", ""), self.facts.get("error", "")
        failed: Outcome = "errors" if kind in CANCELLED else "failed"
        outcome: Outcome = "skipped" if point[4] else failed if point[2] else "passed"
        group = " > ".join(self.path[: len(point[1]) // 4])
        place = self.facts.get("location", "").rpartition(":")[0]
        reason = self.cause if message == "test failed" else message
        self.cases.append(Case(name, outcome, group, place, reason, kind == "subtestsFailed"))


class Cargo(Tool):
    """What `cargo test` prints, binary after binary; a crate that does not compile is an error."""

    def __init__(self) -> None:
        self.cases: dict[tuple[str, str], Case] = {}
        self.summary: Counter[str] = Counter()
        self.expected = 0
        self.binary = self.error = self.place = self.panicked = ""
        self.quoted: list[str] = []

    def hear(self, line: str) -> str:
        if found := re.match(r"^ +(?:Running|Doc-tests) (.+)$", line):
            self.binary = found[1]
        elif found := re.match(r"^running (\d+) tests?$", line):
            self.expected += int(found[1])
        elif found := CARGO_TEST.match(line):
            self.cases[self.binary, found[1]] = Case(found[1], CARGO_ENDS[found[2]], self.binary)
            return f"{len(self.cases)}/{self.expected} tests"
        elif found := CARGO_RESULT.match(line):
            self.summary.update(passed=int(found[1]), failed=int(found[2]), skipped=int(found[3]))
        else:
            self._reason(line)
        return ""

    def found(self, files: list[Path], done: Finished) -> Found | None:
        if self.summary or self.cases:
            whole = self.summary.total() == self.expected
            return Found([*self.cases.values()], self.summary if whole else None)
        return Found([Case("build", "errors", "", self.place, self.error)]) if self.error else None

    def _reason(self, line: str) -> None:
        if self.quoted:
            self._quote(line)
        elif found := CARGO_PANIC.match(line):
            self.panicked = found[1]
            self._blame(found[1], found[3], found[2] or "")
        elif found := CARGO_OPENS.match(line):
            self.panicked, self.quoted = found[1], [found[2]]
        elif found := re.match(r"^---- (.+) stdout ----$", line):
            self.panicked = found[1]
        elif found := re.match(r"^error(?:\[E\d+\])?: (.+)", line):
            self.error = self.error or line
        elif found := re.match(r"^ *--> (\S+?:\d+)", line):
            self.place = self.place or found[1]
        elif self.panicked and line.strip() and not line.startswith("thread "):
            self._blame(self.panicked, "", line)
            self.panicked = ""

    def _quote(self, line: str) -> None:
        closes = CARGO_CLOSES.match(line)
        self.quoted.append((closes[1] if closes else line).strip())
        if closes:
            self._blame(self.panicked, closes[2], " ".join(self.quoted))
            self.quoted, self.panicked = [], ""

    def _blame(self, name: str, place: str, message: str) -> None:
        if case := self.cases.get((self.binary, name)):
            told = replace(case, place=case.place or place, message=case.message or message)
            self.cases[self.binary, name] = told


def insert(words: Sequence[str], after: str, *more: str) -> list[str]:
    """The words with more of them behind the first that is this program or subcommand."""
    place = next((n for n, word in enumerate(words, 1) if Path(word).name == after), len(words))
    return [*words[:place], *more, *words[place:]]


def _event(line: str) -> dict[str, Any] | None:
    if not line.startswith("{"):
        return None
    try:
        event = json.loads(line)
    except ValueError:
        return None
    return event if isinstance(event, dict) and "Action" in event else None


def _bad(case: Case) -> bool:
    return case.outcome in ("failed", "errors")


def _go_reason(said: list[str]) -> tuple[str, str]:
    """The place and the words of a failure: what the test logged, or where it panicked."""
    text = [line.rstrip() for line in said if not re.match(r"^\s*(===|---|FAIL|PASS|ok\s)", line)]
    logged = next((found for line in text if (found := re.match(r"^ +(\S+\.go:\d+): (.*)", line))), None)
    if logged:
        return logged[1], logged[2]
    frames = (found for line in text if (found := re.match(r"^\t\S*?([^/\s]+_test\.go:\d+)", line)))
    panic = next((line for line in text if line.startswith("panic: ")), next(iter(text), ""))
    return next((found[1] for found in frames), ""), panic
