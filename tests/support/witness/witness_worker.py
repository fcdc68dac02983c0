"""A third party's worker whose effects are lines in a file: the file is the witness, not the database."""

import os
import time
from pathlib import Path

from pydantic import BaseModel

from storage.contract.report import Report
from workers.base import Context, Params, Verdict, Worker, action

PACE = float(os.environ.get("WITNESS_PACE", "0"))  # seconds before an effect, and after it


class Note(Params):
    name: str


class Noted(BaseModel):
    name: str
    attempt: int


class Witness(Worker):
    """Writes lines into a file, and waits inside until it may go on."""

    name = "witness"

    @action(changes=True, repeat="safe", timeout=60, typical=1)
    def note_safely(self, params: Note, ctx: Context) -> Report[Noted]:
        return note(params, ctx)

    @action(changes=True, timeout=60, typical=1)
    def note_once(self, params: Note, ctx: Context) -> Report[Noted]:
        return note(params, ctx)

    @action(changes=True, timeout=60, typical=1)
    def note_probed(self, params: Note, ctx: Context) -> Report[Noted]:
        return note(params, ctx)

    @note_probed.probe
    def noted(self, params: Note, ctx: Context) -> Report[Noted] | Verdict:
        if f"effect {params.name}" in lines():
            return Report[Noted].ok("it had happened", Noted(name=params.name, attempt=ctx.attempt))
        return Verdict.did_not_run

    @action(changes=True, repeat="safe", timeout=60, typical=1)
    def stumble(self, params: Note, ctx: Context) -> Report[Noted]:
        """Fails until a file says otherwise."""
        write(f"effect {params.name}")
        if (place() / "healed").exists():
            return Report[Noted].ok("healed", Noted(name=params.name, attempt=ctx.attempt))
        return Report[Noted].failed("the witness stumbled", recommendations=("heal it first",))


def note(params: Note, ctx: Context) -> Report[Noted]:
    write(f"begin {params.name}")
    pause("before", params.name, ctx)
    time.sleep(PACE)
    ctx.hold()
    write(f"effect {params.name}")
    time.sleep(PACE)
    pause("after", params.name, ctx)
    write(f"end {params.name}")
    return Report[Noted].ok("noted", Noted(name=params.name, attempt=ctx.attempt))


def pause(point: str, name: str, ctx: Context) -> None:
    """Wait at this point while the test says so, and say that it does."""
    gate = place() / f"hold-{point}-{name}"
    if gate.exists():
        ctx.progress(f"1 of 2 lines written, {point} the effect")
    while gate.exists():
        time.sleep(0.01)


def write(line: str) -> None:
    with (place() / "lines").open("a") as file:
        file.write(line + "\n")
        file.flush()
        os.fsync(file.fileno())


def lines() -> list[str]:
    return (place() / "lines").read_text().splitlines() if (place() / "lines").exists() else []


def place() -> Path:
    return Path(os.environ["WITNESS_PLACE"])
