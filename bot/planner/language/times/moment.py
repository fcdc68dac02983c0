"""One time that was said, and what it means."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Time:
    """Where a time was said. `words` are for `when.resolve`; with `days`, it recurs; a doubt says why."""

    start: int
    end: int
    said: str
    words: str = ""
    kind: Literal["at", "every", "doubt"] = "at"
    days: str = ""
    why: str = ""
    recurs: bool = False
