"""A lock that is handed on in the order of asking: a busy loop cannot take it again before those who wait."""

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock


class Turnstile:
    """One at a time. `threading.Lock` lets whoever comes first after a release pass.

    Every other turn is for the urgent, if any wait: a person waits for their ack.
    """

    def __init__(self) -> None:
        self._guard, self._held, self._hurried = Lock(), False, False
        self._queues: dict[bool, deque[Lock]] = {True: deque(), False: deque()}

    @contextmanager
    def turn(self, *, urgent: bool = False) -> Iterator[None]:
        self._wait(urgent)
        try:
            yield
        finally:
            self._hand_on()

    def _wait(self, urgent: bool) -> None:
        with self._guard:
            if not self._held:
                self._held, self._hurried = True, urgent
                return
            mine = Lock()
            mine.acquire()
            self._queues[urgent].append(mine)
        mine.acquire()  # until it is handed on to us

    def _hand_on(self) -> None:
        with self._guard:
            order = (not self._hurried, self._hurried)
            next_ = next((urgent for urgent in order if self._queues[urgent]), None)
            if next_ is None:
                self._held = False
                return
            self._hurried = next_
            self._queues[next_].popleft().release()
