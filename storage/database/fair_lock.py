"""A lock that is handed on in the order of asking: a busy loop cannot take it again before those who wait.

`threading.Lock` lets whoever comes first after a release pass, which is mostly whoever has just released it:
at a hundred requests a second, people waited for their ack behind loops that took the writer again and again.
"""

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock


class FairLock:
    """One at a time. Every other turn is for the urgent, if any wait: a person waits for their ack."""

    def __init__(self) -> None:
        self._guard, self._held, self._was_urgent = Lock(), False, False
        self._queues: dict[bool, deque[Lock]] = {True: deque(), False: deque()}  # by urgency

    @contextmanager
    def turn(self, *, urgent: bool = False) -> Iterator[None]:
        """Hold it. Whoever holds it must not ask for it again: they would wait for themselves."""
        self._wait(urgent)
        try:
            yield
        finally:
            self._hand_on()

    def _wait(self, urgent: bool) -> None:
        with self._guard:
            if not self._held:
                self._held, self._was_urgent = True, urgent
                return
            mine = Lock()
            mine.acquire()
            self._queues[urgent].append(mine)
        mine.acquire()  # a second time: it blocks until whoever hands on to us releases it

    def _hand_on(self) -> None:
        with self._guard:
            order = (not self._was_urgent, self._was_urgent)
            next_ = next((urgent for urgent in order if self._queues[urgent]), None)
            if next_ is None:
                self._held = False
                return
            self._was_urgent = next_  # `_held` stays: nobody who comes now can pass before them
            self._queues[next_].popleft().release()
