"""A release through a repository, killed (SIGKILL) before and after each git command; then run again.

python -m tests.crash.gitops [COMMAND …]: at every command, or at the first of each that is named.
"""

import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.support.cluster.gitops_site import GitopsSite
from workers.builtin.gitops.repository import Repository

REAL = Repository._git  # the one way to git, and so to every sub-step


def doomed(number: int, *, after: bool) -> Any:
    seen = [0]

    def run(self: Repository, *words: str, **more: Any) -> Any:
        seen[0] += 1
        if (seen[0], after) == (number, False):
            os.kill(os.getpid(), signal.SIGKILL)
        done = REAL(self, *words, **more)
        if seen[0] == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return done

    return run


def killed(site: GitopsSite, number: int, *, after: bool) -> bool:
    """Whether it was: False when the release ended before so many commands."""
    child = os.fork()
    if child == 0:
        Repository._git = doomed(number, after=after)  # type: ignore[method-assign] # this process only
        site.release("v1.5.0", "k1")
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def commands(place: Path) -> list[str]:
    """The git commands of a release that nobody kills."""
    said: list[str] = []

    def listen(self: Repository, *words: str, **more: Any) -> Any:
        said.append(words[0])
        return REAL(self, *words, **more)

    Repository._git = listen  # type: ignore[method-assign] # put back below
    GitopsSite(place).release("v1.5.0", "k1")
    Repository._git = REAL  # type: ignore[method-assign] # as it was
    return said


def sweep(place: Path, named: list[str]) -> Iterator[tuple[str, int]]:
    """What each kill was at, and how many commits it had pushed by then."""
    known = commands(place / "whole")
    for number in sorted({known.index(name) for name in named} or range(len(known))):
        for after in (False, True):
            site = GitopsSite(place / f"{number}-{after}")
            assert killed(site, number + 1, after=after), "it was not killed"
            pushed, report = len(site.log()) - 1, site.release("v1.5.0", "k1")
            assert (report.status, site.version(), len(site.log())) == ("succeeded", "v1.5.0", 2)
            yield f"{'after' if after else 'before'} {known[number]}", pushed


def main(named: list[str]) -> int:
    with tempfile.TemporaryDirectory() as place:
        found = [*sweep(Path(place), named)]
    late = sum(pushed for _, pushed in found)
    said = f"{len(found)} kills, {late} of them after the push; each time one commit, and the right version"
    sys.stdout.write(f"{said}\n")
    return 0 if 0 < late < len(found) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
