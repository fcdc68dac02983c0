"""Acceptance by code: what would be committed is put into a folder of its own, and its tests run in the box.

Tests that exist and what governs them come from the base, whatever an agent did to them; only the suite's own
failure is the agent's fault.
"""

import re
import shutil
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from workers.base import Permanent, Transient
from workers.builtin.code.ground.git import Change, Git
from workers.builtin.code.ground.places import tests_at_once
from workers.builtin.code.ground.repository import Entry, matches
from workers.commands import process
from workers.commands.box import Box, demand

RED = 1  # the only exit code by which a suite says that its tests failed
BROKEN, COLLECTING = 2, "during collection"  # what is tested cannot even be imported
TOLD = 800  # characters of red output that an agent is shown


@dataclass(frozen=True)
class Verdict:
    """`said` is what an agent, or a person, reads about it."""

    green: bool
    said: str = ""


@dataclass(frozen=True)
class Draft:
    """What lies in an agent's folder: the tree that would be committed, and what may not be."""

    tree: str
    changes: tuple[Change, ...]
    strays: tuple[str, ...]


def drafted(git: Git, base: str, place: Path, paths: Sequence[str], judges: Collection[str] = ()) -> Draft:
    """What changed in the folder; only what lies in the subtask's paths and is not protected counts."""
    planted = [one for one in place.rglob("*") if one.name.lower() == ".git"]
    for one in planted:  # nothing of ours: the folder has none
        shutil.rmtree(one, ignore_errors=True) if one.is_dir() and not one.is_symlink() else one.unlink()
    found = git.differences(base, git.taken(base, place))
    own = [one for one in found if may_change(git.entry, one.path, paths, judges)]
    strays = [one.path for one in found if one not in own] + [str(one.relative_to(place)) for one in planted]
    return Draft(git.composed(base, own), tuple(own), tuple(strays))


def may_change(entry: Entry, path: str, paths: Sequence[str], judges: Collection[str] = ()) -> bool:
    """Inside the subtask's paths, and neither protected nor one of the tests that decide."""
    inside = matches(path, paths) and matches(path, entry.paths)
    return (
        inside
        and path not in judges
        and not matches(path, entry.protected)
        and ".git" not in path.lower().split("/")
    )


def judge(git: Git, tree: str, tests: Sequence[str], home: Path) -> Verdict:
    """Run these tests on this tree, in the box; without any, the whole suite."""
    demand()
    place = home / "judged"
    shutil.rmtree(place, ignore_errors=True)
    git.put(tree, place)
    with tests_at_once:
        done = process.run(
            [*git.entry.command(), *tests],
            cwd=place,
            env={},
            timeout=git.entry.suite_seconds,
            scratch=home,
            key=git.ctx.key,
            cancelled=git.ctx.cancelled,
            box=Box(place, git.entry.seen()),
        )
    if git.ctx.cancelled():
        raise Transient("It was stopped before its tests had ended.")
    told = done.text().strip()[-TOLD:]
    if done.returncode == 0:
        whole = re.search(git.entry.finished(), done.text())
        return (
            Verdict(True) if whole else Verdict(False, f"The tests ended before they were through.\n{told}")
        )
    if done.returncode == RED or (done.returncode == BROKEN and COLLECTING in told):
        return Verdict(False, told)
    if done.timed_out:
        return Verdict(False, f"The tests did not end within {git.entry.suite_seconds:g} s.\n{told}")
    if done.signal and done.signal != 9:
        return Verdict(False, f"The tests were ended by signal {done.signal}.\n{told}")
    raise Permanent(
        f"The tests could not be run (exit {done.returncode}): {told[-300:] or 'it printed nothing'}"
    )


def baseline(git: Git, base: str, tests: Sequence[str], home: Path) -> bool:
    """Whether the tests are green before anybody starts: the box works, and they are there to be run."""
    return judge(git, base, tests, home).green
