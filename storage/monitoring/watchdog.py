"""Ends a process in which a loop stands still; but not one that was stopped as a whole, and goes on."""

import logging
import time
from collections.abc import Callable

from storage.monitoring.health import Pulse

EVERY = 2.0  # seconds between two looks
logger = logging.getLogger(__name__)


class Watchdog:
    """Looks at the pulse; `end` is what it does when a loop has not turned for too long."""

    def __init__(
        self, pulse: Pulse, end: Callable[[], None], steady: Callable[[], float] = time.monotonic
    ) -> None:
        self._pulse, self._end, self._steady = pulse, end, steady
        self._looked_at = steady()

    def look(self) -> None:
        before, self._looked_at = self._looked_at, self._steady()
        if self._looked_at - before > 5 * EVERY:  # all of us stood still: nobody is to blame
            logger.warning("this process stood still for %.0f s", self._looked_at - before)
            self._pulse.forgive()
        elif late := self._pulse.late():
            logger.critical("this process ends, so that a new one can go on: %s", "; ".join(late))
            self._end()
