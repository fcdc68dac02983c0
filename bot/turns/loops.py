"""The loops of a bot: each sleeps until something was committed, and outlives a database that is away."""

import logging
import time
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import closing
from threading import Event, Thread

from bot.turns.one_at_a_time import Shifts
from storage.database.commit_notices import CommitListener
from storage.errors import HandledElsewhere, Unavailable
from storage.memory import Memory
from storage.monitoring.health import Pulse
from storage.monitoring.watchdog import EVERY, Watchdog
from storage.signal_flag import Flag

TICK = 1.0
Work = Callable[[], None]
logger = logging.getLogger(__name__)


def paced(work: Work, pause: float = 0.1, at_once: int = 5) -> Work:
    """The same work; who comes too often waits for a breath: one look serves many commits, and acks go first.

    After a rest so many turns go at once: what one person does leads from loop to loop without a wait.
    """
    rested = [-pause * at_once]  # when the last breath of all turns so far is over

    def turn() -> None:
        time.sleep(max(0.0, rested[0] - pause * (at_once - 1) - time.monotonic()))
        work()
        rested[0] = max(rested[0], time.monotonic()) + pause

    return turn


def seldom(work: Work, pause: float = 10.0) -> Work:
    """The same work, but not with every commit."""
    last = [-pause]

    def turn() -> None:
        if time.monotonic() - last[0] >= pause:
            last[0] = time.monotonic()
            work()

    return turn


def patient(name: str, work: Work, pulse: Pulse) -> Work:
    """The same work; a database that is away, or another bot that went on, only ends this turn."""

    def turn() -> None:
        try:
            work()
        except HandledElsewhere as error:
            logger.info("%s: %s", name, error)
        except Unavailable as error:
            logger.warning("%s waits: %s", name, error)
            time.sleep(TICK)
        pulse.beat(name)

    return turn


def spin(
    store: Memory,
    work: Mapping[str, Work],
    shifts: Shifts,
    pulse: Pulse,
    stop: Flag,
    end: Work,
    orphaned: Callable[[], bool] = lambda: False,
    beside: Work = lambda: None,
) -> None:
    """Run each loop in a thread, until told to stop, or until one breaks: that ends them all.

    `end` ends the process at once, when a loop stands still; `beside` is done every few seconds.
    """

    def turning(loop: Work) -> None:
        with closing(CommitListener(store.engine)) as commits:
            while not stop.is_set():
                if orphaned():
                    stop.set()
                loop()
                commits.wait(TICK, stop.is_set)

    loops = [patient(name, shifts.in_turn(store, name, do), pulse) for name, do in work.items()]
    over, dog = Event(), Watchdog(pulse, end)

    def keep() -> None:
        while not over.wait(EVERY):
            dog.look()
            shifts.keep()
            beside()

    shifts.keep()
    keeper = Thread(target=keep, name="keeper", daemon=True)
    keeper.start()
    try:
        with ThreadPoolExecutor(len(loops), "loop") as pool:
            turns = [pool.submit(turning, loop) for loop in loops]
            done, _ = wait(turns, return_when=FIRST_COMPLETED)
            stop.set()
            for turn in done:
                turn.result()
    finally:
        over.set()
        keeper.join()
        shifts.give_back()
