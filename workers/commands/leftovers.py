"""Ending what a command left behind: a child can leave its group, but it keeps its environment."""

import os
import re
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

KEY = "SIGNOFF_STEP_KEY"  # which step a process works for
ENGINE = "SIGNOFF_ENGINE"  # which engine started it
NAMED = re.compile(r"(\S+) (\d+) (\d*)")
PATIENCE = 10.0  # with what SIGKILL was sent to


def marks(key: str) -> dict[str, str]:
    """The variables that every child of a command carries."""
    return {KEY: key, ENGINE: engine()}


def engine() -> str:
    """This process, told apart from any other: in another container, or later with the same number."""
    return f"{_namespace()} {os.getpid()} {_born(os.getpid())}"


def sweep(key: str) -> int:
    """End what works for this step: ours, or a gone engine's. Another installation may use the same key."""
    here = engine()
    return _end(lambda found: found.get(KEY) == key and (found.get(ENGINE) == here or _abandoned(found)))


def sweep_leftovers() -> int:
    """End what gone engines left running; how many processes that were. Other engines' work is left alone."""
    return _end(lambda found: KEY in found and _abandoned(found))


def gone(said: str) -> bool:
    """Whether the engine that said this of itself lives no more."""
    return _abandoned({ENGINE: said})


def working(key: str) -> list[int]:
    """The processes that work for this step."""
    return [pid for pid in _pids() if _read(pid).get(KEY) == key]


def _end(wanted: Callable[[dict[str, str]], bool]) -> int:
    deadline, ended = time.monotonic() + PATIENCE, set[int]()
    while time.monotonic() < deadline:
        found = [pid for pid in _pids() if wanted(_read(pid))]
        if not found:
            break
        ended.update(found)
        for pid in found:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)
    return len(ended)


def _pids() -> list[int]:
    names = os.listdir("/proc") if os.path.isdir("/proc") else []
    return [int(name) for name in names if name.isdigit() and int(name) != os.getpid()]


def _read(pid: int) -> dict[str, str]:
    """The marks that a process carries."""
    with suppress(OSError):  # it ended meanwhile, or belongs to somebody else
        words = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        pairs = (os.fsdecode(word).partition("=") for word in words)
        return {name: value for name, _, value in pairs if name in (KEY, ENGINE)}
    return {}


def _abandoned(found: dict[str, str]) -> bool:
    """Whether the engine that started it is gone. Of one in another PID namespace nothing is known."""
    named = NAMED.fullmatch(found.get(ENGINE, ""))
    return named is not None and named[1] == _namespace() and _born(int(named[2])) != named[3]


def _namespace() -> str:
    with suppress(OSError):
        return os.readlink("/proc/self/ns/pid")
    return "-"


def _born(pid: int) -> str:
    """When a process started, in ticks since boot; "" when it is gone, or dead and only not yet buried."""
    with suppress(OSError):
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return "" if words[0] in "ZX" else words[19]
    return ""
