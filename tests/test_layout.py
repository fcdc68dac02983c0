"""Tests mirror the house: whoever knows a module knows where its tests are, and the other way round."""

import ast
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path

import pytest

from tests.support.places import ROOT

MIRRORED = ("bot", "storage", "workers")
WIDEST = 17


def of_modules(root: Path) -> Iterator[Path]:
    """The tests that belong to a module each, as paths below `tests`."""
    for top in MIRRORED:
        yield from (path.relative_to(root / "tests") for path in (root / "tests" / top).rglob("test_*.py"))


def names(test: Path) -> list[str]:
    """What its module may be called: `test_a_b.py` is of `a_b`, or of `a` about b."""
    name = test.stem.removeprefix("test_")
    return ["__main__"] if name == "main" else [*accumulate(name.split("_"), "{}_{}".format)]


def homeless(root: Path) -> list[str]:
    """Tests of a module that is not there; a folder of pages or scripts counts as one."""
    return [
        str(test)
        for test in of_modules(root)
        if not any((root / test.parent / f"{name}.py").exists() for name in names(test))
        and not any((root / test.parent / name).is_dir() for name in names(test))
    ]


def rooms(root: Path) -> dict[Path, list[Path]]:
    """The folders of `tests`, each with its modules."""
    found = {path.parent for path in (root / "tests").rglob("*.py")}
    return {room: [path for path in room.glob("*.py") if path.name != "__init__.py"] for room in found}


def borrowed(source: str) -> list[str]:
    """Modules of tests that this source imports; what two share belongs to `tests.support`."""
    found: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found += [f"{'.' * node.level}{node.module or ''}.{alias.name}" for alias in node.names]
    return [name for name in found if name.startswith(("tests.", ".")) and ".test_" in name]


def test_every_test_of_a_module_lies_where_its_module_does():
    assert homeless(ROOT) == []


@pytest.mark.parametrize(
    ("module", "test", "lost"),
    [
        ("bot/plans/review.py", "bot/plans/test_review.py", False),
        ("bot/plans/review.py", "bot/plans/test_review_by_a_model.py", False),
        ("workers/__main__.py", "workers/test_main.py", False),
        ("bot/web/page/app.js", "bot/web/test_page.py", False),
        ("bot/plans/review.py", "bot/test_review.py", True),
        ("bot/plans/review.py", "bot/plans/test_rev.py", True),
        ("bot/plans/review.py", "bot/plans/test_reviews.py", True),
    ],
)
def test_a_test_without_its_module_is_found(tmp_path, module, test, lost):
    for path in (tmp_path / module, tmp_path / "tests" / test):
        path.parent.mkdir(parents=True)
        path.touch()

    assert homeless(tmp_path) == [test] * lost


def test_no_room_of_tests_is_too_wide():
    wide = {str(room.relative_to(ROOT)): len(modules) for room, modules in rooms(ROOT).items()}

    assert {room: count for room, count in wide.items() if count > WIDEST} == {}


def test_a_room_that_mirrors_none_says_what_lives_there():
    mirrors = {ROOT / "tests" / top for top in MIRRORED}
    packages = [
        room / "__init__.py"
        for room in rooms(ROOT)
        if (room / "__init__.py").exists() and not mirrors & {room, *room.parents}
    ]

    assert packages
    assert [str(file) for file in packages if not ast.get_docstring(ast.parse(file.read_text()))] == []


def test_no_test_is_imported_by_another_module():
    files = (ROOT / "tests").rglob("*.py")
    found = {str(file.relative_to(ROOT)): borrowed(file.read_text(encoding="utf-8")) for file in files}

    assert {file: names for file, names in found.items() if names} == {}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("from tests.bot.test_x import y", ["tests.bot.test_x.y"]),
        ("from tests.bot import test_x", ["tests.bot.test_x"]),
        ("from . import test_x", ["..test_x"]),
        ("def f():\n    import tests.bot.test_x as x", ["tests.bot.test_x"]),
        ("from tests.support.fakes import step", []),
        ("from workers.builtin.testing import test_runner", []),
    ],
)
def test_a_test_that_is_imported_is_found(source, found):
    assert borrowed(source) == found
