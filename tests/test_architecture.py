"""docs/architecture.md and docs/glossary.md are the floor plan: what they name exists, and stands there."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.places import ROOT

DOCS = ROOT / "docs"
PAGE = (DOCS / "architecture.md").read_text(encoding="utf-8")
GLOSSARY = (DOCS / "glossary.md").read_text(encoding="utf-8")
PICTURE = (DOCS / "pictures" / "flow.svg").read_text(encoding="utf-8")
TOPS = ("storage", "bot", "workers")


def rooms() -> dict[str, Path]:
    found = [file for top in TOPS for file in (ROOT / top).rglob("__init__.py")]
    return {f"{file.parent.relative_to(ROOT)}/": file for file in found}


def places(text: str) -> list[tuple[str, str]]:
    """What a page says of the code: a file, and a name in it."""
    return re.findall(r"`((?:bot|storage|workers)/[\w/]+\.py)` `(\w+)`", text)


def defined(file: str) -> Iterator[str]:
    """Every function, class, field and constant of a module."""
    for node in ast.walk(ast.parse((ROOT / file).read_text(encoding="utf-8"))):
        match node:
            case (
                ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.AnnAssign(target=ast.Name(id=name))
            ):
                yield name


def rows(text: str) -> list[list[str]]:
    """The cells of the numbered table, line by line."""
    return [line.strip("|").split("|") for line in text.splitlines() if re.match(r"\| \d+ \|", line)]


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


@pytest.mark.parametrize(("file", "name"), sorted({*places(PAGE), *places(GLOSSARY)}))
def test_what_the_walk_and_the_glossary_name_is_there(file, name):
    assert name in defined(file)


def test_every_file_that_the_pages_name_exists():
    named = {*re.findall(r"`((?:bot|storage|workers|docs|tests)/[\w/]+\.\w+)`", PAGE + GLOSSARY)}

    assert [name for name in named if not (ROOT / name).exists()] == []


def test_every_step_of_the_walk_and_every_word_says_where():
    words = [line for line in GLOSSARY.splitlines() if line.startswith("| **")]

    assert len(words) > 30
    assert [line for line in [*words, *("|".join(row) for row in rows(PAGE))] if not places(line)] == []


def test_the_glossary_explains_each_word_once_in_one_sentence():
    words = re.findall(r"^\| \*\*(.+?)\*\* \| (.+?) \| ", GLOSSARY, re.MULTILINE)

    assert len({word for word, _ in words}) == len(words)
    assert [word for word, said in words if not said.endswith(".") or ". " in said] == []


def test_the_picture_has_the_numbers_of_the_walk():
    drawn = sorted(map(int, re.findall(r'class="n"[^>]*>(\d+)<', PICTURE)))

    assert drawn == [int(row[0]) for row in rows(PAGE)]


def test_the_picture_names_rooms_and_modules_that_exist():
    named = {*re.findall(r">((?:slack|plans|engine)/\w+)<", PICTURE)}
    tops = {"slack": "bot", "plans": "bot", "engine": "workers"}

    assert len(named) >= 6
    assert [n for n in named if not (ROOT / tops[n.split("/")[0]] / f"{n}.py").exists()] == []
