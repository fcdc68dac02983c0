"""The peers' own virtual environment: made once, and never the project's."""

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from tests.bench.peers.systems import System
from tests.support.places import ROOT

VERSION = "from importlib.metadata import version; import sys; print(version(sys.argv[1]))"


def python_of(home: Path) -> Path:
    return home / "bin" / "python"


def build(home: Path, peers: Iterable[System]) -> dict[str, str]:
    """Install what is not there yet; for each peer that could not be installed, why."""
    if not python_of(home).exists():
        made = subprocess.run(
            [sys.executable, "-m", "venv", home], capture_output=True, text=True, check=False
        )
        if made.returncode:
            return dict.fromkeys((one.name for one in peers), last_line(made.stdout + made.stderr))
    return {one.name: why for one in peers if (why := _install(home, one))}


def _install(home: Path, peer: System) -> str:
    """Each alone, so that one that cannot be had takes no other with it."""
    mark = home / f".installed-{peer.hand}"
    wanted = "\n".join(peer.packages)
    if mark.exists() and mark.read_text() == wanted:
        return ""
    command = [python_of(home), ROOT / ".ci" / "install.py", peer.name, *peer.packages]
    ran = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    if ran.returncode:
        return last_line(ran.stderr)
    mark.write_text(wanted)
    return ""


def version(python: Path, peer: System) -> str:
    """As it is installed."""
    command = [python, "-c", VERSION, peer.hand]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def last_line(said: str) -> str:
    """What went wrong, as the program that failed put it at its end."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return lines[-1] if lines else "it ended without a word"
