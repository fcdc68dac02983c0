"""python -m tests.proof.model: Spin searches the formal model, whole cuts of it and every seeded bug."""

import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

MODEL = Path(__file__).parents[2] / "docs" / "model" / "plan.pml"
# Each seeded bug, and the cut of the model that shows it.
BUGS = {
    "CLICK_NOT_BOUND": "DECIDING",
    "AUTHOR_APPROVES": "DECIDING",
    "NO_QUORUM": "DECIDING",
    "DEPENDENCY": "DECIDING",
    "NO_PERMIT": "RUNNING",
    "PERMIT_UNCHECKED": "RUNNING",
    "NO_FENCE": "RUNNING",
    "ACTS_WHILE_UNKNOWN": "RUNNING",
    "LATE_REPORT": "RUNNING",
    "UNKNOWN_FREES_TARGET": "RUNNING",
    "RERUN_UNSAFE": "RUNNING",
    "CANCEL_WHILE_RUNNING": "RUNNING",
}


@dataclass(frozen=True)
class Search:
    """What Spin found: the first error's sentence, or "" after every state was visited."""

    error: str
    states: int


def search(*defines: str, compiler: str = "-O0") -> Search:
    """Search every state of a cut of the model."""
    with tempfile.TemporaryDirectory() as folder:
        flags = [f"-D{define}" for define in defines]
        _run(["spin", *flags, "-a", str(MODEL)], folder)
        _run(["gcc", "-w", compiler, "-DSAFETY", "-DCOLLAPSE", "-o", "pan", "pan.c"], folder)
        said = _run(["./pan", "-m100000", "-w20"], folder)
    error = re.search(r"pan:\d+: (.*)", said)
    states = re.search(r"(\d+) states, stored", said)
    complete = "Search not completed" not in said and "errors: 0" in said
    return Search(error[1] if error else "" if complete else said, int(states[1]) if states else 0)


def _run(argv: list[str], folder: str) -> str:
    return subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=True).stdout


def main() -> int:
    say, wrong = sys.stdout.write, 0
    for cut in (("DECIDING",), ("RUNNING",), ("RUNNING", "CLAIMS=3")):
        found = search(*cut, compiler="-O2")
        wrong += bool(found.error)
        say(f"{' '.join(cut)}: {found.states} states, {found.error or 'no error'}\n")
    for bug, cut_of in BUGS.items():
        found = search(cut_of, f"BUG_{bug}")
        wrong += not found.error
        say(f"seeded {bug}: {found.error or 'NOT FOUND'}\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
