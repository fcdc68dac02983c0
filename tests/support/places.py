"""Where things of this project lie, and a place where a test is alone: a process of its own."""

import os
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]
ARTIFACTS = ROOT / "tests" / "artifacts"  # screenshots that tests keep
NOBODY = 65534


def elsewhere(check: Callable[[], bool], *, as_nobody: bool = False) -> bool:
    """Whether it holds in a process of its own. `as_nobody`: not as root, who may write everywhere."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    good = False
    try:
        if as_nobody and os.geteuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        good = check()
    finally:  # whatever it raises, it must not go on as the test run
        os._exit(not good)
