"""What does not work right now outside of this process, each in a sentence, for whoever asks about health."""

from threading import Lock


class Troubles:
    """Sentences by what they are about: said by whoever meets the trouble, mended by whoever gets through."""

    def __init__(self) -> None:
        self._said: dict[str, tuple[str, bool]] = {}
        self._lock = Lock()

    def say(self, about: str, sentence: str, *, serious: bool = True) -> None:
        """`serious`: nobody can rely on this process meanwhile."""
        with self._lock:
            self._said[about] = sentence, serious

    def mend(self, about: str) -> None:
        with self._lock:
            self._said.pop(about, None)

    def told(self, *, serious: bool) -> list[str]:
        with self._lock:
            return [sentence for sentence, counts in self._said.values() if counts is serious]
