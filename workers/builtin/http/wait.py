"""Waits: for some time, or until what a source says is as wanted."""

import time
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from workers.base import Check, Context, Named, Params, Report, Transient, Worker, action, check, holds
from workers.builtin.shared.http_origin import Origin, UrlPath, read_origin
from workers.builtin.shared.http_source import Ask, SourceEntry
from workers.builtin.shared.json_values import Cell, Unreadable, as_cell, pick, read_json

SLICE = 0.2
LONGEST = 3500
LIMIT = 3600.0
MET: dict[str, tuple[Check, ...]] = {"condition_met": (check("met", "eq", True),)}


UNTIL = (
    "*Wait until* {source} has {field} {op:eq=equal to,ne=unlike,lt=below,le=at most,gt=above,ge=at least,"
    "exists=at all,contains=containing}[ {value}][, at most {deadline_seconds} s]"
)


class SecondsParams(Params):
    seconds: int = Field(ge=1, le=LONGEST)


class UntilParams(Params):
    source: Annotated[str, Named("sources")]
    path: UrlPath = "/"
    query: dict[str, str] = Field(default_factory=dict)
    field: str = Field(max_length=200, description="dotted path to a value inside the JSON")
    op: Literal["eq", "ne", "lt", "le", "gt", "ge", "exists", "contains"]
    value: Cell = None
    deadline_seconds: int = Field(ge=1, le=LONGEST)
    every_seconds: float = Field(default=5.0, gt=0, le=600)


class SecondsData(BaseModel):
    seconds: float


class UntilData(BaseModel):
    """`value` is what stood there last; None also when there was no answer."""

    met: bool
    value: Cell
    seconds: float
    tries: int


class Wait(Worker):
    """Waits for some time, or until a source says what the plan waits for."""

    name = "wait"

    @action(
        changes=False,
        repeat="safe",
        timeout=LIMIT,
        typical=60,
        says="*Wait* {seconds} s",
    )
    def seconds(self, params: SecondsParams, ctx: Context) -> Report[SecondsData]:
        """Waits so many seconds, by the clock of the plan."""
        began = _began(ctx)
        until, said = began + timedelta(seconds=params.seconds), ""
        while (left := (until - ctx.now()).total_seconds()) > 0:
            said = _tell(ctx, said, f"about {min(params.seconds, -(-left // 10) * 10):.0f} s left")
            if not pause(min(left, SLICE), ctx):
                gone = SecondsData(seconds=params.seconds - left)
                return Report.failed(f"The wait was stopped {left:.0f} s before its end.", gone)
        return Report.ok(f"waited {params.seconds} s", SecondsData(seconds=params.seconds))

    @action(
        changes=False,
        repeat="safe",
        timeout=LIMIT,
        typical=60,
        criteria=MET,
        says=UNTIL,
    )
    def until(self, params: UntilParams, ctx: Context) -> Report[UntilData]:
        """Reads a value again and again until it is as wanted or the deadline passes."""
        raw = self.entry("sources", params.source)
        entry = read_origin(SourceEntry, f"sources.{params.source}", raw)
        origin = Origin(params.source, entry, ctx.cancelled)
        began, tries, said = time.monotonic(), 0, ""
        while True:
            tries += 1
            left = params.deadline_seconds - (time.monotonic() - began)
            value, fault = look(origin, entry, params, min(entry.timeout, max(left, SLICE)))
            seconds = round(time.monotonic() - began, 1)
            data = UntilData(met=not fault, value=value, seconds=seconds, tries=tries)
            if not fault:
                return Report.ok(f"{_wanted(params)} after {_effort(data)}", data)
            said = _tell(ctx, said, fault)
            if seconds + params.every_seconds >= params.deadline_seconds or not pause(
                params.every_seconds, ctx
            ):
                return _gave_up(params, ctx, fault, data)


def look(origin: Origin, entry: SourceEntry, params: UntilParams, timeout: float) -> tuple[Cell, str]:
    """What stands there now, and what is wrong with it; "" when it is as wanted."""
    ask = Ask(origin.url(params.path), tuple(params.query.items()))
    try:
        answer = origin.get(ask.address(), limit=entry.max_bytes, timeout=timeout)
        if answer.status != 200:
            return None, f"{params.source} answered {answer.status}"
        document = read_json(answer.body)
    except Transient as error:
        return None, str(error).rstrip(".")
    except Unreadable:
        return None, f"{params.source} did not answer with JSON"
    return judged(document, params, origin)


def judged(document: Any, params: UntilParams, origin: Origin) -> tuple[Cell, str]:
    seen = as_cell(pick(document, params.field), origin.hide)
    wanted = Check(field=params.field, op=params.op, value=params.value)
    fine = isinstance(document, dict) and holds(wanted, document)
    return seen, "" if fine else f"{params.field} is {_said(seen)}"


def pause(seconds: float, ctx: Context) -> bool:
    """Wait so long; False as soon as the attempt is to stop."""
    until = time.monotonic() + seconds
    while not ctx.cancelled():
        left = until - time.monotonic()
        if left <= 0:
            return True
        time.sleep(min(left, SLICE))
    return False


def _began(ctx: Context) -> datetime:
    """When the first attempt of this step began: after a restart only the rest is waited for."""
    note = ctx.scratch.parent / "began"
    if ctx.attempt > 1 and note.exists():  # a first attempt may find the note of an earlier revision
        return datetime.fromisoformat(note.read_text())
    began = ctx.now()
    note.write_text(began.isoformat())
    return began


def _tell(ctx: Context, before: str, now: str) -> str:
    """Progress is news; the same is said once."""
    if now != before:
        ctx.progress(now)
    return now


def _gave_up(params: UntilParams, ctx: Context, fault: str, data: UntilData) -> Report[UntilData]:
    why = "the wait was stopped" if ctx.cancelled() else f"the deadline was {params.deadline_seconds} s"
    return Report.failed(f"{fault}, not as wanted ({_wanted(params)}); {why}, {_effort(data)}.", data)


def _wanted(params: UntilParams) -> str:
    value = "" if params.op == "exists" else f" {_said(params.value)}"
    return f"{params.source} {params.path}: {params.field} {params.op}{value}"


def _said(value: Cell) -> str:
    return "missing" if value is None else repr(value)[:100]


def _effort(data: UntilData) -> str:
    return f"{data.seconds:.1f} s ({data.tries} {'try' if data.tries == 1 else 'tries'})"
