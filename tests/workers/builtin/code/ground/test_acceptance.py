"""What counts of an agent's folder, and whose fault a suite's end is."""

import sys
from pathlib import Path

import pytest

from tests.support.fleet.ground import Ground, boxed
from workers.base import Permanent
from workers.builtin.code.ground.acceptance import drafted, judge
from workers.builtin.code.ground.git import Git

pytestmark = [boxed, pytest.mark.fleet]
TESTS = ("tests/test_part_000.py",)
GOOD = "def price_0(count):\n    return count * 3\n"


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path)


@pytest.fixture
def at(ground: Ground, tmp_path: Path) -> tuple[Git, str, Path]:
    git = ground.git()
    base = git.fetch()
    place = tmp_path / "place"
    git.put(base, place)
    assert not (place / ".git").exists()
    return git, base, place


def test_a_test_that_was_rewritten_does_not_judge(at: tuple[Git, str, Path], tmp_path: Path) -> None:
    git, base, place = at
    (place / "tests" / "test_part_000.py").write_text("# green\n")
    (place / "shop" / "part_000.py").write_text("def price_0(count):\n    return 0\n")
    draft = drafted(git, base, place, ["shop/part_000.py", "tests/test_part_000.py"])
    assert draft.strays == ("tests/test_part_000.py",)
    assert [one.path for one in draft.changes] == ["shop/part_000.py"]
    assert not judge(git, draft.tree, TESTS, tmp_path).green


def test_what_lies_outside_its_paths_is_named_and_not_committed(
    at: tuple[Git, str, Path], tmp_path: Path
) -> None:
    git, base, place = at
    (place / "shop" / "part_000.py").write_text(GOOD)
    (place / "sitecustomize.py").write_text("raise SystemExit(0)\n")
    (place / "shop" / "part_001.py").unlink()
    draft = drafted(git, base, place, ["shop/part_000.py"])
    assert set(draft.strays) == {"sitecustomize.py", "shop/part_001.py"}
    assert judge(git, draft.tree, TESTS, tmp_path).green


@pytest.mark.parametrize("kind", ["hook", "filter", "fsmonitor"])
def test_a_planted_git_directory_runs_nothing_of_its_own(
    at: tuple[Git, str, Path], tmp_path: Path, kind: str
) -> None:
    git, base, place = at
    witness, planted = tmp_path / "witness", place / ".git"
    (planted / "hooks").mkdir(parents=True)
    script = planted / "run"
    script.write_text(f"#!/bin/sh\ntouch {witness}\ncat\n")
    script.chmod(0o755)
    (planted / "hooks" / "reference-transaction").symlink_to(script)
    (planted / "HEAD").write_text("ref: refs/heads/main\n")
    (planted / "config").write_text(
        f'[core]\n\tfsmonitor = {script}\n[filter "x"]\n\tclean = {script}\n\tsmudge = {script}\n'
    )
    (place / ".gitattributes").write_text("* filter=x\n")
    (place / "shop" / "part_000.py").write_text(GOOD)
    draft = drafted(git, base, place, ["shop/part_000.py"])
    assert set(draft.strays) == {".git", ".gitattributes"}
    assert not witness.exists()


def test_a_link_out_of_the_folder_is_kept_as_a_link(at: tuple[Git, str, Path], tmp_path: Path) -> None:
    git, base, place = at
    (tmp_path / "secret").write_text("s3cret")
    (place / "shop" / "part_000.py").unlink()
    (place / "shop" / "part_000.py").symlink_to(tmp_path / "secret")
    draft = drafted(git, base, place, ["shop/part_000.py"])
    assert [one.after for one in draft.changes] == ["120000"]
    assert "s3cret" not in git.run("cat-file", "-p", draft.changes[0].blob)


@pytest.mark.parametrize(
    ("program", "ours"),
    [("exit(1)", False), ("import os; os.kill(os.getpid(), 15)", False), ("exit(5)", True),
     ("exit(127)", True), ("exit(4)", True)],
)  # fmt: skip
def test_only_the_suites_own_failure_is_the_agents_fault(tmp_path: Path, program: str, ours: bool) -> None:
    git = Ground(tmp_path, suite=[sys.executable, "-c", program]).git()
    base = git.fetch()
    if ours:
        with pytest.raises(Permanent, match="could not be run"):
            judge(git, base, (), tmp_path)
    else:
        assert not judge(git, base, (), tmp_path).green


def test_a_program_that_is_not_there_is_our_fault(tmp_path: Path) -> None:
    git = Ground(tmp_path, suite=["/usr/bin/no-such-program"]).git()
    with pytest.raises(Permanent, match="could not be run"):
        judge(git, git.fetch(), (), tmp_path)


def test_a_program_that_only_ends_is_not_believed(tmp_path: Path) -> None:
    """`os._exit(0)` in what is tested makes a suite end with 0, and no test has run."""
    suite = [sys.executable, "-c", "import os; os._exit(0)", "pytest"]
    git = Ground(tmp_path, suite=suite).git()
    assert not judge(git, git.fetch(), (), tmp_path).green
    git = Ground(tmp_path, suite=[sys.executable, "-c", "print('3 passed in 0.1s')", "pytest"]).git()
    assert judge(git, git.fetch(), (), tmp_path).green


def test_a_test_that_decides_is_nobodys_to_change_wherever_it_lies(
    at: tuple[Git, str, Path], tmp_path: Path
) -> None:
    git, base, place = at
    (place / "shop" / "check.py").write_text("# a test that no glob protects\n")
    assert drafted(git, base, place, ["shop"]).strays == ()
    assert drafted(git, base, place, ["shop"], ["shop/check.py"]).strays == ("shop/check.py",)
