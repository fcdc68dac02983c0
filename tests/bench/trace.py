"""python -m tests.bench.trace: how much of the code one request walks through: part files functions.

`/plan deploy auth-service v2.1.4 to production`, over a real workspace and the practice cluster. `bot` is
everything from these words to the card and the click on Approve; `workers_and_outbox` is previews, claims,
attempts, reports and what the outbox says about them, up to the report of the last step. The local workspace
and what the workers themselves do (tests, a backup, a deployment) are not counted.

A function counts once, by its file and its name. Until Python 3.11 a comprehension is a function of its own:
only figures of the same version can be compared.
"""

import inspect
import subprocess
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import CodeType, FrameType

from slack_sdk import WebClient

from bot.demo.run import CHANNELS, GROUPS, MEMBERS, SUGGESTIONS
from bot.demo.seed import plant
from bot.local.client.person import WorkspaceClient
from bot.local.server import LocalSlack
from bot.process import make_bot
from bot.slack.app import build
from bot.slack.posting import PAUSE
from bot.turns.rounds import tend
from storage.clock import wall
from storage.config import read_config
from storage.contract.states import PlanState
from storage.database.engine import migrate, open_engine
from storage.execution import Execution
from storage.intention import Intention
from storage.reading.plan_view import PlanView
from tests.support.fakes import FakeClock, show_previews, work
from tests.support.local_kit import connected
from tests.support.places import ROOT
from tests.support.ports import ports
from tests.support.room import handle_all, think
from workers.engine.attempt import Attempts
from workers.registry import load

COUNTED = ("bot/", "workers/", "storage/")
NOT_COUNTED = ("bot/local/", "workers/builtin/", "workers/commands/", "workers/practice/")
BOT, WORKERS = "bot", "workers_and_outbox"


@cache
def place(file: str) -> str:
    """Where a file that counts lies, from the root of the project; "" for all others."""
    path = file.removeprefix(f"{ROOT}/")
    return path if path.startswith(COUNTED) and not path.startswith(NOT_COUNTED) else ""


def is_function(code: CodeType) -> bool:
    """The bodies of modules and classes are imported, not called."""
    return bool(code.co_flags & inspect.CO_OPTIMIZED)


@dataclass
class Trace:
    """What was called, in each part of the walk. Nothing is noted while `part` is empty."""

    part: str = ""
    seen: dict[str, set[tuple[str, str]]] = field(default_factory=lambda: defaultdict(set))

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if event == "call" and self.part and is_function(code) and (file := place(code.co_filename)):
            self.seen[self.part].add((file, code.co_qualname))

    def line(self, part: str) -> str:
        files = {file for file, _ in self.seen[part]}
        return f"{part} {len(files)} {len(self.seen[part])}\n"


@contextmanager
def practice(home: Path, port: int) -> Iterator[None]:
    """The practice cluster in a process of its own, ready to be asked."""
    options = ["--port", str(port), "--state", str(home / "practice.json"), "--seed", "auth-service=v2.1.3"]
    command = [sys.executable, "-m", "workers.practice", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as server:
        assert server.stdout
        server.stdout.readline()  # its address: it listens
        try:
            yield
        finally:
            server.kill()


@dataclass
class Walk:
    """The whole product, each part of it called when its turn comes; the clock is moved by hand."""

    home: Path
    slack: LocalSlack
    trace: Trace
    clock: FakeClock = field(default_factory=lambda: FakeClock(wall()))

    def __post_init__(self) -> None:
        engine, config = open_engine(f"sqlite:///{self.home / 'signoff.db'}"), self.home / "signoff.toml"
        migrate(engine)
        self.store, hands = Intention(engine, self.clock), Execution(engine, self.clock)
        self.attempts = Attempts(hands, load(read_config(config)), "workers", self.home / "attempts")
        hands.alive("workers", "workers", "0")
        hands.publish(self.attempts.registry.contracts())
        self.client = WebClient(token=self.slack.bot_token, base_url=self.slack.api_url, retry_handlers=[])
        self.bot, self.outbox = make_bot(self.store, self.client, read_config(config))

    @contextmanager
    def tracing(self, part: str) -> Iterator[None]:
        self.trace.part = part
        yield
        self.trace.part = ""

    def run(self, people: WorkspaceClient) -> None:
        with self.tracing(BOT):
            people.person("U0ANN").says(SUGGESTIONS[0])
            self.hear()
        with self.tracing(WORKERS):
            show_previews(self.attempts)
        with self.tracing(BOT):
            self.speak()
            bob = people.person("U0BOB")
            bob.clicks(bob.button("approve", message=self.view().card))
            self.hear()
        while self.view().state != PlanState.done:
            self.go_on()

    def hear(self) -> None:
        """What the bot does by itself after somebody did something: handle, think, draw."""
        handle_all(self.bot)
        tend(self.bot)
        think(self.bot)
        self.speak()

    def go_on(self) -> None:
        """Whatever may run, runs and is told."""
        with self.tracing(WORKERS):
            started = work(self.attempts)
            assert started, f"nothing runs any more: {self.view()}"
            if self.view().state != PlanState.done:
                self.speak()
        with self.tracing(BOT):
            tend(self.bot)
            think(self.bot)

    def speak(self) -> None:
        self.clock.advance(PAUSE.total_seconds())
        self.outbox.speak()

    def view(self) -> PlanView:
        return self.store.recent(1)[0]


def main() -> None:
    trace = Trace()
    with tempfile.TemporaryDirectory(prefix="signoff-trace-") as folder:
        seed = plant(Path(folder), ports(4))
        slack = LocalSlack(members=MEMBERS, channels=CHANNELS, groups=GROUPS)
        with practice(Path(folder), seed.practice), slack:
            walk = Walk(Path(folder), slack, trace)
            threading.setprofile(trace)
            sys.setprofile(trace)
            with connected(slack, build(walk.client, walk.bot)):
                walk.run(slack.client())
            threading.setprofile(None)
            sys.setprofile(None)
    sys.stdout.writelines(trace.line(part) for part in (BOT, WORKERS))


if __name__ == "__main__":
    main()
