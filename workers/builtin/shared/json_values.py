"""Values out of an HTTP answer: strict JSON, what stands at a path in it, a cell fit for a report. No I/O."""

import json
import math
from collections.abc import Callable
from typing import Any

from workers.commands.output import plain

Cell = str | int | float | bool | None
Hide = Callable[[str], str]

LONGEST = 500  # characters of a cell
EXACT = 2**53  # JSON as others read it keeps integers up to here


class Unreadable(ValueError):
    """The answer is not what it should be; the text says why, to follow "it did not answer with …"."""


def read_json(body: bytes) -> Any:
    """Strict JSON: NaN and 1e999, which Python alone would take, could not be read from the file again."""
    try:
        return json.loads(body, parse_constant=_number, parse_float=_number)
    except (ValueError, RecursionError):
        raise Unreadable("JSON") from None


def pick(document: Any, path: str) -> Any:
    """What stands at a dotted path; None when nothing does."""
    for part in path.split(".") if path else ():
        document = document.get(part) if isinstance(document, dict) else None
    return document


def shorten(text: str, hide: Hide) -> str:
    """Fit to show. Hidden last, as taking a control character out may put a secret together."""
    inert = hide(plain(text.encode(errors="replace")))
    return inert if len(inert) <= LONGEST else f"{inert[:LONGEST]}…"


def as_cell(value: Any, hide: Hide) -> Cell:
    """One value, fit for a report."""
    if value is None or isinstance(value, bool | float) or (isinstance(value, int) and abs(value) < EXACT):
        return value
    return shorten(value if isinstance(value, str) else json.dumps(value), hide)


def _number(text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise ValueError(text)
    return value
