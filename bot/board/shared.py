"""Pages that several people may have: made once, for all of whom the same is true."""

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Generic, TypeVar

from bot.board.scope import Noted, Scope

FRESH = 1.0  # seconds for which a page is the same, if nothing has moved
PAGES, VARIANTS = 256, 16
T = TypeVar("T")


@dataclass
class Variants(Generic[T]):
    """One address at one moment: what it shows, by what was asked about the person and answered."""

    at: float
    made: list[tuple[Noted, T]] = field(default_factory=list)
    lock: Lock = field(default_factory=Lock)  # who comes meanwhile waits, and does not make it, too

    def find(self, scope: Scope) -> T | None:
        return next((page for noted, page in self.made if scope.answers_as(noted)), None)


@dataclass
class Shared(Generic[T]):
    """The latest of them. Whoever gets one was asked everything that it depends on, now."""

    clock: Callable[[], float] = time.monotonic
    _known: dict[Hashable, Variants[T]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def get(self, key: Hashable, scope: Scope, make: Callable[[Scope], T]) -> T:
        variants = self._of(key)
        with variants.lock:
            if (found := variants.find(scope)) is not None:
                return found
            mine = replace(scope, noted={})
            page = make(mine)
            variants.made = [*variants.made[-VARIANTS + 1 :], (mine.noted, page)]
            return page

    def _of(self, key: Hashable) -> Variants[T]:
        now = self.clock()
        with self._lock:
            found = self._known.get(key)
            if found is None or now - found.at >= FRESH:
                self._known.pop(key, None)
                while len(self._known) >= PAGES:
                    self._known.pop(next(iter(self._known)))
                found = self._known[key] = Variants(now)
            return found
