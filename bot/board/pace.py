"""How often open pages are told that something moved: soon, and never so often that a core is kept busy."""

import time
from collections.abc import Callable
from dataclasses import dataclass

LEAST, MOST = 0.2, 5.0  # seconds from one telling to the next
SHARE = 0.08  # of a core, that open pages may take together
LOOK = 0.1


@dataclass
class Pace:
    """The more a telling costs, with all that pages fetch upon it, the longer the next one waits."""

    clock: Callable[[], float] = time.monotonic
    worked: Callable[[], float] = time.process_time  # of this process, all of its threads
    told_at: float = float("-inf")
    told_with: float = 0.0

    def left(self) -> float:
        """Seconds until pages may be told again, as far as is known now."""
        cost = (self.worked() - self.told_with) / SHARE
        return max(0.0, self.told_at + min(MOST, max(LEAST, cost)) - self.clock())

    def wait(self, stopped: Callable[[float], bool]) -> None:
        """Until then; what is fetched meanwhile counts, too."""
        while (left := self.left()) and not stopped(min(left, LOOK)):
            pass
        self.told_at, self.told_with = self.clock(), self.worked()
