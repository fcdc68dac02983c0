"""pip, with a word every few seconds: minutes of silence look like a hang, and pages help nobody.

python .ci/install.py "what" pip's arguments …
"""

import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from sysconfig import get_paths

EVERY = 5.0
KEPT = 25  # lines of pip's that are shown when it fails


def wanted(arguments: list[str]) -> int:
    """How many packages the lock files name."""
    locks = [Path(after) for flag, after in pairwise(arguments) if flag == "-r"]
    return sum(len(re.findall(r"^[\w.-]+(?:\[[^]]*\])?==", lock.read_text(), re.M)) for lock in locks)


class Progress:
    """What pip has said so far, as one line."""

    def __init__(self, many: int) -> None:
        self.many, self.seen, self.doing = many, 0, "starting"
        self.lines: list[str] = []

    def hear(self, line: str) -> None:
        self.lines = [*self.lines, line][-KEPT:]
        if re.match(r"(Collecting|Requirement already satisfied)", line):
            self.seen += 1
            self.doing = "downloading"
        elif line.startswith("Installing collected"):
            self.doing = "unpacking"

    def line(self, seconds: float, unpacked: int = 0) -> str:
        """pip says nothing while it unpacks, so what lies there already is counted."""
        done = unpacked if self.doing == "unpacking" else self.seen
        counted = f"{min(done, self.many)} of {self.many} packages, " if self.many else ""
        return f"  … {counted}{self.doing}, {seconds:.0f} s"


def unpacked() -> int:
    """The packages that lie in this environment."""
    return sum(1 for _ in Path(get_paths()["purelib"]).glob("*.dist-info"))


def follow(lines: Iterable[str], progress: Progress) -> None:
    for line in lines:
        progress.hear(line.rstrip())


def main(what: str, arguments: list[str], every: float = EVERY) -> int:
    print(f"Installing {what}. The first time takes a few minutes.", flush=True)
    # Not compiled ahead: that is half of the work, and most of it is never imported.
    command = [sys.executable, "-m", "pip", "install", "--no-compile", "--progress-bar", "off", *arguments]
    progress, began = Progress(wanted(arguments)), time.monotonic()
    heard = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(command, **heard) as pip:  # noqa: S603 # our own pip
        reading = threading.Thread(target=follow, args=(pip.stdout, progress), daemon=True)
        reading.start()
        while reading.is_alive():
            reading.join(every)
            if reading.is_alive():
                print(progress.line(time.monotonic() - began, unpacked()), flush=True)
    if pip.returncode:
        print("\n".join(progress.lines), file=sys.stderr)
        return pip.returncode
    print(f"  {what}: ready after {time.monotonic() - began:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
