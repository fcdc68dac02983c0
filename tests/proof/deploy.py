"""The long form of the crash tests: python -m tests.proof.deploy [--rounds N], on the real API server.

A worker in a process of its own is killed with SIGKILL after each change of each strategy, then N times at
random moments; each time it is resumed, while the API server's own watch looks on.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.support.cluster.control_plane import control_plane, tied
from tests.support.cluster.deploy_crash import NEW, die_and_resume, neighbour, steps
from tests.support.cluster.deploy_site import Site, Watched, real_site

STRATEGIES = ("rolling", "blue_green", "canary")
LONGEST = 4.0  # seconds that a deploy takes here, at most


def child(given: dict[str, Any]) -> None:
    """The worker that dies: by its own hand after a change, or by its parent's at any moment."""
    site = Site(**{**given["site"], "scratch": Path(given["site"]["scratch"])})
    point = given["point"]
    site.cluster = Watched(site.cluster.real, fail_after=point, fail_before=0 if point else 1, error=end)
    if given["moment"]:
        site.cluster = Watched(site.cluster.real)
    site.deploy(NEW, given["strategy"], previous=given["record"])


def end() -> Exception:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("nobody survives this")


def killed(site: Site, strategy: str, point: int, record: dict[str, Any], moment: float = 0.0) -> None:
    """Run the worker until it is dead."""
    shape = {name: value for name, value in asdict(site).items() if name not in ("pauses", "said")}
    given = {"site": shape, "point": point, "record": record, "strategy": strategy, "moment": moment}
    command = [*tied(), sys.executable, "-m", "tests.proof.deploy", "--child", json.dumps(given, default=str)]
    with subprocess.Popen(command) as worker:
        try:
            status = worker.wait(moment or 120)
        except subprocess.TimeoutExpired:
            worker.kill()
            status = -signal.SIGKILL
    assert status == -signal.SIGKILL or moment, f"{strategy} {point}: the worker was not killed ({status})"


def at_random(moment: float) -> Any:
    return lambda site, strategy, point, record: killed(site, strategy, point, record, moment)


def attempts(site: Site, rounds: int) -> Iterator[tuple[str, list[str]]]:
    """A line and the faults of each kill."""
    for strategy in STRATEGIES:
        for point in range(len(steps(neighbour(site, f"whole-{strategy.replace('_', '-')}"), strategy)) + 1):
            one = neighbour(site, f"{strategy[0]}{point}")
            outcome = die_and_resume(one, strategy, point, killed)
            yield f"{strategy}: killed after change {point}", outcome.faults(strategy)
    for number in range(rounds):
        strategy, moment = random.choice(STRATEGIES), random.uniform(0.3, LONGEST)  # noqa: S311 # no secret
        outcome = die_and_resume(neighbour(site, f"x{number}"), strategy, 0, at_random(moment))
        yield f"{strategy}: killed after {moment:.2f} s", outcome.faults(strategy)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20, help="kills at random moments")
    parser.add_argument("--child", type=json.loads, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child)
        return 0
    return prove(options.rounds)


def prove(rounds: int) -> int:
    total, wrong = 0, 0
    with (
        tempfile.TemporaryDirectory() as folder,
        control_plane(Path(folder)) as kubeconfig,
        real_site(kubeconfig, Path(folder)) as site,
    ):
        for line, faults in attempts(site, rounds):
            total, wrong = total + 1, wrong + len(faults)
            tell(f"{line}: {'; '.join(faults) or 'resumed, right end, one switch at most, no gap'}")
    tell(f"{total} kills, {wrong} faults")
    return 1 if wrong or not total else 0


def tell(line: str) -> None:
    print(line, flush=True)  # noqa: T201 # a command speaks on the terminal


if __name__ == "__main__":
    sys.exit(main())
