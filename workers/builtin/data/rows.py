"""Answers as rows: JSON, CSV or text in; a whole file and a short preview out. No I/O."""

import csv
import io
import json
import math
from collections.abc import Callable, Iterator
from typing import Any, Literal

from workers.commands.output import plain

Format = Literal["json", "csv", "text"]
Row = dict[str, Any]
Cell = str | int | float | bool | None
Hide = Callable[[str], str]

SHOWN = 50
WIDEST = 100  # columns
LONGEST = 500  # characters of a cell
HEAVIEST = 64 * 1024  # characters of all cells that a report carries
EXACT = 2**53  # JSON as others read it keeps integers up to here


class Unreadable(ValueError):
    """The answer is not what it should be; the text says why, to follow "it did not answer with …"."""


def read_json(body: bytes) -> Any:
    """Strict JSON: NaN and 1e999, which Python alone would take, could not be read from the file again."""
    try:
        return json.loads(body, parse_constant=_number, parse_float=_number)
    except (ValueError, RecursionError):
        raise Unreadable("JSON") from None


def read_csv(body: bytes) -> list[Row]:
    reader = csv.DictReader(io.StringIO(_decoded(body)), strict=True)
    try:
        names, rows = list(reader.fieldnames or ()), list(reader)
    except csv.Error as error:
        raise Unreadable(f"readable CSV ({error})") from None
    if len(set(names)) < len(names):
        raise Unreadable("readable CSV (its first line has a name twice)")
    if any(None in row for row in rows):
        raise Unreadable("readable CSV (a line has more cells than the first)")
    return rows


def read_text(body: bytes) -> list[Row]:
    return [{"line": line} for line in _decoded(body).splitlines()]


def pick(document: Any, path: str) -> Any:
    """What stands at a dotted path; None when nothing does."""
    for part in path.split(".") if path else ():
        document = document.get(part) if isinstance(document, dict) else None
    return document


def columns_of(rows: list[Row]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def render(format: Format, rows: list[Row]) -> str:
    """All rows, as the file has them."""
    if format == "json":
        return json.dumps(rows)
    if format == "text":
        return "".join(f"{row['line']}\n" for row in rows)
    text = io.StringIO()
    writer = csv.DictWriter(text, columns_of(rows), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def preview(rows: list[Row], hide: Hide) -> Iterator[dict[str, Cell]]:
    """The first rows, cut in every direction: a report is for reading."""
    weight = 0
    for row in rows[:SHOWN]:
        shown = {shorten(name, hide): as_cell(value, hide) for name, value in list(row.items())[:WIDEST]}
        weight += sum(len(name) + len(str(value)) for name, value in shown.items())
        if weight > HEAVIEST:
            return
        yield shown


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


def _decoded(body: bytes) -> str:
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Unreadable("UTF-8") from None
