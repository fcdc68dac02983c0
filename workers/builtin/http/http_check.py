"""Asks an HTTP endpoint once, or until it answers as expected."""

import time
from typing import Annotated

from pydantic import BaseModel, Field

from workers.base import Check, Context, Named, Params, Report, Transient, Worker, action, check
from workers.builtin.http.wait import SLICE, pause
from workers.builtin.shared.http_origin import Answer, Origin, OriginEntry, UrlPath, read_origin
from workers.commands.output import plain

LARGEST = 1024 * 1024
SHOWN = 200
EXPECTED: dict[str, tuple[Check, ...]] = {"as_expected": (check("holds", "eq", True),)}


class CheckParams(Params):
    endpoint: Annotated[str, Named("endpoints")]
    path: UrlPath = "/"
    expect_status: int = Field(default=200, ge=100, le=599)
    contains: str = Field(default="", max_length=1000)


class WaitParams(CheckParams):
    deadline_seconds: int = Field(ge=1, le=3500)


class EndpointEntry(OriginEntry):
    """`[inventory.endpoints.*]`: what a name stands for. With `message_field` notify may post there."""

    message_field: str = ""
    every_seconds: float = Field(default=2.0, gt=0, le=600)


class CheckData(BaseModel):
    """`status` is None when there was no answer; `seconds` counts from the first try."""

    holds: bool
    status: int | None = None
    bytes: int = 0
    seconds: float
    tries: int = 1


class HttpCheck(Worker):
    """Checks that an HTTP endpoint answers as expected, now or before a deadline."""

    name = "http-check"

    @action(
        changes=False,
        repeat="safe",
        timeout=330,
        typical=2,
        criteria=EXPECTED,
        says="*Check* {endpoint}",
        planning=True,
    )
    def check_http(self, params: CheckParams, ctx: Context) -> Report[CheckData]:
        """Asks an HTTP endpoint once and compares its status and text."""
        origin, _ = self._origin(params, ctx)
        began = time.monotonic()
        answer = _ask(origin, params)
        found = fault(answer, params, origin)
        data = _data(answer, began, holds=not found)
        if found:
            return Report.failed(f"{_name(params)} {found}.", data)
        return Report.ok(f"{_name(params)} answered {answer.status} in {data.seconds:.2f} s", data)

    @action(
        changes=False,
        repeat="safe",
        timeout=3600,
        typical=60,
        criteria=EXPECTED,
        says="*Wait for* {endpoint}[, at most {deadline_seconds} s]",
    )
    def wait_for_http(self, params: WaitParams, ctx: Context) -> Report[CheckData]:
        """Asks an HTTP endpoint again and again until it answers as expected or the deadline passes."""
        origin, every = self._origin(params, ctx)
        began = time.monotonic()
        until, tries = began + params.deadline_seconds, 0
        while True:
            tries += 1
            answer, found = _try(origin, params, until - time.monotonic())
            data = _data(answer, began, holds=not found, tries=tries)
            if not found:
                return Report.ok(f"{_name(params)} answered {data.status} after {_effort(data)}", data)
            ctx.progress(found)
            if time.monotonic() + every >= until or not pause(every, ctx):
                return _gave_up(params, ctx, found, data)

    def _origin(self, params: CheckParams, ctx: Context) -> tuple[Origin, float]:
        raw = self.entry("endpoints", params.endpoint)
        entry = read_origin(EndpointEntry, f"endpoints.{params.endpoint}", raw)
        return Origin(params.endpoint, entry, ctx.cancelled), entry.every_seconds


def fault(answer: Answer, params: CheckParams, origin: Origin) -> str:
    """What is not as expected, with what the endpoint says about it; "" when all is."""
    text = answer.body.decode(errors="replace")
    said = origin.hide(" ".join(plain(answer.body).split()))[:SHOWN] or "the answer is empty"
    if answer.status != params.expect_status:
        return f"answered {answer.status}, not {params.expect_status}: {said}"
    if params.contains not in text:
        part = "" if answer.whole else " in its first 1 MiB"
        return f"answered {answer.status}, but '{params.contains}' is not there{part}: {said}"
    return ""


def _ask(origin: Origin, params: CheckParams, timeout: float = 0.0) -> Answer:
    return origin.get(origin.url(params.path), limit=LARGEST, timeout=timeout, expect=params.expect_status)


def _try(origin: Origin, params: CheckParams, left: float) -> tuple[Answer | None, str]:
    try:
        answer = _ask(origin, params, min(origin.entry.timeout, max(left, SLICE)))
    except Transient as error:
        return None, str(error).removeprefix(f"{origin.name} ").rstrip(".")
    return answer, fault(answer, params, origin)


def _gave_up(params: WaitParams, ctx: Context, found: str, data: CheckData) -> Report[CheckData]:
    why = "the wait was stopped" if ctx.cancelled() else f"the deadline was {params.deadline_seconds} s"
    return Report.failed(f"{_name(params)} {found}; {why}, asked for {_effort(data)}.", data)


def _data(answer: Answer | None, began: float, *, holds: bool, tries: int = 1) -> CheckData:
    return CheckData(
        holds=holds,
        status=answer.status if answer else None,
        bytes=len(answer.body) if answer else 0,
        seconds=round(time.monotonic() - began, 2),
        tries=tries,
    )


def _name(params: CheckParams) -> str:
    return f"{params.endpoint} {params.path}"


def _effort(data: CheckData) -> str:
    return f"{data.seconds:.1f} s ({data.tries} {'try' if data.tries == 1 else 'tries'})"
