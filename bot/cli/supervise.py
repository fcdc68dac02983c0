"""Keep sibling processes running: each is started, watched and restarted alone."""

import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from storage.private_files import private_opener

logger = logging.getLogger(__name__)

# Every Python that we start: a folder that we happen to be started in may have a `workers` of its own.
PYTHON = (sys.executable, "-P")
PATIENCE = 15.0  # seconds to end by itself before it is killed


@dataclass
class Child:
    """One process, and what it takes to start it again."""

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    log: Path | None = None
    process: subprocess.Popen[bytes] | None = None
    starts: int = 0
    not_before: float = 0.0

    def start(self) -> None:
        out = open(self.log, "ab", opener=private_opener) if self.log else None  # noqa: SIM115 # closed below
        self.process = subprocess.Popen(  # noqa: S603 # our own modules, no shell
            [*PYTHON, *self.argv], env=dict(self.env), stdout=out, stderr=out, stdin=subprocess.DEVNULL
        )
        if out:
            out.close()
        self.starts += 1

    def watch(self) -> None:
        """Start it if it does not run; wait a little longer each time it falls over."""
        if self.process and self.process.poll() is None:
            return
        if self.process and not self.not_before:
            wait = min(30.0, 0.5 * 2 ** min(self.starts - 1, 6))
            where = f"; why stands in {self.log}" if self.log and self.process.returncode > 0 else ""
            logger.warning(
                "%s ended with %s%s; again in %.1f s", self.name, self.process.returncode, where, wait
            )
            self.not_before = time.monotonic() + wait
        if time.monotonic() >= self.not_before:
            self.not_before = 0.0
            self.start()


@dataclass
class Supervisor:
    """The children, in the order they start."""

    children: list[Child] = field(default_factory=list)
    stopping: bool = False

    def run(self, meanwhile: Callable[[], None] = lambda: None) -> int:
        """Until SIGINT or SIGTERM. `meanwhile` is called between looks."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self.stop())
        while not self.stopping:
            for child in self.children:
                child.watch()
            meanwhile()
            time.sleep(0.1)
        self._end()
        return 0

    def stop(self) -> None:
        self.stopping = True

    def kill(self, name: str) -> None:
        """SIGKILL, as a crash would: for the demo."""
        child = next(c for c in self.children if c.name == name)
        if child.process:
            child.process.kill()
            child.starts = 1

    def _end(self) -> None:
        living = [c.process for c in self.children if c.process and c.process.poll() is None]
        for process in reversed(living):
            process.terminate()
        until = time.monotonic() + PATIENCE
        for process in living:
            try:
                process.wait(max(0.1, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


# What the bot may see of the environment. Everything else may be a credential of the infrastructure.
BOTS = ("SLACK_", "ANTHROPIC_", "SIGNOFF_", "PYTHON", "LC_", "SSL_")
BOTS_ALONE = ("SLACK_", "ANTHROPIC_", "SIGNOFF_FACTOR_")  # what the workers must not hold
PLAIN = {"PATH", "HOME", "LANG", "TZ", "TMPDIR", "VIRTUAL_ENV", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"}


def siblings(environ: Mapping[str, str]) -> list[Child]:
    """The two processes of a real installation. Neither gets the other's secrets."""
    parent = {"SIGNOFF_PARENT": str(os.getpid()), "PYTHONSAFEPATH": "1"}  # and what they start in turn
    bot = {k: v for k, v in environ.items() if k.startswith(BOTS) or k.upper() in PLAIN}
    of_workers = {k: v for k, v in environ.items() if not k.startswith(BOTS_ALONE)}
    return [
        Child("bot", ("-m", "bot", "bot"), bot | parent),
        Child("workers", ("-m", "workers"), of_workers | parent),
    ]
