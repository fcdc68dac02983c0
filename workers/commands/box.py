"""The box: a command that nobody trusts sees one folder of ours, and no network, secret or other process."""

import functools
import shutil
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from workers.base import Permanent

ALONE = (
    "--unshare-user",
    "--disable-userns",
    "--uid",
    "65534",
    "--gid",
    "65534",
    "--unshare-ipc",
    "--unshare-pid",
    "--unshare-uts",
    "--unshare-net",
    "--unshare-cgroup-try",
    "--die-with-parent",
    "--new-session",
    "--cap-drop",
    "ALL",
    "--clearenv",
)
# The order counts: what is mounted later hides what was mounted there before.
SYSTEM = ("--ro-bind", "/usr", "/usr", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp")  # noqa: S108 # inside
LIBRARIES = ("bin", "sbin", "lib", "lib64")
FILES = ("/etc/ld.so.cache", "/etc/alternatives")
USUAL = {"PATH": "/usr/bin:/bin", "HOME": "/tmp", "LANG": "C.UTF-8"}  # noqa: S108 # inside
BOUNDS = ("--core=0", "--nproc=256", "--data=2147483648", "--fsize=104857600", "--nofile=512", "--cpu=600")
NONE = "no box: coding agents are off, since this machine offers no namespaces (is bubblewrap installed?)"
FULL = "boxed (namespaces)"


@dataclass(frozen=True)
class Box:
    """What a boxed command may write to, and what else it sees."""

    write: Path
    read: tuple[Path, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)

    def argv(self) -> list[str]:
        """The words that go before the command."""
        place, words = str(self.write.absolute()), [_bwrap(), *ALONE, *SYSTEM]
        for name in LIBRARIES:
            real = Path("/", name)
            words += (
                ["--symlink", f"usr/{name}", f"/{name}"]
                if real.is_symlink()
                else ["--ro-bind-try", f"/{name}", f"/{name}"]
            )
        for seen in (*FILES, *map(str, self.read)):
            words += ["--ro-bind-try", seen, seen]
        words += ["--bind", place, place, "--chdir", place]
        for name, value in (USUAL | {**self.env}).items():
            words += ["--setenv", name, value]
        return [*words, "--", "/usr/bin/prlimit", *BOUNDS, "--"]


@functools.cache
def kind() -> Literal["full", "none"]:
    """What this machine offers, found out by trying it once."""
    bwrap = shutil.which("bwrap")
    with suppress(OSError):
        words = [bwrap or "bwrap", *ALONE, "--ro-bind", "/", "/", "--", "true"]
        tried = subprocess.run(words, capture_output=True, check=False)  # noqa: S603 # constants
        return "full" if tried.returncode == 0 else "none"
    return "none"


def said() -> str:
    """How doctor and cards call it."""
    return FULL if kind() == "full" else NONE


def brief() -> str:
    """The same beside a button; “!” marks what to look at."""
    return FULL if kind() == "full" else "!no box: agents are off"


def demand() -> None:
    """Permanent where there is no box: nothing of an agent runs without one."""
    if kind() == "none":
        raise Permanent(f"{NONE[0].upper()}{NONE[1:]}. Nothing was run.")


def interpreter() -> tuple[Path, ...]:
    """Where this Python lives, for a box whose command is Python, too."""
    return tuple(dict.fromkeys(map(Path, (sys.base_prefix, sys.prefix))))


def _bwrap() -> str:
    return shutil.which("bwrap") or "bwrap"
