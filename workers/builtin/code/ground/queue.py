"""The merge queue: drafts in a stable order on one tip, tested as a batch; a red batch is halved."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from workers.base import Permanent
from workers.builtin.code.ground.git import Git

Tested = Callable[[str, Sequence["Drafted"]], bool]  # a tree, and what has landed in it


@dataclass(frozen=True)
class Drafted:
    """One change that waits: its commit, and the tests that must stay green with it."""

    commit: str
    title: str
    key: str
    tests: tuple[str, ...]


@dataclass(frozen=True)
class Landed:
    """Where the queue stands: the tip, what is in it, and what is not, with why."""

    tip: str
    tree: str
    landed: tuple[Drafted, ...] = ()
    left: tuple[tuple[Drafted, str], ...] = field(default=())
    runs: int = 0  # of the suite


def land(git: Git, base: str, waiting: Sequence[Drafted], tested: Tested, note: str) -> Landed:
    """Everything that goes together; the same order gives the same result, twice."""
    start = Landed(base, git.run("rev-parse", f"{base}^{{tree}}").strip())
    return _batch(git, start, waiting, tested, note)


def _batch(git: Git, at: Landed, waiting: Sequence[Drafted], tested: Tested, note: str) -> Landed:
    tried = at
    for one in waiting:
        tried = _merged(git, tried, one, note)
    new = tried.landed[len(at.landed) :]
    if not new:
        return tried
    runs = at.runs + 1
    if tested(tried.tree, tried.landed):
        return replace(tried, runs=runs)
    if len(new) == 1:
        return replace(
            at, left=(*tried.left, (new[0], "its tests, or another's, are red beside the others")), runs=runs
        )
    middle = len(new) // 2
    half = _batch(git, replace(at, left=tried.left, runs=runs), new[:middle], tested, note)
    return _batch(git, half, new[middle:], tested, note)


def _merged(git: Git, at: Landed, one: Drafted, note: str) -> Landed:
    tree, files = merged(git, at.tip, one.commit)
    if files:
        return replace(at, left=(*at.left, (one, f"it conflicts in {', '.join(files[:3])}")))
    message = f"Land “{one.title}”\n\nSignoff-Landed: {one.key}\n{note}"
    tip = git.commit(tree, [at.tip, one.commit], message)
    return replace(at, tip=tip, tree=tree, landed=(*at.landed, one))


def merged(git: Git, tip: str, commit: str) -> tuple[str, list[str]]:
    """The tree of both, and the files in which they conflict."""
    done = git.tried("merge-tree", "--write-tree", "--name-only", "--no-messages", tip, commit)
    lines = done.log.read_text(errors="replace").splitlines()
    if done.returncode not in {0, 1}:
        raise Permanent(f"git merge-tree failed: {' '.join(lines)[-200:]}")
    return lines[0].strip(), lines[1:] if done.returncode else []
