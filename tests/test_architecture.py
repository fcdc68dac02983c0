"""docs/architecture.md is the floor plan: every room stands on it, and every test it names exists."""

import ast
import re
from pathlib import Path

from tests.support.places import ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
TOPS = ("storage", "bot", "workers")


def rooms() -> dict[str, Path]:
    found = [file for top in TOPS for file in (ROOT / top).rglob("__init__.py")]
    return {f"{file.parent.relative_to(ROOT)}/": file for file in found}


def test_the_map_has_every_room_and_no_other():
    assert {*re.findall(r"^\| `([\w/]+/)` \|", PAGE, re.MULTILINE)} == {*rooms()}


def test_every_room_says_what_lives_there_and_the_map_says_the_same():
    said = {
        room: ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) for room, file in rooms().items()
    }

    assert [room for room, words in said.items() if f"| `{room}` | {words} |" not in PAGE] == []


def test_no_room_is_too_wide():
    wide = {room: len([*file.parent.glob("*.py")]) - 1 for room, file in rooms().items()}

    assert {room: count for room, count in wide.items() if count > 17} == {}


def test_every_test_that_the_page_names_exists():
    named = re.findall(r"`(tests/[\w/]+\.py)`", PAGE)

    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []
