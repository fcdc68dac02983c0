"""Keep sibling processes running: each is started, watched and restarted alone."""

import logging
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path

from storage.errors import BadConfig
from storage.private_files import private_opener

logger = logging.getLogger(__name__)

# Every Python that we start: a folder that we happen to be started in may have a `workers` of its own.
PYTHON = (sys.executable, "-P")
PATIENCE = 15.0  # seconds to end by itself before it is killed; workers have SIGNOFF_DRAIN besides
GOOD = 60.0  # seconds after which a run counts as a good one, and earlier falls are forgotten
LOOK = 5.0  # seconds between two looks at a child's health
UNWELL = 60.0  # seconds in which it may say so, or say nothing, before it is started anew
STARTING = (
    240.0  # the same, before it has lived at all: it may wait for the database, for Slack, for the machine
)


def lives(url: str) -> bool:
    """Whether a process says that it lives and that its loops turn. One that is stopped says nothing."""
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:  # noqa: S310 # our own, on this machine
            return bool(answer.status == 200)
    except (OSError, HTTPException):
        return False


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
    patience: float = PATIENCE
    health: str = ""  # the address where it says whether it lives
    started_at: float = 0.0
    well_at: float = 0.0  # when it was last known to live
    lived: bool = False  # since it was last started
    looked_at: float = 0.0
    renewing: bool = False  # told to end when it can, and to be started at once

    def start(self) -> None:
        out = open(self.log, "ab", opener=private_opener) if self.log else None  # noqa: SIM115 # closed below
        self.process = subprocess.Popen(  # noqa: S603 # our own modules, no shell
            [*PYTHON, *self.argv], env=dict(self.env), stdout=out, stderr=out, stdin=subprocess.DEVNULL
        )
        if out:
            out.close()
        self.starts, self.lived = self.starts + 1, False
        self.started_at = self.well_at = self.looked_at = time.monotonic()

    def watch(self) -> None:
        """Start it if it does not run; wait a little longer each time it falls over."""
        if self.process and self.process.poll() is None:
            self._look()
            return
        if self.process and not self.not_before and not self.renewing:
            self._fell(self.process.returncode)
        if time.monotonic() >= self.not_before:
            self.not_before, self.renewing = 0.0, False
            self.start()

    def renew(self) -> None:
        """Have it end as soon as nothing of it runs any more; it is started anew at once."""
        if self.process and self.process.poll() is None:
            self.renewing = True
            self.process.send_signal(signal.SIGHUP)

    def _fell(self, code: int) -> None:
        if time.monotonic() - self.started_at > GOOD:
            self.starts = 1
        wait = min(30.0, 0.5 * 2 ** min(self.starts - 1, 6))
        where = f"; why stands in {self.log}" if self.log and code > 0 else ""
        logger.warning("%s ended with %s%s; again in %.1f s", self.name, code, where, wait)
        self.not_before = time.monotonic() + wait

    def _look(self) -> None:
        """Act on its health: who has not said for long that it lives is ended, and so started anew.

        Only on that. Where Slack, the model or the database is away, a new process would help nobody.
        """
        now = time.monotonic()
        if not self.health or now - self.looked_at < LOOK:
            return
        pause, self.looked_at = now - self.looked_at, now
        if lives(self.health):
            self.well_at, self.lived = now, True
        elif pause > 3 * LOOK:  # we stood still ourselves: nobody is to blame
            self.well_at = now
        elif now - self.well_at > (UNWELL if self.lived else STARTING):
            logger.error("%s does not live any more, and is started anew", self.name)
            self.end(PATIENCE)

    def end(self, patience: float) -> None:
        """Tell it to end; kill it when it does not."""
        if not self.process:
            return
        self.process.terminate()
        try:
            self.process.wait(max(0.1, patience))
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


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

    def renew(self) -> None:
        for child in self.children:
            child.renew()

    def kill(self, name: str) -> None:
        """SIGKILL, as a crash would: for the demo."""
        child = next(c for c in self.children if c.name == name)
        if child.process:
            child.process.kill()
            child.starts = 1

    def _end(self) -> None:
        """All at once, each in its own time."""
        living = [c for c in self.children if c.process and c.process.poll() is None]
        for child in reversed(living):
            if child.process:
                child.process.terminate()
        began = time.monotonic()
        for child in living:
            child.end(began + child.patience - time.monotonic())


