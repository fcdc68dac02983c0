"""The whole product in its own processes: the workspace, the bot, the workers, the practice cluster."""

import json
import os
import sys
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from bot.cli.supervise import Child, lives, siblings
from bot.demo.run import Demo
from bot.demo.seed import plant
from bot.local.client.person import Person
from bot.local.server import LocalSlack
from storage.intention import Intention
from storage.reading.plan_view import PlanView
from tests.support.ports import ports

DEPLOY = "/plan deploy auth-service v2.1.4 to production"
PATIENCE = 90.0  # seconds for what takes a few on a machine that is not busy
STARTING = 120.0  # seconds that processes have to come up, on a machine that has more to do
WITNESS = Path(__file__).parent / "witness"


def witnessed(config: str) -> str:
    """The configuration with the witness among the workers, and with its runbooks."""
    named = config.replace("workers = [", 'workers = ["witness", ', 1)
    assert named != config
    return named.replace("runbooks = [", f'runbooks = ["{WITNESS}", ')


def environment(home: Path, **more: str) -> dict[str, str]:
    """What a command is started with: this machine's environment, and nothing of another installation."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SLACK_", "SIGNOFF_"))}
    ours = {"SIGNOFF_STATE": str(home), "SIGNOFF_CONFIG": str(home / "signoff.toml")}
    return kept | ours | more


def bot_process(home: Path, slack: LocalSlack) -> Child:
    """A bot alone, for this workspace, with its state and its signoff.toml in `home`. It is not started."""
    kept = {k: v for k, v in os.environ.items() if "proxy" not in k.lower() and "ANTHROPIC" not in k}
    env = kept | {
        "SIGNOFF_STATE": str(home), "SIGNOFF_CONFIG": str(home / "signoff.toml"),
        "SLACK_BOT_TOKEN": slack.bot_token, "SLACK_APP_TOKEN": slack.app_token,
        "SLACK_API_URL": slack.api_url, "SIGNOFF_LOG_LEVEL": "ERROR",
    }  # fmt: skip
    return siblings(env)[0]


class World:
    """A demo without its terminal. `ann` asks; `bob` and `carol` may approve; `gus` is a guest."""

    def __init__(
        self, home: Path, *, database_url: str = "", config: Callable[[str], str] = str, board: bool = False
    ) -> None:
        seed = plant(home, ports(4))
        path = home / "signoff.toml"
        path.write_text(config(path.read_text()))
        self.demo = Demo(home, seed, database_url)
        if not board:  # a process less to wait for
            left = [child for child in self.demo.supervisor.children if child.name != "board"]
            self.demo.supervisor.children = left
        self.home = home
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="supervisor")

    def __enter__(self) -> Self:
        self.demo.slack.start()
        self._thread.start()
        self.workspace = self.demo.slack.client(patience=PATIENCE)
        try:
            self.demo.slack.client(patience=STARTING).wait_for_bot()
            self._wait_for_board()
        except AssertionError:
            self.__exit__(*sys.exc_info())
            raise
        self.ann, self.bob, self.carol, self.gus = map(
            self.workspace.person, ("U0ANN", "U0BOB", "U0CAROL", "U0GUS")
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()
        self.demo.slack.stop()
        self.store.engine.dispose()
        for log in sorted(self.home.glob("*.log")) if kind else ():
            sys.stderr.write(f"--- {log.name}\n{log.read_text(errors='replace')[-4000:]}\n")

    def _wait_for_board(self) -> None:
        """If there is one."""
        board = next((child for child in self.demo.supervisor.children if child.name == "board"), None)
        end = time.monotonic() + STARTING
        while board and not lives(board.health):
            assert time.monotonic() < end, "waited for the board"
            time.sleep(0.05)

    @property
    def store(self) -> Intention:
        return self.demo.store

    def use(self, env: Mapping[str, str], *, only: str = "") -> None:
        """Give the bot and the workers, or only one of them, more environment, before they start."""
        for child in self.demo.supervisor.children:
            if only in {"", child.name}:
                child.env = {**child.env, **env}

    def kill(self, name: str) -> None:
        """SIGKILL now; the supervisor starts it again."""
        self.demo.supervisor.kill(name)

    def pid(self, name: str) -> int:
        child = next(c for c in self.demo.supervisor.children if c.name == name)
        return child.process.pid if child.process else 0

    def asks(self, text: str, person: Person | None = None) -> None:
        assert (person or self.ann).says(text).acked

    def plan(self) -> PlanView:
        """The newest plan."""
        return self.store.recent(1)[0]

    def until(self, look: Callable[[PlanView], object], what: str, patience: float = PATIENCE) -> PlanView:
        """Wait until the newest plan looks so."""
        end = time.monotonic() + patience
        while time.monotonic() < end:
            if (found := self.store.recent(1)) and look(found[0]):
                return found[0]
            time.sleep(0.01)
        raise AssertionError(
            f"waited {patience:g} s for {what}: {self.store.recent(1)}\n{self.workspace.dump()}"
        )

    def ends(self, patience: float = PATIENCE) -> PlanView:
        return self.until(lambda plan: plan.state == "done", "the end of the plan", patience)

    def thread(self) -> list[str]:
        """The texts of the newest plan's thread, without the card."""
        replies = self.workspace.thread(self.plan().card)
        return [reply["text"] for reply in replies if reply["ts"] != self.plan().card]

    def told(self) -> list[str]:
        """Line by line, whichever stand in one message; of a file, nothing."""
        return [line for text in self.thread() for line in text.splitlines() or [""]]

    def _watch(self) -> None:
        children = self.demo.supervisor.children
        while not self._over.is_set():
            for child in children:
                child.watch()
            time.sleep(0.02)
        for child in children:
            if child.process:
                child.process.kill()
                child.process.wait()


def with_witness(home: Path, **options: Any) -> World:
    """A world whose workers include the witness."""
    world = World(home, config=witnessed, **options)
    world.use({"PYTHONPATH": str(WITNESS), "WITNESS_PLACE": str(home)})
    return world


def live_version(world: World) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{world.demo.seed.practice}/version", timeout=5) as answer:
        return str(json.load(answer)["version"])


def hold(world: World, point: str, name: str) -> Path:
    gate = world.home / f"hold-{point}-{name}"
    gate.touch()
    return gate


def effects(world: World) -> Counter[str]:
    path = world.home / "lines"
    return Counter(path.read_text().splitlines() if path.exists() else [])
