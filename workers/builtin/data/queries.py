"""Each step of a pipeline as one statement: columns are numbers, values are parameters. Pure."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from workers.base import Permanent
from workers.builtin.data.columnar import TYPES, Columns, Kind
from workers.builtin.data.pipeline import (
    Aggregate,
    Calculate,
    Compare,
    Filter,
    Join,
    Limit,
    Measure,
    Select,
    Sort,
    Step,
    Where,
)

NUMBERS = ("integer", "number")
SIGNS = {"eq": "=", "ne": "IS DISTINCT FROM", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
SUMS = {"add": "{} + {}", "subtract": "{} - {}", "multiply": "{} * {}", "divide": "{} / NULLIF({}, 0)"}
NUMERIC = {"sum": "sum({})", "mean": "avg({})", "median": "median({})", "p95": "quantile_cont({}, 0.95)"}
IN_ORDER = "ORDER BY t.rowid"
COUNTS = {"distinct": "count(DISTINCT {})", "count": "count({})"}


@dataclass(frozen=True)
class Frame:
    """A table of the engine and what its columns are called. One without columns has no rows either."""

    table: str
    columns: Columns
    alias: str = "t"

    def cell(self, name: str) -> tuple[str, Kind]:
        if name in self.columns:
            return f"{self.alias}.c{[*self.columns].index(name)}", self.columns[name]
        if not self.columns:
            return "CAST(NULL AS VARCHAR)", "empty"
        known = ", ".join([*self.columns][:20])
        raise Permanent(f"There is no column '{name}'. Known: {known}.")

    def number(self, name: str) -> str:
        """The column as numbers that cannot overflow; one that holds something else is refused."""
        sql, kind = self.cell(name)
        if kind not in (*NUMBERS, "empty"):
            raise Permanent(f"The column '{name}' holds {_held(kind)}, not numbers.")
        return f"CAST({sql} AS DOUBLE)"

    def alike(self, name: str, value: Any) -> str:
        """The column, to be compared with this value; comparing numbers with text is refused."""
        sql, kind = self.cell(name)
        wanted: Kind = "flag" if isinstance(value, bool) else "text" if isinstance(value, str) else "number"
        if kind == "empty":
            return self.number(name) if wanted == "number" else sql
        if _family(kind) != wanted:
            raise Permanent(f"The column '{name}' holds {_held(kind)}; it cannot be compared with {value!r}.")
        return sql


@dataclass(frozen=True)
class Statement:
    """A SELECT whose n-th column is c{n}, what its columns are called, and its parameters."""

    sql: str
    columns: Columns
    values: tuple[Any, ...] = ()


def statement(step: Step, frame: Frame, other: Frame) -> Statement:
    """What this step does to the rows."""
    makers: dict[type, Callable[..., Statement]] = {
        Select: _select, Filter: _filter, Calculate: _calculate, Aggregate: _aggregate, Sort: _sort,
        Limit: _limit, Join: _join, Compare: _compare,
    }  # fmt: skip
    both = isinstance(step, Join | Compare)
    return makers[type(step)](step, frame, other) if both else makers[type(step)](step, frame)


def twice(step: Compare, frame: Frame) -> str:
    """Finds a key that stands in more than one row."""
    keys = ", ".join(frame.cell(name)[0] for name in step.on)
    return f"SELECT {keys} FROM {frame.table} {frame.alias} GROUP BY {keys} HAVING count(*) > 1 LIMIT 1"  # noqa: S608 # ours


def _select(step: Select, frame: Frame) -> Statement:
    if stray := set(step.rename) - set(step.columns):
        raise Permanent(f"'{min(stray)}' is renamed but not selected.")
    return _made(frame, ((step.rename.get(name, name), *frame.cell(name)) for name in step.columns), IN_ORDER)


def _filter(step: Filter, frame: Frame) -> Statement:
    found = [_condition(where, frame) for where in step.where]
    test = (" AND " if step.match == "all" else " OR ").join(f"({sql})" for sql, _ in found)
    values = tuple(value for _, given in found for value in given)
    return _kept(frame, f"WHERE {test}", values)


def _condition(where: Where, frame: Frame) -> tuple[str, tuple[Any, ...]]:
    sql, kind = frame.cell(where.column)
    if where.is_ in ("missing", "present"):
        return f"{sql} IS {'NOT ' if where.is_ == 'present' else ''}NULL", ()
    values = where.value if isinstance(where.value, list) else [where.value]
    alike = [frame.alike(where.column, value) for value in values]
    if where.is_ == "in":
        return " OR ".join(f"{sql} = ?" for sql in alike) or "false", tuple(values)
    if where.is_ == "contains":
        if kind not in ("text", "empty") or not isinstance(where.value, str):
            raise Permanent(f"'contains' looks for text in text; '{where.column}' holds {_held(kind)}.")
        return f"contains({sql}, ?)", (where.value,)
    return f"{alike[0]} {SIGNS[where.is_]} ?", tuple(values)


def _calculate(step: Calculate, frame: Frame) -> Statement:
    fixed = (step.right,) if isinstance(step.right, float) else ()
    right = "CAST(? AS DOUBLE)" if isinstance(step.right, float) else frame.number(step.right)
    made: Kind = "number"
    sql = SUMS[step.operator].format(frame.number(step.left), right)
    return _made(frame, [*_all(frame), (step.column, sql, made)], IN_ORDER, fixed)


def _aggregate(step: Aggregate, frame: Frame) -> Statement:
    by = [frame.cell(name)[0] for name in step.by]
    tail = f"GROUP BY {', '.join(by)} ORDER BY {', '.join(f'{key} NULLS LAST' for key in by)}" if by else ""
    groups = [(name, *frame.cell(name)) for name in step.by]
    values = [(name, *_measured(measure, frame)) for name, measure in step.values.items()]
    return _made(frame, [*groups, *values], tail)


def _measured(measure: Measure, frame: Frame) -> tuple[str, Kind]:
    if not measure.column:
        return "count(*)", "integer"
    sql, kind = frame.cell(measure.column)
    if measure.function in COUNTS:
        return COUNTS[measure.function].format(sql), "integer"
    if measure.function in NUMERIC:
        exact = measure.function == "sum" and kind == "integer"
        given = sql if exact else frame.number(measure.column)
        return NUMERIC[measure.function].format(given), "integer" if exact else "number"
    return f"{measure.function}({sql})", kind


def _sort(step: Sort, frame: Frame) -> Statement:
    keys = [f"{frame.cell(o.column)[0]} {'DESC' if o.descending else 'ASC'} NULLS LAST" for o in step.by]
    return _kept(frame, f"ORDER BY {', '.join(keys)}, t.rowid")


def _limit(step: Limit, frame: Frame) -> Statement:
    return _kept(frame, f"{IN_ORDER} LIMIT {step.rows}")


def _join(step: Join, frame: Frame, other: Frame) -> Statement:
    match = " AND ".join(f"{pair.new} = {pair.old}" for pair in _pairs(step.on, frame, other))
    if step.how == "without":
        return _kept(frame, f"WHERE NOT EXISTS (SELECT 1 FROM {other.table} o WHERE {match})")  # noqa: S608 # ours
    added = [(name, sql, kind) for name, sql, kind in _all(other) if name not in step.on]
    named = [(f"{name}_other" if name in frame.columns else name, sql, kind) for name, sql, kind in added]
    kind = "JOIN" if step.how == "inner" else "LEFT JOIN"
    tail = f"{kind} {other.table} o ON {match} ORDER BY t.rowid, o.rowid"
    return _made(frame, [*_all(frame), *named], tail)


@dataclass(frozen=True)
class Pair:
    """One column of both tables."""

    name: str
    new: str
    old: str
    kind: Kind

    @property
    def same(self) -> str:
        return f"{self.new} IS NOT DISTINCT FROM {self.old}"

    def changes(self) -> list[tuple[str, str, Kind]]:
        """Before and after; of numbers also the change (none counts as 0) and its percentage."""
        parts = [(f"{self.name}_before", self.old, self.kind), (f"{self.name}_after", self.new, self.kind)]
        if _family(self.kind) != "number":
            return parts
        before, after = (f"coalesce(CAST({sql} AS DOUBLE), 0)" for sql in (self.old, self.new))
        change = f"({after} - {before})"
        percent = f"round(100 * {change} / NULLIF(abs({before}), 0), 1)"
        return [
            *parts,
            (f"{self.name}_change", change, "number"),
            (f"{self.name}_percent", percent, "number"),
        ]


def _compare(step: Compare, frame: Frame, other: Frame) -> Statement:
    keys, found = _pairs(step.on, frame, other), _pairs(step.columns, frame, other)
    whose = [(pair.name, f"coalesce({pair.new}, {pair.old})", pair.kind) for pair in keys]
    parts = [part for pair in found for part in pair.changes()]
    biggest = [f"abs({sql}) DESC NULLS LAST" for name, sql, _ in parts if name.endswith("_change")][:1]
    order = ", ".join([*biggest, *(f"{sql} NULLS LAST" for _, sql, _ in whose)])
    match = " AND ".join(pair.same for pair in keys)
    tail = f"FULL JOIN {other.table} o ON {match} ORDER BY {order}"
    return _made(frame, [*whose, ("state", _state(found), "text"), *parts], tail)


def _state(found: list[Pair]) -> str:
    one_side = "WHEN o.rowid IS NULL THEN 'added' WHEN t.rowid IS NULL THEN 'removed'"
    same = " AND ".join(pair.same for pair in found)
    return f"CASE {one_side} WHEN {same} THEN 'same' ELSE 'changed' END"


def _pairs(names: Iterable[str], frame: Frame, other: Frame) -> list[Pair]:
    return [_pair(name, *frame.cell(name), *other.cell(name)) for name in names]


def _pair(name: str, new: str, kind: Kind, old: str, other: Kind) -> Pair:
    """A number is never equal to a text, and nobody should think so. A column without values fits any."""
    if kind == "empty":
        return Pair(name, f"CAST({new} AS {TYPES[other]})", old, other)
    if other == "empty":
        return Pair(name, new, f"CAST({old} AS {TYPES[kind]})", kind)
    if _family(kind) != _family(other):
        raise Permanent(f"'{name}' holds {_held(kind)} here and {_held(other)} in the other rows.")
    return Pair(name, new, old, kind)


def _all(frame: Frame) -> list[tuple[str, str, Kind]]:
    return [(name, *frame.cell(name)) for name in frame.columns]


def _made(
    frame: Frame, columns: Iterable[tuple[str, str, Kind]], tail: str, values: tuple[Any, ...] = ()
) -> Statement:
    found: Columns = {}
    cells: list[str] = []
    for name, sql, kind in columns:
        if name in found:
            raise Permanent(f"There would be two columns '{name}'. Select or rename one of them.")
        found[name] = kind
        cells.append(f"{sql} AS c{len(cells)}")
    return Statement(f"SELECT {', '.join(cells)} FROM {frame.table} t {tail}", found, values)  # noqa: S608 # ours


def _kept(frame: Frame, tail: str, values: tuple[Any, ...] = ()) -> Statement:
    """All columns of some rows."""
    return Statement(f"SELECT t.* FROM {frame.table} t {tail}", frame.columns, values)  # noqa: S608 # ours


def _family(kind: Kind) -> Kind:
    return "number" if kind in NUMBERS else kind


def _held(kind: Kind) -> str:
    return {"text": "text", "flag": "true or false", "empty": "nothing"}.get(kind, "numbers")
