"""Run one command for a worker: nothing of it outlives its end, its timeout or the engine."""

import functools
import os
import re
import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from pydantic import BaseModel, ConfigDict, Field

from storage.private_files import private_opener
from workers.base import Permanent
from workers.commands.box import Box
from workers.commands.leftovers import marks, sweep
from workers.commands.output import Mask, Output, mask_of, plain

ALLOWED = re.compile(r"PATH|HOME|LANG|LC_\w+|TZ|TMPDIR")
END = ("setpriv", "--pdeathsig", "KILL", "--")  # the engine's death ends what it started
BOX = ("--pid", "--fork", "--kill-child", "--mount-proc", "--")
# The first process of a PID namespace ignores most signals; a shell that only waits, and says nothing of its
# own, takes that place. A signal that comes before the command does keeps it from starting.
INIT = ("sh", "-c", 'trap "exit \\$?" INT TERM; exec 3>&2 2>/dev/null; (exec "$@" 2>&3 3>&-); exit $?', "sh")
WRAPPERS = (
    (*END, "unshare", *BOX, *INIT),
    (*END, "unshare", "--user", "--map-current-user", *BOX, *INIT),
    END,
    (),
)
POLL = 0.2
SETTLE = 0.3  # a signal that comes while the box is being set up would be lost
PATIENCE = 10.0  # with what SIGKILL was sent to


class Limits(BaseModel):
    """`limits` of an inventory entry: what each process of a command may use. Root may start any number."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    memory_mb: int = Field(default=8192, gt=0)
    file_mb: int = Field(default=10240, gt=0)
    processes: int = Field(default=4096, gt=0)


@dataclass(frozen=True)
class Finished:
    """How a command ended. `dropped` counts the bytes between `head` and `tail`; the log may have them."""

    returncode: int
    signal: int | None
    timed_out: bool
    cancelled: bool
    head: bytes
    tail: bytes
    dropped: int
    log: Path
    seconds: float
    silent: bool = False
    mask: Mask = field(default_factory=lambda: Mask(()), repr=False)

    def text(self) -> str:
        """What it printed, fit to show: no escape sequences, no control characters, no secrets."""
        if not self.dropped:
            return self.mask.text(plain(self.head + self.tail))
        ends = self.mask.text(plain(self.head)), self.mask.text(plain(self.tail))
        return f"{ends[0]}\n… {self.dropped} bytes left out …\n{ends[1]}"

    def broken_off(self) -> str:
        """Why it did not come to its own end; "" when it did."""
        if self.cancelled:
            return "was cancelled"
        if self.timed_out:
            return "did not finish in time"
        if self.silent:
            return "printed nothing for too long"
        return f"was killed by signal {self.signal} ({signal.strsignal(self.signal)})" if self.signal else ""


def run(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    timeout: float,
    scratch: Path,
    key: str,
    cancelled: Callable[[], bool] = lambda: False,
    on_line: Callable[[str], None] | None = None,
    graces: tuple[float, float] = (5.0, 2.0),
    silence: float | None = None,
    limits: Limits | None = None,
    secrets: Sequence[str] = (),
    box: Box | None = None,
) -> Finished:
    """Run `argv` to its end, its timeout or its cancellation; one command at a time per key.

    `env` is added to the few variables that are passed on. Secrets belong in files, never in `argv`; the
    values of those that stand in `env` are given as `secrets` and never shown. `graces` are the seconds
    between SIGINT, SIGTERM and SIGKILL; `silence` is how long it may print nothing. In a `box`, it sees only
    what the box shows, and `env` is not passed on.
    """
    environment = _environment(env, key)
    if box is None:
        command = [*wrapper(), *_limited(limits), _program(argv[0], cwd, environment), *argv[1:]]
    else:
        command = [*dying(), *box.argv(), *argv]
    log = scratch / f"{Path(argv[0]).name}.log"
    if not boxed():
        sweep(key)
    began, mask = time.monotonic(), mask_of(secrets)
    with _new(log) as file, _started(command, cwd, environment, key) as (child, pipe):
        output = Output(pipe, file, on_line, mask)
        reason = _attend(child, output, lambda: _why(output, cancelled, began + timeout, silence), graces)
        _end(child, key)
        output.drain()
    return Finished(
        returncode=child.returncode,
        signal=_signal(child.returncode),
        timed_out=reason == "timeout",
        cancelled=reason == "cancel",
        silent=reason == "silence",
        head=bytes(output.head),
        tail=output.end,
        dropped=output.dropped,
        log=log,
        seconds=time.monotonic() - began,
        mask=mask,
    )


def _new(log: Path) -> BinaryIO:
    """A file of our own; what an earlier command may have left in its place is not written to."""
    log.unlink(missing_ok=True)
    return open(log, "xb", opener=private_opener)


@functools.cache
def wrapper() -> tuple[str, ...]:
    """The strictest way this machine permits to keep a command's children together."""
    way = next(way for way in WRAPPERS if _works(way))
    return tuple(shutil.which(word) or word for word in way)  # the command's own PATH may lack them


