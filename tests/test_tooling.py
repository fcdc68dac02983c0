"""What developers run is the same everywhere, and what it names exists."""

import os
import re
import subprocess
import sys
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest
from hypothesis import settings

from tests.support.places import ROOT
from tests.support.ports import ports

AUDIT = run_path(str(ROOT / ".ci/audit.py"))
WEAK = {"id": "PYSEC-1", "fix_versions": ["2"]}


def test_a_run_here_and_a_run_on_ci_draw_the_same_cases() -> None:
    assert settings.get_current_profile_name() == "signoff"


def test_how_cases_are_drawn_is_said_in_one_place() -> None:
    """How many are drawn is each test's own choice."""
    own = re.compile(r"\b(deadline|derandomize|database|print_blob)=(None|True|False)\b")
    odd = [file.name for file in (ROOT / "tests").rglob("*.py") if own.search(file.read_text("utf-8"))]

    assert odd == ["conftest.py"]


DRAW = "from tests.support.ports import ports; print(ports(4), ports(4), flush=True); input()"


def test_tests_that_draw_ports_at_once_all_get_others() -> None:
    """What is started on a port listens a moment after it was drawn; so long it is nobody else's."""
    command, drawn = [sys.executable, "-c", DRAW], [ports(4)]
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with ExitStack() as held:
        others = [held.enter_context(subprocess.Popen(command, cwd=ROOT, text=True, **pipes)) for _ in "ab"]
        drawn += [int(port) for other in others for port in other.stdout.readline().split()]

    assert len({port + n for port in drawn for n in range(4)}) == 4 * (1 + 2 + 2)


LETS_GO = r"""plant\([^)]*, 0\)|\bfree_ports?\(|["']--port["'], ["']0["']"""


def test_no_test_draws_a_port_and_lets_it_go() -> None:
    """Whoever asks the system for any port and starts something there later may find it taken."""
    files = {file.name: file.read_text("utf-8") for file in (ROOT / "tests").rglob("*.py")}
    odd = [name for name, text in files.items() if re.search(LETS_GO, text)]

    assert odd == []


TOOLS = [ROOT / name for name in ("Makefile", "Dockerfile", ".ci/run", ".pre-commit-config.yaml")]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]


def named(pattern: str, *places: Path) -> list[str]:
    return sorted({name for place in places for name in re.findall(pattern, place.read_text("utf-8"))})


MODULES = named(r"python[\d.]* -m ([\w.]*\w)", *TOOLS, *PAGES)
FILES = named(r"(?<![\w/.-])((?:tests|docs|\.ci)/[\w/.-]*\w)", *TOOLS)


@pytest.mark.parametrize("name", MODULES)
def test_a_module_that_is_to_be_run_can_be_run(name: str) -> None:
    found = find_spec(name)

    assert found
    assert not found.submodule_search_locations or find_spec(f"{name}.__main__")


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_named_exists(name: str) -> None:
    assert (ROOT / name).exists()


@pytest.mark.parametrize(
    ("found", "code", "said"),
    [
        ([{"name": "a", "version": "1", "vulns": []}], 0, "no known weakness in 1 packages"),
        ([{"name": "a", "skip_reason": "?"}], 0, "NOT AUDITED, because the database"),
        ([], 0, "NOT AUDITED, because the database"),
        (
            [{"name": "a", "version": "1", "vulns": []}, {"name": "b", "skip_reason": "?"}],
            0,
            "NOT AUDITED: 1",
        ),
        (
            [{"name": "a", "version": "1", "vulns": [WEAK]}, {"name": "b", "skip_reason": "?"}],
            1,
            "a 1: PYSEC-1",
        ),
    ],
    ids=["good", "unknown", "empty", "partly", "weak"],
)
def test_an_audit_fails_on_a_weakness_and_tells_of_silence(found: Any, code: int, said: str) -> None:
    ended, sentence = AUDIT["verdict"](found)

    assert ended == code
    assert said in sentence


@pytest.mark.parametrize(
    ("said", "code"), [("Failed to resolve 'the.database'", 0), ("invalid specifier at line 1", 1)]
)
def test_only_a_missing_network_excuses_an_audit_without_an_answer(said: str, code: int) -> None:
    assert AUDIT["silence"](said)[0] == code


INSTALL = run_path(str(ROOT / ".ci/install.py"))


def test_pip_is_told_of_line_by_line_and_counted():
    progress = INSTALL["Progress"](3)
    INSTALL["follow"](
        ["Collecting aiohttp==3\n", "  Downloading aiohttp\n", "Collecting anyio==4\n"], progress
    )

    assert progress.line(12.4) == "  … 2 of 3 packages, downloading, 12 s"
    progress.hear("Installing collected packages: anyio, aiohttp")
    assert progress.line(20, unpacked=1) == "  … 1 of 3 packages, unpacking, 20 s"


@pytest.fixture
def pip(tmp_path):
    """What stands in for pip, in a process of its own whose output is a pipe."""

    def run(does: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "pip").mkdir()
        (tmp_path / "pip/__init__.py").touch()
        (tmp_path / "pip/__main__.py").write_text(does)
        main = f"runpy.run_path({str(ROOT / '.ci/install.py')!r})['main']('it', [], every=0.1)"
        argv = [sys.executable, "-c", f"import runpy, sys; sys.exit({main})"]
        env = {"PYTHONPATH": str(tmp_path), "PATH": os.environ["PATH"]}
        quiet = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
        return subprocess.run(argv, env=env, timeout=60, check=False, **quiet)

    return run


def test_while_pip_works_there_is_a_line_every_few_seconds_and_no_terminal_is_needed(pip):
    ran = pip("import time; [(print('Collecting', n, flush=True), time.sleep(0.1)) for n in range(6)]")

    assert ran.stdout.startswith("Installing it.")
    assert ran.stdout.count("  … ") >= 2
    assert "it: ready after" in ran.stdout


def test_a_pip_that_fails_shows_its_last_words(pip):
    ran = pip("print('no such package'); raise SystemExit(3)")

    assert (ran.returncode, ran.stderr) == (3, "no such package\n")
