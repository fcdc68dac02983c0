"""Rows that earlier steps of the same plan made: a list from a report, or the file that it names."""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, JsonValue

from workers.base import Context, Permanent
from workers.builtin.data.rows import Row, read_csv, read_text
from workers.builtin.shared.json_values import Unreadable, read_json

Source = Annotated[
    str | tuple[dict[str, JsonValue], ...],
    Field(
        description='rows of an earlier step: {"from": "step-1.file"}, or a short list of objects',
        json_schema_extra={"from_output": True},
    ),
]

LARGEST = 20 * 1024 * 1024
INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,17})?")


def read_source(source: str | tuple[dict[str, Any], ...], ctx: Context) -> list[Row]:
    """The rows; only files of this plan are read, whatever a plan says."""
    if not isinstance(source, str):
        return list(source)
    return _parsed(_inside(source, ctx))


def _inside(source: str, ctx: Context) -> Path:
    home, path = ctx.scratch.parent.parent.resolve(), Path(source).resolve()
    if not path.is_relative_to(home):
        raise Permanent("Only files that earlier steps of this plan wrote can be read; nothing was read.")
    if not path.is_file():
        raise Permanent(f"{path.name} of an earlier step is not on this machine; run that step again.")
    if path.stat().st_size > LARGEST:
        raise Permanent(f"{path.name} is larger than {LARGEST // 1024**2} MiB. Fetch less.")
    return path


def _parsed(path: Path) -> list[Row]:
    body = path.read_bytes()
    try:
        if path.suffix == ".csv":
            return _typed(read_csv(body))
        return _objects(read_json(body), path) if path.suffix == ".json" else read_text(body)
    except Unreadable as error:
        raise Permanent(f"{path.name} does not hold {error}.") from None


def _objects(document: Any, path: Path) -> list[Row]:
    if not isinstance(document, list) or not all(isinstance(row, dict) for row in document):
        raise Permanent(f"{path.name} does not hold a list of objects.")
    return document


def _typed(rows: list[Row]) -> list[Row]:
    """CSV has only text. A column is a number if every cell is written as one; "007" stays a text."""
    kinds = {name: _kind(row[name] for row in rows) for name in (rows[0] if rows else ())}
    return [{name: _cell(value, kinds[name]) for name, value in row.items()} for row in rows]


def _kind(cells: Iterable[str | None]) -> type[int] | type[float] | type[str]:
    found = [cell for cell in cells if cell]
    if not found or not all(map(NUMBER.fullmatch, found)):
        return str
    return int if all(map(INTEGER.fullmatch, found)) else float


def _cell(value: str | None, kind: type[int] | type[float] | type[str]) -> str | int | float | None:
    return kind(value) if value else (None if kind is not str else value)


def as_text(value: Any) -> str:
    """A nested value, or one of a mixed column, as one cell of text that any engine can hold."""
    text = value if isinstance(value, str) else json.dumps(value)
    return text.replace("\0", "").encode(errors="replace").decode()
