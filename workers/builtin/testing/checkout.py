"""A clean checkout of what shall be tested, at one commit that the report can name."""

import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from workers.base import Context, Permanent, Transient
from workers.commands import process
from workers.commands.process import Finished

SECONDS = 300.0
# Nothing of the repository may run before its tests do.
CAREFUL = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "init.templateDir=")
ABSENT = re.compile(r"couldn't find remote ref|not our ref|no such remote ref", re.IGNORECASE)
PASSING = re.compile(r"Could not resolve|Connection|timed out|early EOF|hung up|HTTP 5\d\d", re.IGNORECASE)


@contextmanager
def checked_out(repository: str, refs: Sequence[str], ctx: Context) -> Iterator[tuple[Path, str]]:
    """The directory of the checkout, and the commit; it is removed when the tests are through."""
    place = ctx.scratch.absolute() / "checkout"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    try:
        _git(["init", "--quiet"], place, ctx)
        _fetch(repository, refs, place, ctx)
        _check_done(_git(["checkout", "--quiet", "--detach", "FETCH_HEAD"], place, ctx), repository)
        yield place, _commit(_git(["rev-parse", "HEAD"], place, ctx), repository)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _fetch(repository: str, refs: Sequence[str], place: Path, ctx: Context) -> None:
    for ref in refs:
        fetched = _git(["fetch", "--quiet", "--depth=1", "--no-tags", "--", repository, ref], place, ctx)
        if fetched.returncode == 0:
            return
        if not ABSENT.search(fetched.text()):
            _check_done(fetched, repository)
    names = " or ".join(refs)
    raise Permanent(f"The repository {repository} has no {names}. Nothing was run.")


def _git(words: Sequence[str], place: Path, ctx: Context) -> Finished:
    return process.run(
        ["git", *CAREFUL, *words],
        cwd=place,
        # Its directory is said, never looked for: no other repository's configuration and filters are read.
        env={
            "GIT_DIR": str(place / ".git"),
            "GIT_WORK_TREE": str(place),
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ALLOW_PROTOCOL": "file:git:http:https:ssh",
        },
        timeout=SECONDS,
        scratch=ctx.scratch,
        key=ctx.key,
        cancelled=ctx.cancelled,
    )


def _commit(finished: Finished, repository: str) -> str:
    _check_done(finished, repository)
    return finished.text().split()[-1]


def _check_done(finished: Finished, repository: str) -> None:
    """Nothing, or an error that says why there is no checkout."""
    if finished.returncode == 0:
        return
    lines = [line for line in finished.text().splitlines() if line.strip()] or ["it printed nothing"]
    told = next((line for line in lines if line.startswith("fatal:")), lines[-1])
    cause = f"git {finished.broken_off()}" if finished.broken_off() else told
    kind = Transient if PASSING.search(told) or finished.timed_out else Permanent
    raise kind(f"{repository} could not be checked out: {cause[:300]}. Nothing was run.")
