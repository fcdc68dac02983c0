"""Run one command for a worker: nothing of it outlives its end, its timeout or the engine."""

import functools
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from workers.base import Permanent
from workers.output import Output, plain

KEY = "SIGNOFF_STEP_KEY"
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
PATIENCE = 10.0  # with what SIGKILL was sent to


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

    def text(self) -> str:
        """What it printed, fit to show: no escape sequences, no control characters."""
        if not self.dropped:
            return plain(self.head + self.tail)
        return f"{plain(self.head)}\n… {self.dropped} bytes left out …\n{plain(self.tail)}"


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
) -> Finished:
    """Run `argv` to its end, its timeout or its cancellation; one command at a time per key.

    `env` is added to the few variables that are passed on. Secrets belong in files, never in `argv`.
    `graces` are the seconds between SIGINT, SIGTERM and SIGKILL.
    """
    environment = _environment(env, key)
    command = [*wrapper(), _program(argv[0], cwd, environment), *argv[1:]]
    log = scratch / f"{Path(argv[0]).name}.log"
    if not boxed():
        _sweep(key)
    began = time.monotonic()
    with log.open("wb") as file, _started(command, cwd, environment, key) as (child, pipe):
        output = Output(pipe, file, on_line)
        reason = _attend(child, output, began + timeout, cancelled, graces)
        _end(child, key)
        output.drain()
    return Finished(
        returncode=child.returncode,
        signal=_signal(child.returncode),
        timed_out=reason == "timeout",
        cancelled=reason == "cancel",
        head=bytes(output.head),
        tail=output.end,
        dropped=output.dropped,
        log=log,
        seconds=time.monotonic() - began,
    )


@functools.cache
def wrapper() -> tuple[str, ...]:
    """The strictest way this machine permits to keep a command's children together."""
    way = next(way for way in WRAPPERS if _works(way))
    return tuple(shutil.which(word) or word for word in way)  # the command's own PATH may lack them


def boxed() -> bool:
    """Whether commands run in a PID namespace of their own, which nothing can leave."""
    return "--pid" in wrapper()


def _works(way: tuple[str, ...]) -> bool:
    with suppress(OSError):
        return subprocess.run([*way, "true"], capture_output=True, check=False).returncode == 0  # noqa: S603 # constants
    return False


def _environment(extra: Mapping[str, str], key: str) -> dict[str, str]:
    passed = {name: value for name, value in os.environ.items() if ALLOWED.fullmatch(name)}
    return {"PATH": os.defpath, **passed, **extra, KEY: key}


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


def _attend(
    child: subprocess.Popen[bytes],
    output: Output,
    deadline: float,
    cancelled: Callable[[], bool],
    graces: tuple[float, float],
) -> str:
    """Read until the child ends; past the deadline or when cancelled, signal it, harder each time."""
    reason = ""
    steps = [(signal.SIGINT, graces[0]), (signal.SIGTERM, graces[1]), (signal.SIGKILL, PATIENCE)]
    while child.poll() is None:
        if not reason and cancelled():
            reason, deadline = "cancel", 0.0
        if time.monotonic() >= deadline:
            if not steps:
                raise Permanent(f"Process {child.pid} survives SIGKILL; it may still be at work.")
            number, grace = steps.pop(0)
            reason, deadline = reason or "timeout", time.monotonic() + grace
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
        _sweep(key)


def _signal_group(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(group, number)


def _sweep(key: str) -> None:
    """A child can leave its group, but it keeps its environment."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        found = [pid for pid in _pids() if _carries(pid, key)]
        if not found:
            return
        for pid in found:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def _pids() -> list[int]:
    names = os.listdir("/proc") if os.path.isdir("/proc") else []
    return [int(name) for name in names if name.isdigit() and int(name) != os.getpid()]


def _carries(pid: int, key: str) -> bool:
    with suppress(OSError):  # it ended meanwhile, or belongs to somebody else
        return f"{KEY}={key}".encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return False


def _signal(returncode: int) -> int | None:
    if returncode < 0:
        return -returncode
    return returncode - 128 if 128 < returncode < 128 + signal.NSIG else None  # as a shell tells it
