"""python -m tests.proof.process: torture of the process runner; who survives, and what it costs in memory.

Each round is a new Python process, so that the peak of its memory is the round's own.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
import uuid
from dataclasses import asdict, dataclass
from pathlib import Path

from workers.commands import process
from workers.commands.leftovers import working

GRACES = (0.3, 0.3)
DEAF = "trap '' INT TERM; "
# A plain child, a nohup child, a double-forked child and one in a session of its own; none takes a hint.
CHILDREN = "sleep 600 & nohup sleep 600 >/dev/null 2>&1 & (sleep 600 &) & setsid sleep 600 & echo ready; "
# Processes that are never found where they were seen: each forks and ends, some into sessions of their own.
STORM = """
import os, random, signal, sys, time
signal.signal(signal.SIGINT, signal.SIG_IGN); signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ready", flush=True)
if all(os.fork() for _ in range(int(sys.argv[1]))):
    time.sleep(600)
until = time.monotonic() + 60
while time.monotonic() < until:
    if os.fork():
        os._exit(0)
    if random.random() < 0.3:
        os.setsid()
"""


@dataclass(frozen=True)
class Outcome:
    """What one round left. `late` are the seconds from the last grace to the end of `run`."""

    name: str
    boxed: bool
    survivors: int
    late: float
    grown_mb: float
    printed: int


def rounds(megabytes: int, storm: int) -> dict[str, list[str]]:
    flood = f"head -c {megabytes}000000"
    return {
        "children": ["sh", "-c", DEAF + CHILDREN + "while :; do sleep 600; done"],
        "children, ends by itself": ["sh", "-c", CHILDREN],
        "text": ["sh", "-c", f"yes 'a line of text that is as long as lines are' | {flood}"],
        "binary": ["sh", "-c", f"{flood} /dev/urandom"],
        "one line": ["sh", "-c", f"{flood} /dev/zero"],
        "flood without end": ["sh", "-c", DEAF + CHILDREN + "yes"],
        "fork storm": [sys.executable, "-c", STORM, str(storm)],
    }


def peak() -> int:
    """The most memory this program has had, in KiB; what getrusage tells may be its parent's."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0])


def outcome(name: str, argv: list[str], seconds: float, *, boxed: bool = True) -> Outcome:
    """Run one round in this process; one second after `run` returned nobody may be left."""
    if not boxed:
        process.WRAPPERS = (process.END, ())
        process.wrapper.cache_clear()
    process.wrapper()
    key = f"proof/{uuid.uuid4().hex}"
    before = peak()
    with tempfile.TemporaryDirectory() as place:
        scratch = Path(place)
        done = process.run(
            argv, cwd=scratch, env={}, timeout=seconds, scratch=scratch, key=key, graces=GRACES,
            on_line=len if name == "text" else None, secrets=["a secret that is never printed"],
        )  # fmt: skip
    ended = time.monotonic()
    while working(key) and time.monotonic() < ended + 1:
        time.sleep(0.05)
    grown = peak() - before
    late = max(0.0, done.seconds - seconds - sum(GRACES)) if done.timed_out else 0.0
    printed = len(done.head) + done.dropped + len(done.tail)
    return Outcome(name, process.boxed(), len(working(key)), round(late, 2), round(grown / 1024, 1), printed)


def apart(name: str, argv: list[str], seconds: float, *, boxed: bool = True) -> Outcome:
    """The same in a process of its own."""
    words = [sys.executable, "-m", "tests.proof.process", "--round", json.dumps([name, argv, seconds, boxed])]
    told = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    return Outcome(**json.loads(told))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.proof.process", description=__doc__)
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--storm", type=int, default=100, help="how many processes are on the move at once")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--round", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.round:
        name, argv, seconds, boxed = json.loads(given.round)
        print(json.dumps(asdict(outcome(name, argv, seconds, boxed=boxed))))  # noqa: T201 # it is a command
        return 0
    return prove(given.megabytes, given.storm, given.rounds)


def prove(megabytes: int, storm: int, times: int) -> int:
    """All rounds; 0 when nobody survived and memory stayed within its bound."""
    found = [
        apart(name, argv, 300 if name in ("text", "binary", "one line") else 1.5, boxed=boxed)
        for _ in range(times)
        for name, argv in rounds(megabytes, storm).items()
        for boxed in (True, False)
        if boxed or name != "fork storm"  # only a PID namespace holds what never stands still
    ]
    for one in found:
        print(asdict(one), flush=True)  # noqa: T201 # it is a command
    bad = [one for one in found if one.survivors or one.grown_mb > 32]
    most, late = max(one.grown_mb for one in found), max(one.late for one in found)
    print(f"{len(found)} rounds, {len(bad)} bad; most memory {most} MB; latest end {late} s after the grace")  # noqa: T201 # it is a command
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
