"""`signoff demo`: starts the workspace, the bot, the workers and a practice cluster; prints one address."""

import fcntl
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from datetime import datetime, timedelta
from pathlib import Path
from threading import Thread
from types import MappingProxyType
from typing import IO

from bot.cli.supervise import Child, Supervisor, siblings
from bot.demo.leap import leap
from bot.demo.manifest import installed
from bot.demo.player import Player
from bot.demo.seed import Seed, break_tests, name_stand_in, plant, tests_broken
from bot.demo.stage import PATIENCE, Stage
from bot.demo.stand_in_api import KEY
from bot.demo.stand_in_api import serving as stand_in
from bot.demo.stories import approver_left, founding, lying_planner, tampered_plan, yesterday
from bot.local.server import LocalSlack
from bot.local.shapes import TEAM_ID, Channel, Control, Group, Json, Member
from bot.tickets import Tickets, kept_key
from bot.times.when import resolve
from storage.clock import jump, jumping, wall
from storage.config import local
from storage.contract.states import StepState
from storage.database.engine import migrate, open_engine
from storage.errors import BadConfig
from storage.exchange.tokens import Grant, new_secret
from storage.extras import missing
from storage.intention import Intention
from storage.private_files import private_directory

NO_MODEL: Mapping[str, str] = MappingProxyType({})
ZONE = "America/New_York"
MEMBERS = (
    Member("U0ANN", "ann", "Ann Archer"),
    Member("U0BOB", "bob", "Bob Baker"),
    Member("U0CAROL", "carol", "Carol Cole", is_admin=True),
    Member("U0GUS", "gus", "Gus Guest", is_restricted=True),
    Member("U0EVE", "eve", "Eve External", team_id="T0PARTNER"),
)
CHANNELS = (
    Channel("C0OPS", "ops", "Changes to production"),
    Channel("C0PARTNER", "partner-shop", "Shared with the people of another company", is_ext_shared=True),
)
GROUPS = (Group("S0ONCALL", "on-call", "On call", ("U0BOB", "U0CAROL")),)
SUGGESTIONS = (
    "/plan deploy auth-service v2.1.4 to production",
    "/plan run the full tests on staging",
    "/plan back up auth_prod tonight at 2am ET",
    "/plan promote auth-service v2.1.5 to production",
    "/plan summarise /errors from metrics",
    "/plan epic in shop: write all prices, by plan prices",
    "/plan help",
)
GUIDE = (
    "*Try this:* as Ann, send the first suggestion. Ann asked, so she may not approve: act as <@U0BOB> or "
    "<@U0CAROL>. As Bob, *Edit* the deploy to `2AM ET`, make the revision, then *Approve* it. The tests and "
    "the backup run at once; the deploy waits. *Jump to 02:00* and watch the practice service change."
)


