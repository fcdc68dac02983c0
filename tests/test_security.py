"""SECURITY.md is held against the code: every test and every file that it names exists."""

import re

from storage.secrets.patterns import PATTERNS
from tests.proof.model import BUGS
from tests.support.places import ROOT

PAGE = (ROOT / "SECURITY.md").read_text(encoding="utf-8")


def test_every_test_that_the_page_names_exists():
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")]
    known = {name for source in sources for name in re.findall(r"^def (test_\w+)", source, re.MULTILINE)}
    named = set(re.findall(r"`(test_\w+)`", PAGE))

    assert len(named) > 20
    assert named - known == set()


def test_every_attack_of_the_table_has_a_test_that_holds_it():
    table = PAGE.partition("## Attacks, and the tests that hold")[2].partition("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")][1:]

    assert len(rows) > 20
    assert [row for row in rows if not re.search(r"`test_\w+`", row.split("|")[2])] == []


def test_every_file_and_command_that_the_page_names_exists():
    files = re.findall(r"`(docs/[\w/.]+)`", PAGE)
    modules = re.findall(r"python -m tests\.([\w.]+)", PAGE)

    assert files
    assert modules
    assert [f for f in files if not (ROOT / f).exists()] == []
    assert [m for m in modules if not (ROOT / "tests" / f"{m.replace('.', '/')}.py").exists()] == []


def test_the_numbers_on_the_page_are_right():
    assert len(PATTERNS) >= 70
    assert len(BUGS) == 12
