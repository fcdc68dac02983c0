"""An event that a signal handler may set."""

from queue import Empty, SimpleQueue


class Flag:
    """As `threading.Event`, whose lock the interrupted thread may hold: it would wait for itself."""

    def __init__(self) -> None:
        self._up, self._rung = False, SimpleQueue[None]()

    def set(self) -> None:
        self._up = True
        self._rung.put(None)

    def is_set(self) -> bool:
        return self._up

    def wait(self, timeout: float) -> bool:
        """Whether it is set, at the latest after that many seconds. One thread may wait."""
        try:
            return self._up or self._rung.get(timeout=timeout) is None
        except Empty:
            return self._up

    def clear(self) -> None:
        self._up = False
        while not self._rung.empty():
            self._rung.get()
