"""What can be said of rows or text without a model: counts, totals, extremes, the biggest changes. Pure."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from workers.builtin.data.rows import Row, columns_of
from workers.builtin.shared.json_values import shorten

COLUMNS = 8
TOP = 3
FEW = 12
ALARMS = re.compile(
    r"\b(error|fail(ed|ure)?|exception|fatal|panic|critical|refused|timed? ?out)\b", re.IGNORECASE
)


def of_rows(rows: list[Row]) -> list[str]:
    """Sentences about these rows, the most telling first."""
    columns = columns_of(rows)
    told = [*_changes(rows, columns), *(line for name in columns[:COLUMNS] for line in _column(name, rows))]
    left = len(columns) - COLUMNS
    more = [f"{left} more columns are not told."] if left > 0 else []
    return [f"{len(rows):,} rows, {len(columns)} columns.", *told, *more]


def of_text(text: str) -> list[str]:
    """Sentences about these lines: how many, the most frequent, and those that sound alarmed."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    often = Counter(re.sub(r"\d+", "#", line) for line in lines).most_common(TOP)
    repeated = [f"{count} times: {_cut(line)}" for line, count in often if count > 1]
    alarms = [line for line in lines if ALARMS.search(line)]
    loud = [f"{len(alarms)} lines sound like trouble; the first: {_cut(alarms[0])}"] if alarms else []
    last = [f"The last line: {_cut(lines[-1])}"] if lines else []
    return [f"{len(lines):,} lines.", *loud, *repeated, *last]


def _changes(rows: list[Row], columns: list[str]) -> Iterator[str]:
    """Rows as `compare` makes them: the biggest changes by size."""
    for name in (column.removesuffix("_change") for column in columns if column.endswith("_change")):
        numbered = [row for row in rows if _is_number(row.get(f"{name}_change"))]
        biggest = sorted(numbered, key=lambda row: -abs(row[f"{name}_change"]))[:TOP]
        told = [_change(name, row) for row in biggest if row[f"{name}_change"]]
        yield f"Biggest changes of {_cut(name)}: {'; '.join(told) or 'none'}."


def _change(name: str, row: Row) -> str:
    before, after, percent = (row.get(f"{name}_{part}") for part in ("before", "after", "percent"))
    share = f" ({percent:+g} %)" if _is_number(percent) else ""
    return f"{_whose(row)} {_said(before)} → {_said(after)}{share}"


def _column(name: str, rows: list[Row]) -> Iterator[str]:
    values: list[Any] = [row.get(name) for row in rows if row.get(name) is not None]
    numbers = [value for value in values if _is_number(value)]
    if numbers and len(numbers) == len(values):
        high = max((row for row in rows if row.get(name) is not None), key=lambda row: row[name])
        yield (
            f"{_cut(name)}: total {_said(sum(numbers))}, mean {_said(sum(numbers) / len(numbers))}, "
            f"lowest {_said(min(numbers))}, highest {_said(high[name])} ({_whose(high)})."
        )
    elif values and len(found := Counter(map(str, values))) <= FEW:
        yield f"{_cut(name)}: {', '.join(f'{_cut(value)} {count}' for value, count in found.most_common())}."


def _whose(row: Row) -> str:
    """How people tell this row from others: its first text, or else its first value."""
    texts = [value for value in row.values() if isinstance(value, str)]
    return _cut(str((texts or [*row.values()])[0]))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _said(value: Any) -> str:
    if not _is_number(value):
        return "none"
    exact = isinstance(value, int) or abs(value) >= 1e15
    return f"{value:,}" if exact else f"{value:,.4f}".rstrip("0").rstrip(".")


def _cut(text: str) -> str:
    return shorten(text, str)[:120]