class Demo:
    """The processes of the demo and its controls."""

    def __init__(
        self, home: Path, seed: Seed, database_url: str = "", model: Mapping[str, str] = NO_MODEL
    ) -> None:
        self.home, self.seed, self.model = home, seed, model
        self.database_url = database_url or f"sqlite:///{home / 'signoff.db'}"
        self.clock_file = home / "clock"
        self.now = jumping(self.clock_file)
        engine = open_engine(self.database_url)
        migrate(engine)
        self.store = Intention(engine, self.now)
        self.slack = LocalSlack(
            members=MEMBERS, channels=CHANNELS, groups=GROUPS, **installed(),
            path=home / "workspace.db", port=seed.port, token=seed.token, title="Signoff demo", guide=GUIDE,
            suggestions=SUGGESTIONS, controls=self.controls(), clock=lambda: self.now().timestamp(),
        )  # fmt: skip
        self.supervisor = Supervisor(self.children())
        self.player = Player(Stage(self.store, lambda: self.slack.client(patience=PATIENCE)))
        self.played = 0

    def token(self) -> Path:
        """A token of Ann's for machines, in a file that only its owner reads."""
        path = self.home / "machine-token"
        if not path.exists():
            secret = new_secret()
            grant = Grant(TEAM_ID, "demo", "U0ANN", ("C0OPS",))
            until = self.now() + timedelta(days=366)
            self.store.add_token(grant, secret, expires_at=until, actor="demo")
            path.touch(mode=0o600)
            path.write_text(secret)
        return path

    def controls(self) -> list[Control]:
        return [
            Control("play", "Play the story", "button", "Ask, edit, approve, wait, done: about a minute.",
                    lambda on: self.play(self._founding), self._playing, lead=True),
            Control("lie", "A planner that lies", "button", "Its plan is called tests, and deploys.",
                    lambda on: self.play(lying_planner), self._playing),
            Control("tamper", "A tampered plan", "button", "Changed in the database after its approval.",
                    lambda on: self.play(lambda stage: tampered_plan(stage, self._jump)), self._playing),
            Control("leave", "An approver who left", "button", "Between the approval and the start.",
                    lambda on: self.play(lambda stage: approver_left(stage, self._jump)), self._playing),
            Control("jump", "Jump to 02:00", "button", "Moves the demo's clock for all processes.", self.jump,
                    self._jump_state),
            Control("break", "Failing tests", "switch", "Plants a real bug in the sample service.",
                    self.break_tests, lambda: {"on": tests_broken(self.home)}),
            Control("kill", "Kill the workers", "button", "SIGKILL; they are started again at once.",
                    lambda on: self._kill("workers")),
            Control("kill-bot", "Kill the bot", "button", "SIGKILL; it is started again at once.",
                    lambda on: self._kill("bot")),
            Control("board", "Open the board", "opens", "Signoff in the browser, as who you act as.",
                    opens=self.board),
            Control("practice", "The practice service", "link", "What the deploy changes.",
                    state=lambda: {"url": f"http://127.0.0.1:{self.seed.practice}/"}),
        ]  # fmt: skip

    def children(self) -> list[Child]:
        # Unless it was asked for a model, the demo spends no money and leaves this machine for nothing.
        kept = {k: v for k, v in os.environ.items() if "proxy" not in k.lower() and "ANTHROPIC" not in k}
        env = kept | {
            "SIGNOFF_STATE": str(self.home), "SIGNOFF_CONFIG": str(self.home / "signoff.toml"),
            "SIGNOFF_CLOCK": str(self.clock_file), "SIGNOFF_DATABASE_URL": self.database_url,
            "SLACK_BOT_TOKEN": self.slack.bot_token, "SLACK_APP_TOKEN": self.slack.app_token,
            "SLACK_API_URL": f"http://127.0.0.1:{self.seed.port}/api/",
            "SIGNOFF_HTTP_PORT": str(self.seed.doors), "SLACK_SIGNING_SECRET": "",
            **self.model,
            "SIGNOFF_BOARD_PORT": str(self.seed.board), "SIGNOFF_BOARD_TOKEN": self.slack.bot_token,
        }  # fmt: skip
        children = siblings(env)
        seeded = ("--port", str(self.seed.practice), "--state", str(self.home / "practice.json"),
                  "--seed", "auth-service=v2.1.3", "--shop", str(self.home / "shop"))  # fmt: skip
        cluster = Child(
            "practice",
            ("-m", "workers.practice", *seeded),
            {"PATH": os.environ.get("PATH", ""), "SIGNOFF_PARENT": str(os.getpid())},
        )
        for child in (cluster, *children):
            child.log = self.home / f"{child.name}.log"
        return [cluster, *children]

    def play(self, story: Callable[[Stage], None]) -> str:
        """One story at a time; what went wrong is said where the captions stand."""
        return self.player.start(story)

    def _founding(self, stage: Stage) -> None:
        self.played += 1
        founding(stage, f"v2.1.{3 + self.played}", self._jump)

    def _playing(self) -> Json:
        return {"disabled": self.player.playing}

    def _jump(self) -> str:
        return self.jump(True)

    def jump(self, on: bool) -> str:
        to = self._next_time()
        leap(self.store, self.clock_file, to + timedelta(seconds=1))
        return f"It is {local(to, ZONE):%A %H:%M} in New York now."

    def break_tests(self, on: bool) -> str:
        break_tests(self.home, on)
        return "The sample service has a bug now; its tests fail." if on else "The bug is gone."

    def board(self, user: str) -> str:
        """A link that lets this member into the board, once: what `/plan board` would whisper to them."""
        tickets = Tickets(f"http://127.0.0.1:{self.seed.board}", kept_key(self.home))
        visit = self.store.find_visit(self.store.invite_visit(team=TEAM_ID, user=user))
        return tickets.link(visit) if visit else tickets.address

    def _kill(self, name: str) -> str:
        self.supervisor.kill(name)
        return f"The {name} process was killed (SIGKILL) and starts again."

    def _jump_state(self) -> Json:
        there = local(self._next_time(), ZONE)
        clock = local(self.now(), ZONE)
        return {
            "label": f"Jump to {there:%H:%M}",
            "help": f"The demo's clock shows {clock:%a %H:%M} in New York.",
        }

    def _next_time(self) -> datetime:
        """What the next waiting step waits for, else the next 2 AM."""
        now = self.now()
        ahead = [
            step.not_before
            for plan in self.store.open_plans()
            for step in plan.steps
            if step.state == StepState.pending and step.not_before and step.not_before > now
        ]
        if ahead:
            return min(ahead)
        return resolve("2AM", now, zone=ZONE, windows={}).not_before or now


