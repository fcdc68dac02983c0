"""Selects, filters, joins and compares rows by a declared pipeline: nothing of a plan is run as code."""

import json
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from workers.base import Context, Params, Permanent, Report, Worker, action, check
from workers.builtin.data.columnar import Engine, engine
from workers.builtin.data.pipeline import Compare, Pipeline, Step
from workers.builtin.data.queries import Frame, statement, twice
from workers.builtin.data.rows import WIDEST, Row, preview
from workers.builtin.data.tables import Source, read_source
from workers.builtin.shared.json_values import Cell, shorten

MOST_OUT = 100_000


class ProcessParams(Params):
    rows: Source
    other: Source = ()
    pipeline: Pipeline


class ProcessData(BaseModel):
    """`first` is the first row, for criteria such as `first.total`; `sample` is cut; `file` has all rows."""

    rows_in: int
    rows_count: int
    columns: list[str]
    first: dict[str, Cell]
    sample: list[dict[str, Cell]]
    file: str


class DataProcessing(Worker):
    """Selects, filters, aggregates, joins and compares rows of earlier steps."""

    name = "data-processing"

    @action(
        changes=False,
        repeat="safe",
        timeout=300,
        typical=5,
        criteria={
            "has_rows": (check("rows_count", "gt", 0),),
            "is_empty": (check("rows_count", "eq", 0),),
        },
        says="*Compute* from {rows}",
    )
    def process(self, params: ProcessParams, ctx: Context) -> Report[ProcessData]:
        """Runs rows of earlier steps through a declared pipeline."""
        given = read_source(params.rows, ctx)
        found = processed(given, read_source(params.other, ctx), params.pipeline, ctx)
        if len(found) > MOST_OUT:
            raise Permanent(f"The result has {len(found):,} rows; at most {MOST_OUT:,} are kept. Narrow it.")
        file = ctx.scratch / "processed.json"
        file.write_text(json.dumps(found), encoding="utf-8")
        sample = list(preview(found, str))
        data = ProcessData(
            rows_in=len(given),
            rows_count=len(found),
            columns=[shorten(name, str) for name in [*(found[0] if found else {})][:WIDEST]],
            first=sample[0] if sample else {},
            sample=sample,
            file=str(file),
        )
        return Report.ok(summary(params.pipeline, data), data, artifacts=(str(file),))

    def packages(self) -> Iterator[str]:
        yield "duckdb"


def processed(rows: list[Row], other: list[Row], pipeline: Pipeline, ctx: Context) -> list[Row]:
    """The rows that come out at the end."""
    with engine(ctx.cancelled) as found:
        frame, second = Frame(*found.load(rows)), Frame(*found.load(other), alias="o")
        for step in pipeline:
            ctx.progress(f"{step.op}: {found.count(frame.table)} rows")
            frame = _after(step, frame, second, found)
        return found.rows(frame.table, frame.columns)


def _after(step: Step, frame: Frame, other: Frame, found: Engine) -> Frame:
    if isinstance(step, Compare):
        for each in (frame, other):
            _check_unique(step, each, found)
    made = statement(step, frame, other)
    return Frame(found.make(made.sql, list(made.values)), made.columns)


def _check_unique(step: Compare, frame: Frame, found: Engine) -> None:
    key = found.first(twice(step, frame))
    if key is not None:
        raise Permanent(
            f"Rows cannot be compared by {', '.join(step.on)}: {_key(key)} stands in more than one of "
            f"{'the rows' if frame.alias == 't' else 'the other rows'}. Aggregate first."
        )


def _key(values: tuple[Any, ...]) -> str:
    return ", ".join(shorten(str(value), str)[:80] for value in values)


def summary(pipeline: Pipeline, data: ProcessData) -> str:
    steps = ", ".join(step.op for step in pipeline)
    few = [", ".join(f"{name} = {value}" for name, value in [*row.items()][:5]) for row in data.sample[:3]]
    said = f": {'; '.join(few)}" if 1 <= data.rows_count <= len(few) else ""
    return f"{data.rows_in:,} rows in, {data.rows_count:,} out ({steps}){said}"[:400]
