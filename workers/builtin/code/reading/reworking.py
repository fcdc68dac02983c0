"""A subtask that was left out beside others goes back to an agent, on what has landed without it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from workers.base import Context, Permanent
from workers.builtin.code.ground.acceptance import judge
from workers.builtin.code.ground.git import Git
from workers.builtin.code.ground.queue import merged
from workers.builtin.code.ground.refs import draft_ref, integrated
from workers.builtin.code.ground.subtasks import BRIEF, TESTS, Subtask, Work

MORE = 3  # tests of others that a subtask gets besides its own
SAID = re.compile(r"^(?:FAILED|ERROR) ([A-Za-z0-9_][A-Za-z0-9_.+@/-]*)", re.MULTILINE)  # as pytest names them


@dataclass(frozen=True)
class Why:
    """Why a draft does not go with what has landed: for its next agent, and the tests that say so."""

    said: str
    tests: tuple[str, ...] = ()


def reworked(git: Git, work: Work, numbers: Sequence[int], home: Path, ctx: Context) -> Work:
    """The work on the new tip, with each of these subtasks once more behind it."""
    tip = git.tip(integrated(ctx.plan))
    if not tip:
        raise Permanent("Nothing of this plan is integrated, so no draft was left out beside it.")
    if taken := [number for number in numbers if work.item(number).instead is not None and work.since]:
        raise Permanent(f"Subtask {taken[0]} was taken up again already; that is done once.")
    whole = judge(git, work.base, (), home).green
    more = [_again(work, n, _why(git, work, n, tip, whole, home, ctx)) for n in numbers]
    return work.model_copy(update={"base": tip, "since": work.start, "items": (*work.items, *more)})


def _again(work: Work, number: int, why: Why) -> Subtask:
    item = work.item(number)
    tests = (*dict.fromkeys((*item.tests, *why.tests)),)[:TESTS]
    brief = f"{item.brief}\n\n{why.said}"[:BRIEF]
    given = {"brief": brief, "tests": tests, "needs": (), "instead": number}
    return item.model_copy(update=given)


def _why(git: Git, work: Work, number: int, tip: str, whole: bool, home: Path, ctx: Context) -> Why:
    """Seen on the tip as it is now, not as it was when the draft was left out."""
    draft = git.tip(draft_ref(ctx.plan, f"change-{number}"))
    if not draft:
        raise Permanent(f"There is no draft of subtask {number} that was left out.")
    tree, files = merged(git, tip, draft)
    head = "This was drafted before, and left out; others' work has landed, and is in your files: keep it."
    if files:
        return Why(f"{head} The earlier draft conflicted in {', '.join(files[:5])}.")
    tests, told = _red(git, work, tree, whole, home, ctx)
    if not tests and not told:
        return Why(head)
    return Why(f"{head} With the earlier draft, these tests were red: {', '.join(tests)}\n{told}", tests)


def _red(
    git: Git, work: Work, tree: str, whole: bool, home: Path, ctx: Context
) -> tuple[tuple[str, ...], str]:
    """Which tests, not its own, are red with the draft, and what they print."""
    if whole:
        verdict, known = judge(git, tree, (), home), git.files(tree)
        named = dict.fromkeys(SAID.findall(verdict.said)) if not verdict.green else ()
        return tuple(name for name in named if name in known)[:MORE], verdict.said
    found = [*_alone(git, work, tree, home, ctx)]
    return tuple(test for test, _ in found), found[0][1] if found else ""


def _alone(git: Git, work: Work, tree: str, home: Path, ctx: Context) -> Iterator[tuple[str, str]]:
    """The first few tests of what has landed that are red, each tried for itself."""
    landed = {*git.trailers("Signoff-Step", work.start, git.tip(integrated(ctx.plan)))}
    items = [item for number, item in enumerate(work.items) if f"change-{number}" in landed]
    left = MORE
    for test in dict.fromkeys(test for item in items for test in item.tests):
        verdict = judge(git, tree, (test,), home)
        if not verdict.green:
            yield test, verdict.said
            left -= 1
        if not left:
            return
