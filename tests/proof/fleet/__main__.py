"""Many agents at once through the product's own processes: python -m tests.proof.fleet.

A local workspace, the real bot and workers under their supervisor, a real repository and a scripted model,
whose faults are drawn by a seed that the product never learns. The workers are killed twice and the bot once.
"""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from threading import Thread

from tests.proof.fleet.drive import Run
from tests.proof.fleet.place import Wanted, installed, model
from tests.proof.fleet.verdict import Verdict
from tests.support.ports import ports
from tests.support.postgres import fresh_database, postgres_server


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def prove(wanted: Wanted) -> int:
    home = Path(tempfile.mkdtemp(prefix="fleet-"))
    with database(wanted) as url:
        port = ports()
        run = Run(wanted, installed(home, wanted, port, url), say)
        thinks = model(home, wanted, port)
        try:
            live(run)
            wrong = _judged(run, home)
        finally:
            thinks.terminate()
            thinks.wait()
            run.play.store.engine.dispose()
    say("WRONG: " + "; ".join(wrong) + f" (kept: {home})" if wrong else "ok")
    if not wrong:
        shutil.rmtree(home, ignore_errors=True)
    return 1 if wrong else 0


@contextmanager
def database(wanted: Wanted) -> Iterator[str]:
    if not wanted.postgres:
        yield ""
        return
    with postgres_server() as server:
        yield fresh_database(server)


def live(run: Run) -> None:
    with run.play.slack:
        driver = Thread(target=run.drive)
        driver.start()
        run.play.supervisor.run()
        driver.join()


def _judged(run: Run, home: Path) -> list[str]:
    verdict = Verdict(run, home)
    for line in verdict.told():
        say(line)
    return [*run.wrong, *verdict.faults()]


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.proof.fleet", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--agents", type=int, default=100, help="at once; each epic has as many subtasks")
    parser.add_argument("--minutes", type=float, default=10, help="that they are all at work")
    parser.add_argument("--epics", type=int, default=5, help="one after the other fills the places")
    parser.add_argument("--rate", type=float, default=0.4, help="of conversations that go wrong")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-kills", dest="kills", action="store_false")
    parser.add_argument(
        "--postgres", action="store_true", help="two workers processes, and the Procrastinate carrier"
    )
    given = vars(parser.parse_args())
    return prove(Wanted(**{one.name: given[one.name] for one in fields(Wanted)}))


if __name__ == "__main__":
    sys.exit(main())
