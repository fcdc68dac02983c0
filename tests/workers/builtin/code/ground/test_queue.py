"""The merge queue: conflicts and semantic pairs are left out by name, the same twice."""

import os
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.fleet.ground import Ground
from workers.base import Permanent
from workers.builtin.code.ground.git import Git
from workers.builtin.code.ground.places import sweep_locks
from workers.builtin.code.ground.queue import Drafted, Landed, land

pytestmark = pytest.mark.fleet


@pytest.fixture
def git(tmp_path: Path) -> Git:
    return Ground(tmp_path, parts=6).git()


def draft(git: Git, base: str, place: Path, name: str, **files: str) -> Drafted:
    """A commit with these files, as an agent would leave it."""
    git.put(base, place / name)
    for file, text in files.items():
        (place / name / f"{file}.py").write_text(text)
    commit = git.commit(git.taken(base, place / name), [base], name)
    return Drafted(commit, name, f"key-{name}", (f"{name}.py",))


def names(found: Landed) -> tuple[list[str], list[str]]:
    return [one.title for one in found.landed], [one.title for one, _ in found.left]


def test_a_text_conflict_is_left_out_with_its_files(git: Git, tmp_path: Path) -> None:
    base = git.fetch()
    made = [draft(git, base, tmp_path, name, port=f"PORT = {n}\n") for n, name in enumerate("ab")]
    made.append(draft(git, base, tmp_path, "c", other="X = 1\n"))
    found = land(git, base, made, lambda tree, landed: True, "Signoff-Plan: 1")
    assert names(found) == (["a", "c"], ["b"])
    assert found.left[0][1] == "it conflicts in port.py"
    assert found.runs == 1


def test_a_semantic_pair_is_found_by_halving(git: Git, tmp_path: Path) -> None:
    base = git.fetch()
    made = [draft(git, base, tmp_path, name, **{name: "X = 1\n"}) for name in "abcdefgh"]
    runs: list[int] = []

    def tested(tree: str, landed: Sequence[Drafted]) -> bool:
        runs.append(len(landed))
        return not {"c", "g"} <= {one.title for one in landed}

    first = land(git, base, made, tested, "Signoff-Plan: 1")
    assert names(first) == ([*"abcdefh"], ["g"])
    assert first.runs == len(runs) < len(made)
    again = land(git, base, made, tested, "Signoff-Plan: 1")
    assert (again.tree, names(again)) == (first.tree, names(first))


def test_each_key_is_in_the_history_once(git: Git, tmp_path: Path) -> None:
    base = git.fetch()
    made = [draft(git, base, tmp_path, name, **{name: "X = 1\n"}) for name in "abc"]
    found = land(git, base, made, lambda tree, landed: True, "Signoff-Plan: 1")
    keys = git.run("log", "--format=%(trailers:key=Signoff-Landed,valueonly)", f"{base}..{found.tip}").split()
    assert sorted(keys) == ["key-a", "key-b", "key-c"]


def test_what_another_has_moved_is_not_overwritten(git: Git) -> None:
    base = git.fetch()
    one, two = (git.commit(f"{base}^{{tree}}", [base], name) for name in ("one", "two"))
    git.move("refs/heads/signoff/1/change-0", one)
    with pytest.raises(Permanent, match="update-ref failed"):
        git.move("refs/heads/signoff/1/change-0", two)
    assert git.tip("refs/heads/signoff/1/change-0") == one


def test_a_lock_that_a_killed_git_left_is_taken_away(git: Git) -> None:
    git.fetch()
    old, new = git.dir / "refs" / "heads" / "old.lock", git.dir / "packed-refs.lock"
    for lock, age in ((old, 500), (new, 0)):
        lock.touch()
        os.utime(lock, (time.time() - age,) * 2)
    sweep_locks(git.dir)
    assert (old.exists(), new.exists()) == (False, True)
