"""The test kit for workers: holds any worker against the contract, one line per finding."""

import argparse
import inspect
import os
import subprocess
import sys
from importlib import import_module
from typing import Any

from storage.errors import BadConfig, SignoffError
from workers.base import Worker
from workers.kit.grades import grade, verdicts
from workers.kit.promises import Finding, Found, findings
from workers.registry import actions, contract


def main(argv: list[str] | None = None) -> int:
    """0: no errors. 1: errors were found. 2: there is no worker to look at."""
    given = parser().parse_args(argv)
    try:
        worker = load(given.worker)
    except SignoffError as error:
        return _say([str(error)], 2)
    if given.hashes:
        return _say(hashes(worker), 0)
    found = [*findings(worker)]
    if not any(finding.level == "error" for finding in found):
        found += unstable(given.worker, worker)
    errors = sum(finding.level == "error" for finding in found)
    end = f"{given.worker}: {len(actions(worker))} actions, {errors} errors, {len(found) - errors} warnings"
    return _say([*map(str, found), end, *graded(worker)], 1 if errors else 0)


def graded(worker: Worker) -> list[str]:
    """The scale, rule by rule, and where on it the worker stands."""
    found = [*verdicts(worker)]
    return ["", *map(str, found), f"Grade: {grade(found) or 'none yet'}"]


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="signoff worker check", description="hold a worker against the contract"
    )
    top.add_argument("worker", metavar="MODULE[:CLASS]", help="where the worker is")
    top.add_argument("--hashes", action="store_true", help="only print the hash of each contract")
    return top


def load(name: str) -> Worker:
    """The worker that MODULE[:CLASS] names, with an empty inventory."""
    module, _, attribute = name.partition(":")
    try:
        place = import_module(module)
    except ModuleNotFoundError as error:
        raise BadConfig(
            f"There is no module '{error.name}'. Install it, or say where it lies (PYTHONPATH=FOLDER): the "
            "folder you are in is not searched by itself."
        ) from None
    own = [kind for kind in vars(place).values() if _is_worker(kind) and kind.__module__ == module]
    chosen = [kind for kind in own if not attribute or kind.__name__ == attribute]
    if len(chosen) != 1:
        known = ", ".join(kind.__name__ for kind in own) or "none"
        raise BadConfig(f"Name one worker class as {module}:CLASS; {module} has: {known}.")
    found: Worker = chosen[0]({})
    return found


def hashes(worker: Worker) -> list[str]:
    """What an approval of each action rests on."""
    return [
        f"{name} {contract(worker, found, name).hash()}" for name, found in sorted(actions(worker).items())
    ]


def unstable(name: str, worker: Worker) -> Found:
    """A contract whose hash differs from process to process would refuse every approved step."""
    words = [sys.executable, "-P", "-m", "workers.kit.check", "--hashes", name]
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    env = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)  # noqa: S603 # our own module
    if odd := {*done.stdout.splitlines()} ^ {*hashes(worker)}:
        yield Finding("error", name, f"its contract is not the same in every process: {min(odd)}")


def _is_worker(kind: Any) -> bool:
    return inspect.isclass(kind) and issubclass(kind, Worker) and kind is not Worker


def _say(lines: list[str], code: int) -> int:
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return code


if __name__ == "__main__":
    sys.exit(main())
