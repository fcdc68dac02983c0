"""What every hand does: say that it is ready, then run what a line asks for and answer with the seconds."""

import os
import sys
import time
from collections.abc import Callable

AT_ONCE = 16  # plans under way, whoever runs them


def serve(chain: Callable[[int], object], plans: Callable[[int, int], object]) -> None:
    """`chain 100` is that many steps one after the other; `plans 100 10` is that many such plans, 16 at once.

    A system that times itself gives the seconds; else the whole call is what it took.
    """
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints is no answer
    chain(3)  # the first ones import, compile and prepare
    plans(2, 3)
    print("ready", file=answers, flush=True)  # this is its output
    for line in sys.stdin:
        kind, *numbers = line.split()
        print(timed({"chain": chain, "plans": plans}[kind], *map(int, numbers)), file=answers, flush=True)
    os._exit(0)  # threads that wait for more are not waited for


def timed(run: Callable[..., object], *numbers: int) -> float:
    began = time.perf_counter()
    own = run(*numbers)
    return own if isinstance(own, float) else time.perf_counter() - began
