"""The merge queue under kills: python -m tests.proof.fleet.queue --changes 60 --kills 3.

Each draft is integrated by a process of its own, which is killed with all that it started so many times at a
random moment, and then let come to its end. Each key is on the branch once, and nothing is left behind.
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.support.fleet.ground import Ground
from tests.support.places import ROOT
from tests.support.scratch import at
from workers.base import fingerprint
from workers.builtin.code.ground.refs import draft_ref, integrated
from workers.builtin.code.reading.code import Code, IntegrateParams
from workers.practice.sample_repository import title_of

SUITE = [sys.executable, "-I", "-B", "-c", "print('1 passed')"]  # what is proved is git's part


def ground(home: Path, changes: int) -> Ground:
    return Ground(home, parts=changes, suite=SUITE)


def key_of(number: int) -> str:
    return f"plan-1-change-{number}-key"


def draft(made: Ground, number: int, base: str, place: Path) -> str:
    """A commit as an agent leaves it, with a file of its own."""
    git = made.git()
    git.put(base, place)
    (place / "shop" / f"part_{number:03}.py").write_text(f"PRICE = {number}\n")
    trailers = f"Signoff-Plan: 1\nSignoff-Step: change-{number}\nSignoff-Key: {key_of(number)}"
    commit = git.commit(git.taken(base, place), [base], f"{title_of(number)}\n\n{trailers}")
    git.move(draft_ref(1, f"change-{number}"), commit)
    shutil.rmtree(place)
    return commit


def integrate(home: Path, changes: int, number: int, work: str, commit: str) -> int:
    """What the child does: one draft, as its step would."""
    made = ground(home, changes)
    params = IntegrateParams(repository="shop", work=work, items=(number,), drafts=fingerprint([commit])[:16])
    report = Code.integrate.run(
        Code(made.inventory), params, at(home / "attempts", f"integrate-{number}", key=f"integrate-{number}")
    )
    return 0 if report.status == "succeeded" else 1


def started(words: list[str]) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-P", "-m", __spec__.name, *words], cwd=ROOT, start_new_session=True
    )


def struck(words: list[str], after: float) -> bool:
    """Kill it, with all that it started, so many seconds after its start; whether it was still at work."""
    child = started(words)
    time.sleep(after)
    works = child.poll() is None
    if works:
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    return works


def ended(words: list[str]) -> float:
    """Let it come to its end; the seconds that this took."""
    began = time.monotonic()
    if code := started(words).wait():
        raise RuntimeError(f"the child ended with {code}")
    return time.monotonic() - began


def faults(made: Ground, changes: int, base: str) -> Iterator[str]:
    git, pool = made.git(), made.home / "pool"
    keys = git.trailers("Signoff-Key", base, integrated(1))
    if sorted(keys) != sorted(map(key_of, range(changes))):
        yield f"{len(keys)} keys are on the branch, {len({*keys})} of them different, of {changes}"
    left = git.run("for-each-ref", "refs/heads/signoff/1/change-*").splitlines()
    found = {
        "branches": left,
        "folders": [*(pool / "work").glob("*")],
        "index files": [*pool.glob("index-*")],
        "locks": [*(pool / "clone.git").rglob("*.lock")],
    }
    yield from (f"{len(some)} {what} are left" for what, some in found.items() if some)
    told = git.run("fsck", "--strict", "--no-dangling").splitlines()
    if broken := "\n".join(line for line in told if not line.startswith("notice:")):
        yield f"git fsck says: {broken[:300]}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--changes", type=int, default=60)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--child", nargs=4, metavar=("HOME", "NUMBER", "WORK", "COMMIT"))
    given = parser.parse_args()
    if given.child:
        home, number, work, commit = given.child
        return integrate(Path(home), given.changes, int(number), work, commit)
    home = Path(tempfile.mkdtemp(prefix="queue-"))
    made = ground(home, given.changes)
    work, base, kills, took = made.work(), made.git().fetch(), 0, 2.0
    dice = random.Random(given.seed)  # noqa: S311 # no secret
    began = time.monotonic()
    for number in range(given.changes):
        commit = draft(made, number, base, home / "place")
        words = ["--changes", str(given.changes), "--child", str(home), str(number), work, commit]
        kills += sum(struck(words, dice.uniform(0.2, 0.95) * took) for _ in range(given.kills))
        took = ended(words)
    wrong = [*faults(made, given.changes, base)]
    seconds = time.monotonic() - began
    sys.stdout.write(
        f"{given.changes} changes, {kills} of {given.changes * given.kills} kills while it worked, "
        f"{seconds:.0f} s\n{'WRONG: ' + '; '.join(wrong) if wrong else 'ok: each key once, nothing left'}\n"
    )
    shutil.rmtree(home, ignore_errors=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
