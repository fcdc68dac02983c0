"""python -m workers: run the workers, or say what they can do."""

import argparse
import json
import logging
import os
import signal
import socket
import sys

from sqlalchemy import Engine

from storage.config import RELEASE, Settings, configure_logging, read_config
from storage.database.engine import migrate, open_engine
from storage.database.only_one import only_one
from storage.errors import BadConfig, SignoffError
from storage.execution import Execution
from storage.monitoring.health import Health, HealthSettings, answering
from storage.private_files import narrow_tree, private_directory
from workers.commands.leftovers import sweep_leftovers
from workers.engine.attempt import Attempts
from workers.engine.carrier import Carrier, LocalCarrier
from workers.engine.clock import Clock
from workers.engine.turn import Crew
from workers.kit import check
from workers.registry import Registry, load

logger = logging.getLogger(__name__)


class WorkersSettings(Settings):
    """What only the workers read."""

    slots: int = 16
    drain: float = 30.0  # seconds that running steps get to end when the process is told to stop
    carrier: str = "local"  # or procrastinate


def main() -> int:
    if sys.argv[1:2] == ["check"]:
        return check.main(sys.argv[2:])
    command = parser().parse_args().command
    try:
        settings = WorkersSettings()
        return capabilities(settings) if command == "capabilities" else run(settings)
    except SignoffError as error:
        print(error, file=sys.stderr)
        return 1


def parser() -> argparse.ArgumentParser:
    what = "run the workers, or say what they can do"
    top = argparse.ArgumentParser(prog="python -m workers", description=what)
    top.add_argument("--version", action="version", version=f"signoff {RELEASE}")
    commands = top.add_subparsers(dest="command", metavar="command")

    def add(name: str, help: str) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=help, description=help)

    add("run", help="run the workers; so does no command at all")
    add("capabilities", help="print what the configured workers promise, as JSON")
    add("check", help="hold a worker against the contract")
    return top


def capabilities(settings: WorkersSettings) -> int:
    """Print what the configured workers promise, as JSON."""
    registry = load(read_config(settings.config))
    print(json.dumps([contract.model_dump(mode="json") for contract in registry.contracts()]))
    return 0


def run(settings: WorkersSettings) -> int:
    configure_logging(settings)
    registry = load(read_config(settings.config))
    private_directory(settings.state)
    narrow_tree(settings.state / "attempts")
    engine = open_engine(settings.database)
    # A second process on one SQLite file would take the first one's steps for lost.
    with only_one(engine, "workers"):
        return work(settings, registry, engine)


def work(settings: WorkersSettings, registry: Registry, engine: Engine) -> int:
    """Until told to stop."""
    alone = engine.dialect.name == "sqlite"
    migrate(engine)
    store = Execution(engine, settings.now(), settings.redactor())
    owner = f"workers-{socket.gethostname()}-{os.getpid()}"
    attempts = Attempts(store, registry, owner, (settings.state / "attempts").resolve())

    def alive() -> None:
        store.alive(owner, "workers", RELEASE)
        store.publish(registry.contracts())

    if ended := sweep_leftovers():
        logger.warning("ended %s processes that a workers process left running when it was killed", ended)
    alive()
    crew = Crew(settings.slots)
    clock = Clock(
        attempts, crew, choose_carrier(settings.carrier, attempts, crew), alone=alone, alive=alive,
        orphaned=settings.orphaned, patience=settings.drain,
    )  # fmt: skip
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: clock.stop())
    with answering(Health(store, clock.pulse), watched(settings)):
        clock.run()
    if crew.members():  # their threads would be waited for; the next process finds what they leave
        os._exit(0)
    return 0


def watched(settings: WorkersSettings) -> HealthSettings:
    """Where a monitor may ask; beside a bot of the same supervisor, on the next port."""
    given = HealthSettings()
    beside = given.port and settings.parent
    return given.model_copy(update={"port": given.port + 1}) if beside else given


def choose_carrier(name: str, attempts: Attempts, crew: Crew) -> Carrier:
    """The carrier of that name; Procrastinate is an extra, and lives on PostgreSQL."""
    if name == "local":
        return LocalCarrier(attempts, crew)
    if name != "procrastinate":
        raise BadConfig(f"SIGNOFF_CARRIER is '{name}'; it can be local or procrastinate.")
    if attempts.store.engine.dialect.name != "postgresql":
        raise BadConfig("SIGNOFF_CARRIER=procrastinate needs PostgreSQL; set SIGNOFF_DATABASE_URL.")
    try:
        from workers.engine.procrastinate_carrier import ProcrastinateCarrier
    except ModuleNotFoundError as error:
        raise BadConfig(f"Procrastinate is missing ({error}): pip install 'signoff[cluster]'.") from None
    return ProcrastinateCarrier(attempts, crew)


if __name__ == "__main__":
    sys.exit(main())
