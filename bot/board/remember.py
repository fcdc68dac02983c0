"""What is found out once for several readers, and for a while."""

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass
class Remembered:
    """Answers by key, for so many seconds; the oldest go first."""

    seconds: float
    most: int = 512
    clock: Callable[[], float] = time.monotonic
    _known: dict[Hashable, tuple[float, Any]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def get(self, key: Hashable, find: Callable[[], T]) -> T:
        now = self.clock()
        with self._lock:
            at, known = self._known.get(key, (-self.seconds, None))
            if now - at < self.seconds:
                found: T = known
                return found
        found = find()
        with self._lock:
            while len(self._known) >= self.most:
                self._known.pop(next(iter(self._known)))
            self._known[key] = now, found
        return found
