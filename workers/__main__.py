"""python -m workers: run the workers, or say what they can do."""

import argparse
import json
import logging
import math
import os
import signal
import socket
import sys
from collections.abc import Callable

from sqlalchemy import Engine

from storage.clock import wall
from storage.command_line import answered
from storage.config import RELEASE, Settings, configure_logging, read_config
from storage.database.agreed_clock import agreed
from storage.database.engine import await_database, migrate, open_engine
from storage.database.only_one import only_one
from storage.database.schema import open_to_look
from storage.errors import BadConfig
from storage.execution import Execution
from storage.extras import missing
from storage.monitoring.health import Health, HealthSettings, answering
from storage.monitoring.skew import skewed
from storage.private_files import narrow_tree, private_directory
from workers.base import Permanent, Transient
from workers.commands.leftovers import sweep_leftovers
from workers.engine.attempt import Attempts
from workers.engine.carrier import Carrier, LocalCarrier
from workers.engine.clock import Clock
from workers.engine.turn import Crew
from workers.registry import Registry, load

logger = logging.getLogger(__name__)


class WorkersSettings(Settings):
    """What only the workers read."""

    slots: int = 16
    drain: float = 30.0  # seconds that running steps get to end when the process is told to stop
    carrier: str = "local"  # or procrastinate


def main() -> int:
    if sys.argv[1:2] == ["check"]:
        from workers.kit import check

        return check.main(sys.argv[2:])
    if sys.argv[1:2] == ["survey"]:
        from workers.survey import look

        return answered(lambda: look.main(sys.argv[2:]))
    given = parser().parse_args()
    if given.command == "pin":
        return answered(lambda: pin(WorkersSettings(), given.server))
    act = {"capabilities": capabilities, "jobs": jobs, "doctor": doctor}.get(given.command, run)
    return answered(lambda: act(WorkersSettings()))


def parser() -> argparse.ArgumentParser:
    what = "run the workers, or say what they can do"
    top = argparse.ArgumentParser(prog="python -m workers", description=what)
    top.add_argument("--version", action="version", version=f"signoff {RELEASE}")
    commands = top.add_subparsers(dest="command", metavar="command")

    def add(name: str, help: str) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=help, description=help)

    add("run", help="run the workers; so does no command at all")
    add("capabilities", help="print what the configured workers promise, as JSON")
    add("jobs", help="list the approved steps that wait for their time")
    add("doctor", help="try the clusters, databases and folders that they need")
    add("check", help="hold a worker against the contract")
    add("survey", help="print what there is to work on, as JSON")
    add("pin", help="print what an MCP server lends, as lines of signoff.toml").add_argument(
        "server", help="a name under [inventory.mcp]"
    )
    return top


def capabilities(settings: WorkersSettings) -> int:
    """Print what the configured workers promise, as JSON."""
    registry = load(read_config(settings.config))
    print(json.dumps([contract.model_dump(mode="json") for contract in registry.contracts()]))
    return 0


def pin(settings: WorkersSettings, server: str) -> int:
    """Print what an MCP server lends now, for an operator to look at and to keep."""
    from workers.builtin.mcp.pin import pinned_lines

    known = read_config(settings.config).inventory.get("mcp", {})
    if server not in known:
        raise BadConfig(f"There is no [inventory.mcp.{server}] in {settings.config}.")
    try:
        print("\n".join(pinned_lines(server, known[server])))
    except Permanent as error:
        raise BadConfig(str(error)) from None
    return 0


def jobs(settings: WorkersSettings) -> int:
    """Print what waits for its time, soonest first, as the job of each is called. It looks at the rows."""
    engine = open_to_look(settings.database)
    for one in Execution(engine, settings.now()).scheduled():
        print(f"{one.at:%Y-%m-%d %H:%M:%S} UTC  {one.name}  {one.worker}.{one.action}")
    engine.dispose()
    return 0


def doctor(settings: WorkersSettings) -> int:
    """Try everything that the configured workers need, and print what is wrong with it as JSON."""
    registry = load(read_config(settings.config))
    found = [(name, wrong_with(look)) for worker in registry.workers for name, look in worker.needs()]
    print(json.dumps(dict(found) | not_installed(registry), indent=2))
    return 0


def not_installed(registry: Registry) -> dict[str, str]:
    """The workers that an extra is missing for, each with the sentence that names it."""
    wanted = ((worker.name, package) for worker in registry.workers for package in worker.packages())
    return {f"worker {name}": said for name, package in wanted if (said := missing(package))}


def wrong_with(look: Callable[[], object]) -> str:
    try:
        look()
    except (Permanent, Transient, OSError) as error:
        return str(error)
    return ""


def run(settings: WorkersSettings) -> int:
    configure_logging(settings)
    config = read_config(settings.config)
    registry = load(config)
    if lacking := not_installed(registry):
        raise BadConfig("\n".join(f"The {name} cannot run. {said}" for name, said in lacking.items()))
    private_directory(settings.state)
    narrow_tree(settings.state / "attempts")
    engine = open_engine(settings.database)
    # A second process on one SQLite file would take the first one's steps for lost.
    with only_one(engine, "workers"):
        return work(settings, registry, engine, config.slots)


def work(settings: WorkersSettings, registry: Registry, engine: Engine, slots: dict[str, int]) -> int:
    """Until told to stop."""
    alone = engine.dialect.name == "sqlite"
    await_database(engine)
    migrate(engine)
    machine = agreed(engine, wall)
    store = Execution(engine, settings.now(machine), settings.redactor())
    owner = f"workers-{socket.gethostname()}-{os.getpid()}"
    attempts = Attempts(store, registry, owner, (settings.state / "attempts").resolve())

    def alive() -> None:
        machine.compare()
        store.alive(owner, "workers", RELEASE)
        store.publish(registry.contracts())

    if ended := sweep_leftovers():
        logger.warning("ended %s processes that a workers process left running when it was killed", ended)
    alive()
    own = {worker: many for worker, many in slots.items() if worker in {one.name for one in registry.workers}}
    crew = Crew(settings.slots, own=own)
    clock = Clock(
        attempts, crew, choose_carrier(settings.carrier, attempts, crew), alone=alone, alive=alive,
        orphaned=settings.orphaned, patience=settings.drain,
    )  # fmt: skip
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: clock.stop())
    signal.signal(signal.SIGHUP, lambda *_: clock.stop(patience=math.inf))  # what runs may take its time
    health = Health(store, clock.pulse, undone=lambda: skewed(machine))
    with answering(health, watched(settings)):
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
    if said := missing("procrastinate"):
        raise BadConfig(said)
    from workers.engine.procrastinate_carrier import ProcrastinateCarrier

    return ProcrastinateCarrier(attempts, crew)


if __name__ == "__main__":
    sys.exit(main())