def demo(home: Path, *, port: int | None, reset: bool, model: bool = False) -> int:
    """Run until interrupted. With `model`, a model plans: the real one where there is a key."""
    if os.environ.get("SLACK_BOT_TOKEN") or os.environ.get("SLACK_APP_TOKEN"):
        raise BadConfig(
            "The demo does not start beside real Slack tokens. Unset SLACK_BOT_TOKEN and SLACK_APP_TOKEN."
        )
    for package in ("PIL", "pytest", "duckdb"):
        if said := missing(package):
            raise BadConfig(f"{said} The demo needs it.")
    home = home.resolve()
    with hold(home):
        if reset:
            clear(home)
        with thinking(os.environ) if model else nullcontext(NO_MODEL) as planner:
            fresh = not (home / "signoff.db").exists()
            play = Demo(home, plant(home, port), model=planner)
            name_stand_in(home, there=planner.get("ANTHROPIC_API_KEY") == KEY)
            with play.slack:
                Thread(target=open_up, args=(play,), kwargs={"fresh": fresh}, daemon=True).start()
                code = play.supervisor.run()
                play.player.stage.over.set()
    return code


@contextmanager
def thinking(env: Mapping[str, str]) -> Iterator[Mapping[str, str]]:
    """What tells the bot which model plans: the real one by its key, else the stand-in on this machine."""
    if env.get("ANTHROPIC_API_KEY", "").strip():
        # A proxy may be the only way out to it.
        yield {name: value for name, value in env.items() if "ANTHROPIC" in name or "proxy" in name.lower()}
        return
    with stand_in() as url:
        yield {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": url}


def open_up(play: Demo, *, fresh: bool) -> None:
    """Have something to look at, then say where."""
    if fresh:
        print("  Making yesterday's plans for the channel: some seconds …", flush=True)
        with suppress(TimeoutError, OSError, AssertionError):
            live_yesterday(play)
    print(welcome(play), flush=True)


def live_yesterday(play: Demo) -> None:
    """Three plans of yesterday afternoon, really made and run, on a clock that is put back for them."""
    jump(play.clock_file, wall() - timedelta(hours=18))
    try:
        stage = Stage(play.store, play.player.stage.workspace, pace=0.0, over=play.player.stage.over)
        stage.workspace().wait_for_bot()
        yesterday(stage, lambda on: play.break_tests(on))
    finally:
        play.break_tests(False)
        jump(play.clock_file, wall())


def hold(home: Path) -> IO[str]:
    """One demo per directory; the second one is told where the first one is."""
    private_directory(home)
    lock = (home / "demo.lock").open("w")
    until = time.monotonic() + 3
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            if time.monotonic() < until:
                time.sleep(0.1)
                continue
            raise BadConfig(f"The demo runs already: {_address(home)}") from None
        return lock


def clear(home: Path) -> None:
    """Forget everything but the lock."""
    for path in home.iterdir():
        if path.name != "demo.lock":
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def _address(home: Path) -> str:
    try:
        known = json.loads((home / "demo.json").read_text())
    except (OSError, ValueError):
        return "its address is not known"
    return f"http://127.0.0.1:{known['port']}/?token={known['token']}"


def welcome(play: Demo) -> str:
    lines = [
        "",
        f"  Signoff's demo:  {play.slack.page_url}",
        "",
        f"  For machines:    export SIGNOFF_URL=http://127.0.0.1:{play.seed.doors} "
        f"SIGNOFF_TOKEN=$(cat {play.token()})   (docs/machines.md)",
        f"  State and logs:  {play.home}   (start anew: signoff demo --reset)",
        "  Stop:            Ctrl-C",
    ]
    if play.model:
        real = play.model["ANTHROPIC_API_KEY"] != KEY
        which = "the real one, by your key; it costs money" if real else "a scripted stand-in; no key is set"
        lines.insert(4, f"  The model:       {which}")
    if os.environ.get("SSH_CONNECTION"):
        ports = " ".join(
            f"-L {port}:127.0.0.1:{port}" for port in (play.seed.port, play.seed.practice, play.seed.board)
        )
        lines.insert(3, f"  Over SSH, first: ssh {ports} <this host>")
    return "\n".join(lines) + "\n"
