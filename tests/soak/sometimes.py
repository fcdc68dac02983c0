"""What must have happened at some time in a long run, or the run has proven less than it says."""

from collections import Counter
from collections.abc import Iterable

RARE = {  # by the journal's verb
    "lose": "a step lost its process",
    "resolve": "a person was asked",
    "look": "a probe looked",
    "late": "a report came too late",
}


class Sometimes:
    """Rare states by name, and how often each was reached."""

    def __init__(self, *names: str) -> None:
        self._names, self._counts = names, Counter[str]()

    def reached(self, name: str, times: int = 1) -> None:
        if name not in self._names:
            raise KeyError(f"{name} is not among what this run looks for")
        self._counts[name] += times

    def saw(self, verbs: Iterable[str]) -> None:
        """What the journal tells."""
        for verb in verbs:
            if verb in RARE:
                self.reached(RARE[verb])

    def never(self) -> list[str]:
        return [name for name in self._names if not self._counts[name]]

    def __str__(self) -> str:
        seen = ", ".join(f"{name} {self._counts[name]}" for name in self._names if self._counts[name])
        never = f"; NEVER REACHED: {', '.join(self.never())}" if self.never() else ""
        return f"sometimes: {seen or 'nothing'}{never}"
