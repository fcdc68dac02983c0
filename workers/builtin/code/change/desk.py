"""What an agent can do: look at files of its folder, change those of its subtask, have its tests run."""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workers.builtin.code.change.port import Task
from workers.builtin.code.ground.acceptance import may_change

EDITOR, TESTS = "str_replace_based_edit_tool", "run_tests"
TOOLS: tuple[dict[str, Any], ...] = (
    {"type": "text_editor_20250728", "name": EDITOR, "max_characters": 20_000},
    {
        "name": TESTS,
        "description": "Run the tests that decide whether the subtask is done. Takes no arguments.",
        "input_schema": {"type": "object", "properties": {}, "additionalProperties": False},
    },
)
LARGEST = 200_000  # characters of one file
RUNS = 6  # of the tests, on an agent's own wish


class Refused(Exception):
    """The agent may not; the sentence goes back to it."""


class Desk:
    """Tools over one folder. Whatever is wrong with a call is told to the agent, and changes nothing."""

    def __init__(self, task: Task) -> None:
        self.task, self.runs = task, 0
        self.seen: dict[str, int] = {}

    def use(self, name: str, given: Any) -> tuple[str, bool]:
        """What a tool answers, and whether that is an error."""
        try:
            return self._use(name, given if isinstance(given, Mapping) else {}), False
        except (Refused, OSError, UnicodeError, ValueError) as error:
            return f"{type(error).__name__}: {error}"[:500], True

    def refusal(self, path: str) -> str:
        """Why this may not be written, or ""."""
        try:
            self._path({"path": path}, writes=True)
        except Refused as error:
            return str(error)
        return ""

    def repeated(self, name: str, given: Any) -> int:
        """How often exactly this was asked for."""
        key = hashlib.sha256(json.dumps([name, given], sort_keys=True, default=str).encode()).hexdigest()
        self.seen[key] = self.seen.get(key, 0) + 1
        return self.seen[key]

    def _use(self, name: str, given: Mapping[str, Any]) -> str:
        if name == TESTS:
            return self._tests()
        if name != EDITOR:
            raise Refused(f"there is no tool {name!r}")
        way = {
            "view": self._view,
            "create": self._create,
            "str_replace": self._replace,
            "insert": self._insert,
        }
        command = given.get("command")
        if command not in way:
            raise Refused(f"there is no command {command!r}")
        return way[str(command)](given)

    def _tests(self) -> str:
        self.runs += 1
        if self.runs > RUNS:
            raise Refused("the tests were run often enough; stop when you are done")
        verdict = self.task.tests()
        return "All of these tests pass." if verdict.green else f"Not yet:\n{verdict.said}"

    def _view(self, given: Mapping[str, Any]) -> str:
        path = self._path(given)
        if path.is_dir():
            return "\n".join(
                sorted(f"{one.name}{'/' if one.is_dir() else ''}" for one in path.iterdir())[:500]
            )
        lines = self._text(path).splitlines()
        first, last = given.get("view_range") or (1, len(lines))
        last = len(lines) if int(last) < 0 else int(last)
        shown = enumerate(lines[int(first) - 1 : last], start=int(first))
        return "\n".join(f"{number}\t{line}" for number, line in shown)[:20_000]

    def _create(self, given: Mapping[str, Any]) -> str:
        path, text = self._path(given, writes=True), _word(given, "file_text")
        path.parent.mkdir(parents=True, exist_ok=True)
        self._write(path, text)
        return "The file was written."

    def _replace(self, given: Mapping[str, Any]) -> str:
        path, old = self._path(given, writes=True), _word(given, "old_str")
        text = self._text(path)
        if not old or text.count(old) != 1:
            raise Refused(f"old_str occurs {text.count(old) if old else 0} times; it must occur once")
        self._write(path, text.replace(old, str(given.get("new_str", "")), 1))
        return "The file was changed."

    def _insert(self, given: Mapping[str, Any]) -> str:
        path, at = self._path(given, writes=True), int(given.get("insert_line", -1))
        lines = self._text(path).splitlines(keepends=True)
        if not 0 <= at <= len(lines):
            raise Refused(f"there is no line {at}")
        new = _word(given, "insert_text")
        self._write(path, "".join([*lines[:at], new if new.endswith("\n") else f"{new}\n", *lines[at:]]))
        return "The file was changed."

    def _path(self, given: Mapping[str, Any], *, writes: bool = False) -> Path:
        """Inside the folder, wherever links lead; for writing, one of the subtask's own."""
        home = os.path.realpath(self.task.place)
        real = os.path.realpath(os.path.join(home, _word(given, "path")))
        if real != home and not real.startswith(f"{home}{os.sep}"):
            raise Refused("that is outside of your folder")
        name = os.path.relpath(real, home)
        if ".git" in name.lower().split(os.sep):
            raise Refused("there is no .git here")
        if writes and not may_change(self.task.entry, name, self.task.subtask.paths, self.task.judges):
            raise Refused(f"{name} is not yours to change; yours are: {', '.join(self.task.subtask.paths)}")
        return Path(real)

    def _text(self, path: Path) -> str:
        if not path.is_file():
            raise Refused("there is no such file")
        if path.stat().st_size > LARGEST:
            raise Refused("that file is too large")
        return path.read_text()

    def _write(self, path: Path, text: str) -> None:
        if len(text) > LARGEST:
            raise Refused("that is too much for one file")
        draft = path.with_name(f".{path.name}.draft")
        draft.write_text(text)
        draft.replace(path)


def _word(given: Mapping[str, Any], name: str) -> str:
    if not isinstance(given.get(name), str):
        raise Refused(f"{name} is missing")
    return str(given[name])
