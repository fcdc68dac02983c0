"""What a command says while it runs."""

import time
from collections.abc import Callable

from workers.base import Context

SAID = 120  # characters of a line


class SoFar:
    """How far a command is: how long it has run, and the last line that it printed."""

    def __init__(self, ctx: Context, steady: Callable[[], float] = time.monotonic) -> None:
        self._ctx, self._steady = ctx, steady
        self._began, self._line, self._told = steady(), "", ""

    def hear(self, line: str) -> None:
        if line.strip():
            self._line = " ".join(line.split())[:SAID]
            self._tell()

    def look(self) -> bool:
        """Whether it shall stop; asked now and then, also of one that prints nothing."""
        self._tell()
        return self._ctx.cancelled()

    def _tell(self) -> None:
        """Only what is new: a silent command costs a word every ten seconds, then one a minute."""
        passed = self._steady() - self._began
        long = f"{passed // 10 * 10:.0f} s" if passed < 60 else f"{passed // 60:.0f} min"
        text = ": ".join(filter(None, [long if passed >= 10 else "", self._line]))
        if text != self._told:
            self._told = text
            self._ctx.progress(text)