@functools.cache
def dying() -> tuple[str, ...]:
    """A box holds its own children together; all it needs is to end with the engine."""
    return next((way for way in (END, ()) if _works(way)), ())


def boxed() -> bool:
    """Whether commands run in a PID namespace of their own, which nothing can leave."""
    return "--pid" in wrapper()


def _works(way: tuple[str, ...]) -> bool:
    with suppress(OSError):
        return subprocess.run([*way, "true"], capture_output=True, check=False).returncode == 0  # noqa: S603 # constants
    return False


def _environment(extra: Mapping[str, str], key: str) -> dict[str, str]:
    passed = {name: value for name, value in os.environ.items() if ALLOWED.fullmatch(name)}
    return {"PATH": os.defpath, **passed, **extra, **marks(key)}


def _limited(limits: Limits | None) -> list[str]:
    """The words that lower what the command may use. They come after the box: it counts for itself."""
    prlimit = shutil.which("prlimit")
    if prlimit is None:
        return []
    if limits is None:
        return [prlimit, "--core=0", "--"]
    # Memory is what can be written to: V8 and Go reserve far more addresses than they ever use.
    wanted = {
        "data": (resource.RLIMIT_DATA, limits.memory_mb << 20),
        "fsize": (resource.RLIMIT_FSIZE, limits.file_mb << 20),
        "nproc": (resource.RLIMIT_NPROC, limits.processes),
    }
    return [prlimit, "--core=0", *(f"--{name}={_least(*pair)}" for name, pair in wanted.items()), "--"]


def _least(kind: int, wanted: int) -> int:
    hard = resource.getrlimit(kind)[1]  # only root could raise it
    return wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)


def find(name: str, cwd: Path, extra: Mapping[str, str]) -> str:
    """Where a command would find this program; it says why it cannot."""
    return _program(name, cwd, _environment(extra, ""))


def _program(name: str, cwd: Path, environment: Mapping[str, str]) -> str:
    if not cwd.is_dir():
        raise Permanent(f"The directory {cwd} does not exist; nothing was run.")
    found = shutil.which(str(cwd.absolute() / name) if "/" in name else name, path=environment["PATH"])
    if found is None:
        raise Permanent(f"The program '{name}' is not installed where the workers run; nothing was run.")
    return found


@contextmanager
def _started(
    command: list[str], cwd: Path, environment: dict[str, str], key: str
) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    child = subprocess.Popen(  # noqa: S603 # argv, never a shell; the words come from the operator's inventory
        command,
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    assert child.stdout is not None  # noqa: S101 # for the type checker: it is a pipe
    with child.stdout:
        try:
            yield child, child.stdout.fileno()
        finally:
            _end(child, key)


def _why(output: Output, cancelled: Callable[[], bool], deadline: float, silence: float | None) -> str:
    """The reason to end a command now, or ""."""
    if cancelled():
        return "cancel"
    now = time.monotonic()
    if now >= deadline:
        return "timeout"
    return "silence" if silence is not None and now - output.heard >= silence else ""


def _attend(
    child: subprocess.Popen[bytes], output: Output, why: Callable[[], str], graces: tuple[float, float]
) -> str:
    """Read until the child ends; once there is a reason to end it, signal it, harder each time."""
    reason, due = "", time.monotonic() + SETTLE
    steps = [(signal.SIGINT, graces[0]), (signal.SIGTERM, graces[1]), (signal.SIGKILL, PATIENCE)]
    while child.poll() is None:
        reason = reason or why()
        if reason and time.monotonic() >= due:
            if not steps:
                raise Permanent(f"Process {child.pid} survives SIGKILL; it may still be at work.")
            number, grace = steps.pop(0)
            due = time.monotonic() + grace
            _signal_group(child.pid, number)
        _wait(child, output)
    return reason


def _wait(child: subprocess.Popen[bytes], output: Output) -> None:
    output.wait(POLL)
    if not output.open:
        with suppress(subprocess.TimeoutExpired):  # it closed its output and works on
            child.wait(POLL)


def _end(child: subprocess.Popen[bytes], key: str) -> None:
    """Leave nothing behind; a second call finds nothing to do."""
    if child.poll() is None or not boxed():
        _signal_group(child.pid, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):
        child.wait(PATIENCE)
    # A namespace that ended by itself is empty; one that was killed takes a moment to be.
    if not boxed() or child.returncode in (None, -signal.SIGKILL):
        sweep(key)


def _signal_group(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(group, number)


def _signal(returncode: int) -> int | None:
    if returncode < 0:
        return -returncode
    return returncode - 128 if 128 < returncode < 128 + signal.NSIG else None  # as a shell tells it
