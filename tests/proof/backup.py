"""SIGKILL at random moments of a backup: `python -m tests.proof.backup --kills 100`.

Each round starts an engine that backs up a real PostgreSQL database, and kills only the engine, with SIGKILL.
No file may then bear a backup's name that is not whole, and no process of the round may live on.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.backup_site import back_up, context, fill, good_backups
from tests.support.postgres import fresh_database, postgres_server
from workers.builtin.backup.directory import BackupDirectory, whole

ENGINE = """
import sys
from pathlib import Path
from tests.support.backup_site import back_up, context
home, key, test = Path(sys.argv[1]), sys.argv[2], sys.argv[3] == "test"
entry = {"kind": "postgres", "url_env": "PROOF_URL", "directory": str(home / "backups"), "keep": {"last": 3}}
print("ready", flush=True)
back_up(entry, context(home, key), restore_test=test)
"""
PATIENCE = 20.0
VARIABLE = "SIGNOFF_STEP_KEY"  # which every process of a step carries in its environment


@dataclass
class Tally:
    kills: int = 0
    midway: int = 0  # of them: before the backup was there
    partial: int = 0
    orphans: int = 0

    def line(self) -> str:
        return f"backup kills {self.kills} partial {self.partial} orphans {self.orphans}"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 10**6)
    wanted = parser.parse_args()
    with postgres_server() as server, tempfile.TemporaryDirectory() as home:
        url = fresh_database(server)
        fill(url, rows=150_000)
        tally = prove(url, Path(home), wanted.kills, random.Random(wanted.seed))  # noqa: S311 # moments, no secrets
    sys.stdout.write(f"{tally.line()}\n")
    good = tally.midway and not tally.partial and not tally.orphans
    if not good:
        sys.stdout.write(f"seed {wanted.seed}, {tally.midway} kills came before the end\n")
    return 0 if good else 1


def prove(url: str, home: Path, kills: int, chance: random.Random) -> Tally:
    """Kill that many engines; afterwards one that is left alone makes a good backup of the last step."""
    os.environ["PROOF_URL"] = url
    backups, tally = BackupDirectory(home / "backups", "shop"), Tally()
    longest = duration(home)
    for number in range(kills):
        key = f"kill-{number}"
        kill(home, key, chance.uniform(0, longest), test=number % 4 == 3)
        tally.kills += 1
        tally.midway += not any(manifest.key == key for manifest in backups.manifests())
        tally.partial += bad(backups)
        tally.orphans += survivors(key)
    last = back_up(entry(home), context(home, f"kill-{kills - 1}"), restore_test=True).data
    tally.partial += bad(backups) + (not Path(last.path).exists())
    return tally


def entry(home: Path) -> dict[str, Any]:
    return {"kind": "postgres", "url_env": "PROOF_URL", "directory": str(home / "backups")}


def duration(home: Path) -> float:
    """Of a whole run with its restore test, so that every moment can be hit."""
    began = time.monotonic()
    with started(home, "whole", test=True) as engine:
        assert engine.wait() == 0
    return time.monotonic() - began


def kill(home: Path, key: str, after: float, *, test: bool) -> None:
    with started(home, key, test=test) as engine:
        try:
            assert engine.wait(after) == 0, "the engine ended by itself, and not well"
        except subprocess.TimeoutExpired:
            engine.send_signal(signal.SIGKILL)


def started(home: Path, key: str, *, test: bool) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-c", ENGINE, str(home), key, "test" if test else ""]
    engine = subprocess.Popen(words, stdout=subprocess.PIPE)
    assert engine.stdout is not None
    engine.stdout.readline()
    return engine


def bad(backups: BackupDirectory) -> int:
    """Files that bear a backup's name and are not what their manifest says."""
    good = {manifest.file for manifest in backups.manifests() if whole(manifest)}
    return len(set(good_backups(backups.directory)) - good) if backups.directory.exists() else 0


def survivors(key: str) -> int:
    """Processes of that round that are still there when patience is over."""
    until = time.monotonic() + PATIENCE
    while (found := len([*carriers(key)])) and time.monotonic() < until:
        time.sleep(0.02)
    return found


def carriers(key: str) -> Iterator[Path]:
    for place in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"{VARIABLE}={key}".encode() in place.read_bytes().split(b"\0"):
                yield place
        except OSError:
            continue


if __name__ == "__main__":
    sys.exit(main())