# What the bot may see of the environment. Everything else may be a credential of the infrastructure.
BOTS = ("SLACK_", "ANTHROPIC_", "SIGNOFF_", "PYTHON", "LC_", "SSL_")
BOTS_ALONE = (
    "SLACK_",
    "ANTHROPIC_",
    "SIGNOFF_FACTOR_",
    "SIGNOFF_TOKEN",
    "SIGNOFF_HOOK_",
    "SIGNOFF_ONCALL_",
    "SIGNOFF_EVENTS_",
    "SIGNOFF_BOARD_",
)  # what the workers must not hold
PLAIN = {"PATH", "HOME", "LANG", "TZ", "TMPDIR", "VIRTUAL_ENV", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"}


def siblings(environ: Mapping[str, str]) -> list[Child]:
    """The processes of a real installation. None gets another's secrets."""
    parent = {"SIGNOFF_PARENT": str(os.getpid()), "PYTHONSAFEPATH": "1"}  # and what they start in turn
    bot = {k: v for k, v in environ.items() if k.startswith(BOTS) or k.upper() in PLAIN}
    of_workers = {k: v for k, v in environ.items() if not k.startswith(BOTS_ALONE)}
    host, port = environ.get("SIGNOFF_HEALTH_HOST", "127.0.0.1"), int(number(environ, "SIGNOFF_HEALTH_PORT"))
    drain = number(environ, "SIGNOFF_DRAIN", 30.0)

    def health(number: int) -> str:
        local = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 # where it listens
        return f"http://{f'[{local}]' if ':' in local else local}:{number}/healthz" if port else ""

    return [
        Child("bot", ("-m", "bot", "bot"), bot | parent, health=health(port)),
        Child(
            "workers",
            ("-m", "workers"),
            of_workers | parent,
            patience=drain + PATIENCE,
            health=health(port + 1),
        ),
        *boards(environ, parent),
    ]


def number(environ: Mapping[str, str], name: str, default: float = 0.0) -> float:
    """What the environment says there, which a person has typed."""
    try:
        return float(environ.get(name) or default)
    except ValueError:
        raise BadConfig(f"{name} is no number: {environ[name]!r}.") from None


# What the board may see: no word of Slack's but its own token, no model's, no second factor's.
BOARDS = ("SIGNOFF_", "PYTHON", "LC_", "SSL_", "SLACK_API_URL")
NOT_BOARDS = (
    "SIGNOFF_FACTOR_", "SIGNOFF_HEALTH_", "SIGNOFF_HTTP_", "SIGNOFF_TOKEN", "SIGNOFF_HOOK_",
    "SIGNOFF_ONCALL_", "SIGNOFF_EVENTS_",
)  # fmt: skip


def boards(environ: Mapping[str, str], parent: Mapping[str, str]) -> list[Child]:
    """The board, where one is wanted. Where it has a role of its own, it does not see the others' address."""
    port = int(number(environ, "SIGNOFF_BOARD_PORT"))
    if not port:
        return []
    env = {
        k: v
        for k, v in environ.items()
        if (k.startswith(BOARDS) or k.upper() in PLAIN) and not k.startswith(NOT_BOARDS)
    }
    if own := environ.get("SIGNOFF_BOARD_DATABASE_URL"):
        env["SIGNOFF_DATABASE_URL"] = own
    host = environ.get("SIGNOFF_BOARD_HOST") or "127.0.0.1"
    local = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 # where it listens
    lives = f"http://{f'[{local}]' if ':' in local else local}:{port}/healthz"
    return [Child("board", ("-m", "bot", "board"), env | dict(parent), health=lives)]


def with_health(environ: Mapping[str, str]) -> dict[str, str]:
    """The same with a port for health, on loopback, where none is given: somebody must be able to ask."""
    if number(environ, "SIGNOFF_HEALTH_PORT"):
        return dict(environ)
    return dict(environ) | {"SIGNOFF_HEALTH_PORT": str(two_free_ports()), "SIGNOFF_HEALTH_HOST": "127.0.0.1"}


def two_free_ports() -> int:
    """A port that is free, as is the next one."""
    while True:
        with socket.create_server(("127.0.0.1", 0)) as first:
            port: int = first.getsockname()[1]
            with suppress(OSError, OverflowError), socket.create_server(("127.0.0.1", port + 1)):
                return port
