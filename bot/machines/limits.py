"""How often one machine may knock, and how many of its calls may wait at once. Kept in memory."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from storage.errors import SignoffError

RATE, BURST = 2.0, 60.0  # knocks per second in the long run, and at once
WAITERS = 16  # of one machine
KNOWN = 4096  # machines that are remembered


class TooFast(SignoffError):
    """Come again in so many seconds."""

    def __init__(self, seconds: float) -> None:
        self.seconds = max(1, math.ceil(seconds))
        super().__init__(f"That is too often. Please come again in {self.seconds} s.")


@dataclass
class Limits:
    """A bucket of knocks for each machine, which fills by itself."""

    clock: Callable[[], float]
    rate: float = RATE
    burst: float = BURST
    waiters: int = WAITERS
    _left: dict[str, tuple[float, float]] = field(default_factory=dict)
    _waiting: dict[str, int] = field(default_factory=dict)

    def knock(self, name: str) -> None:
        now = self.clock()
        left, at = self._left.get(name, (self.burst, now))
        left = min(self.burst, left + (now - at) * self.rate)
        if left < 1:
            raise TooFast((1 - left) / self.rate)
        if len(self._left) >= KNOWN:
            self._left.clear()
        self._left[name] = (left - 1, now)

    @contextmanager
    def wait(self, name: str) -> Iterator[None]:
        """A call that waits; one too many comes again later."""
        if self._waiting.get(name, 0) >= self.waiters:
            raise TooFast(5)
        self._waiting[name] = self._waiting.get(name, 0) + 1
        try:
            yield
        finally:
            self._waiting[name] -= 1
