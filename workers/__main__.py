"""python -m workers: run the workers, or say what they can do."""

import argparse
import fcntl
import json
import os
import signal
import socket
import sys
from pathlib import Path
from typing import IO

from storage.config import RELEASE, Settings, configure_logging, read_config
from storage.engine import migrate, open_engine
from storage.errors import BadConfig, SignoffError
from storage.store import Store
from workers.attempt import Attempts
from workers.clock import Clock
from workers.registry import load
from workers.turn import Crew


class WorkersSettings(Settings):
    """What only the workers read."""

    slots: int = 16
    drain: float = 30.0  # seconds that running steps get to end when the process is told to stop


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m workers", description=__doc__)
    parser.add_argument("command", nargs="?", default="run", choices=["run", "capabilities"])
    command = parser.parse_args().command
    try:
        settings = WorkersSettings()
        return capabilities(settings) if command == "capabilities" else run(settings)
    except SignoffError as error:
        print(error, file=sys.stderr)
        return 1


def capabilities(settings: WorkersSettings) -> int:
    """Print what the configured workers promise, as JSON."""
    registry = load(read_config(settings.config))
    print(json.dumps([contract.model_dump(mode="json") for contract in registry.contracts()]))
    return 0


def run(settings: WorkersSettings) -> int:
    configure_logging(settings)
    registry = load(read_config(settings.config))
    engine = open_engine(settings.database)
    alone = engine.dialect.name == "sqlite"
    guard = hold(settings.state / "workers.lock") if alone else None
    migrate(engine)
    store = Store(engine, settings.now())
    owner = f"workers-{socket.gethostname()}-{os.getpid()}"
    attempts = Attempts(store, registry, owner, (settings.state / "attempts").resolve())

    def alive() -> None:
        store.alive(owner, "workers", RELEASE)
        store.publish(registry.contracts())

    alive()
    crew = Crew(settings.slots)
    clock = Clock(
        attempts, crew, alone=alone, alive=alive, orphaned=settings.orphaned, patience=settings.drain
    )
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: clock.stop())
    clock.run()
    if crew.members():  # their threads would be waited for; the next process finds what they leave
        os._exit(0)
    if guard:
        guard.close()
    return 0


def hold(path: Path) -> IO[str]:
    """One workers process per SQLite file: a second one would take the first one's steps for lost."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = path.open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise BadConfig(
            f"Another workers process uses this database already (it holds {path}). Stop it first, or use "
            "PostgreSQL (SIGNOFF_DATABASE_URL), where any number may run."
        ) from None
    return lock


if __name__ == "__main__":
    sys.exit(main())
