"""Answers as rows: CSV or text in; a whole file and a short preview out. No I/O."""

import csv
import io
import json
from collections.abc import Iterator
from typing import Any, Literal

from workers.builtin.shared.json_values import Cell, Hide, Unreadable, as_cell, shorten

Format = Literal["json", "csv", "text"]
Row = dict[str, Any]

SHOWN = 50
WIDEST = 100  # columns
HEAVIEST = 64 * 1024  # characters of all cells that a report carries


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


def _decoded(body: bytes) -> str:
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Unreadable("UTF-8") from None
