"""A lock that is handed on in the order of asking: a busy loop cannot take it again before those who wait."""

from collections import deque
from threading import Lock


class Turnstile:
    """`with turnstile:` one at a time. `threading.Lock` lets whoever comes first after a release pass."""

    def __init__(self) -> None:
        self._guard, self._held, self._queue = Lock(), False, deque[Lock]()

    def __enter__(self) -> None:
        with self._guard:
            if not self._held:
                self._held = True
                return
            turn = Lock()
            turn.acquire()
            self._queue.append(turn)
        turn.acquire()  # until it is handed on to us

    def __exit__(self, *_: object) -> None:
        with self._guard:
            if self._queue:
                self._queue.popleft().release()
            else:
                self._held = False
