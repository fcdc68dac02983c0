"""What is left out or stays red is mended without a person: python -m tests.proof.fleet.mending.

Through the product's own processes: two of four subtasks write one file differently, and one is never green
as a whole. The first must go back to an agent and land, the second must fall into its parts and land.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.proof.fleet.__main__ import live, say
from tests.proof.fleet.drive import Run
from tests.proof.fleet.place import Wanted, installed, model
from tests.support.ports import ports

WANTED = Wanted(agents=5, minutes=0.05, epics=1, rate=0.0, kills=False)
SHARED = "shop/prices.py"
SCRIPT = {"Price tables": "shared", "Price chairs": "shared", "Price lamps and shelves": "wrong!"}
LANDED = ["change-0", "change-2", "change-4", "change-5", "change-6"]  # of 1 the copy, of 3 the parts


def main() -> int:
    home = Path(tempfile.mkdtemp(prefix="mending-"))
    port = ports()
    run = Run(WANTED, installed(home, WANTED, port, ""), say)
    (home / "subtasks" / "part0.json").write_text(json.dumps({"subtasks": [*_subtasks()]}))
    (home / "script.json").write_text(json.dumps(SCRIPT))
    thinks = model(home, WANTED, port, "--script", str(home / "script.json"))
    try:
        live(run)
        wrong = [*run.wrong, *_faults(run, home)]
    finally:
        thinks.terminate()
        thinks.wait()
        run.play.store.engine.dispose()
    say("WRONG: " + "; ".join(wrong) + f" (kept: {home})" if wrong else "ok")
    if not wrong:
        shutil.rmtree(home, ignore_errors=True)
    return 1 if wrong else 0


def _subtasks() -> Iterator[dict[str, Any]]:
    yield _one("Price tables", 0) | {"paths": ["shop/part_000.py", SHARED]}
    yield _one("Price chairs", 1) | {"paths": ["shop/part_001.py", SHARED]}
    yield _one("Price vases", 4)
    parts = [_one("Price lamps", 2), _one("Price shelves", 3, file="tests/test_part_003.py")]
    yield _one("Price lamps and shelves", 2, 3) | {"parts": parts}


def _one(title: str, *parts: int, file: str = "") -> dict[str, Any]:
    paths = [f"shop/part_{n:03}.py" for n in parts]
    tests = [file] if file else [f"tests/test_part_{n:03}.py" for n in parts]
    return {"title": title, "brief": f"Write what {paths[0]} wants.", "paths": paths, "tests": tests}


def _faults(run: Run, home: Path) -> Iterator[str]:
    plan = run.play.store.recent(1)[0]
    for step in plan.steps:
        say(f"  {step.spec.id:<16} {step.state:<10} {step.report.summary[:110] if step.report else ''}")
    ends = [step.report for step in plan.steps if step.spec.id == "conclude"]
    text = ends[0].data["text"] if ends and ends[0] and ends[0].data else ""
    if not str(text).startswith("4 of 4 subtasks landed"):
        yield f"the end says: {text}"
    git = ["git", "--git-dir", str(home / "pool" / "clone.git"), "log"]
    steps = _printed(
        [
            *git,
            "--format=%(trailers:key=Signoff-Step,valueonly)",
            "refs/signoff/base/last..signoff/1/integrated",
        ]
    )
    if sorted(steps) != LANDED:
        yield f"landed: {sorted(steps)}"


def _printed(words: list[str]) -> list[str]:
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()


if __name__ == "__main__":
    sys.exit(main())
