"""`signoff demo`: starts the workspace, the bot, the workers and a practice cluster; prints one address."""

import fcntl
import json
import os
import shutil
import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO

from bot.cli.supervise import Child, Supervisor, siblings
from bot.demo.seed import Seed, break_tests, plant, tests_broken
from bot.local.server import LocalSlack
from bot.local.shapes import Channel, Control, Group, Json, Member, Shortcut
from bot.times.when import resolve
from storage.clock import jump, jumping
from storage.config import local
from storage.contract.states import StepState
from storage.database.engine import migrate, open_engine
from storage.errors import BadConfig
from storage.intention import Intention
from storage.private_files import private_directory

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
SHORTCUTS = (Shortcut("plan_this", "Plan this"),)
SUGGESTIONS = (
    "/plan deploy auth-service v2.1.4 to production",
    "/plan run the full tests on staging",
    "/plan back up auth_prod tonight at 2am ET",
    "/plan promote auth-service v2.1.5 to production",
    "/plan summarise /errors from metrics",
    "/plan help",
)
GUIDE = (
    "*Try this:* as Ann, send the first suggestion. Ann asked, so she may not approve: act as <@U0BOB> or "
    "<@U0CAROL>. As Bob, *Edit* the deploy to `2AM ET`, make the revision, then *Approve* it. The tests and "
    "the backup run at once; the deploy waits. *Jump to 02:00* and watch the practice service change."
)


class Demo:
    """The processes of the demo and its controls."""

    def __init__(self, home: Path, seed: Seed, database_url: str = "") -> None:
        self.home, self.seed = home, seed
        self.database_url = database_url or f"sqlite:///{home / 'signoff.db'}"
        self.clock_file = home / "clock"
        self.now = jumping(self.clock_file)
        engine = open_engine(self.database_url)
        migrate(engine)
        self.store = Intention(engine, self.now)
        self.slack = LocalSlack(
            members=MEMBERS, channels=CHANNELS, groups=GROUPS, shortcuts=SHORTCUTS,
            path=home / "workspace.db", port=seed.port, token=seed.token, title="Signoff demo", guide=GUIDE,
            suggestions=SUGGESTIONS, controls=self.controls(), clock=lambda: self.now().timestamp(),
        )  # fmt: skip
        self.supervisor = Supervisor(self.children())

    def controls(self) -> list[Control]:
        return [
            Control("jump", "Jump to 02:00", "button", "Moves the demo's clock for all processes.", self.jump,
                    self._jump_state),
            Control("break", "Failing tests", "switch", "Plants a real bug in the sample service.",
                    self.break_tests, lambda: {"on": tests_broken(self.home)}),
            Control("kill", "Kill the workers", "button", "SIGKILL; they are started again at once.",
                    lambda on: self._kill("workers")),
            Control("kill-bot", "Kill the bot", "button", "SIGKILL; it is started again at once.",
                    lambda on: self._kill("bot")),
            Control("practice", "The practice service", "link", "What the deploy changes.",
                    state=lambda: {"url": f"http://127.0.0.1:{self.seed.practice}/"}),
        ]  # fmt: skip

    def children(self) -> list[Child]:
        # The demo spends no money and leaves this machine for nothing.
        kept = {k: v for k, v in os.environ.items() if "proxy" not in k.lower() and "ANTHROPIC" not in k}
        env = kept | {
            "SIGNOFF_STATE": str(self.home), "SIGNOFF_CONFIG": str(self.home / "signoff.toml"),
            "SIGNOFF_CLOCK": str(self.clock_file), "SIGNOFF_DATABASE_URL": self.database_url,
            "SLACK_BOT_TOKEN": self.slack.bot_token, "SLACK_APP_TOKEN": self.slack.app_token,
            "SLACK_API_URL": f"http://127.0.0.1:{self.seed.port}/api/",
        }  # fmt: skip
        children = siblings(env)
        seeded = ("--port", str(self.seed.practice), "--state", str(self.home / "practice.json"),
                  "--seed", "auth-service=v2.1.3")  # fmt: skip
        cluster = Child(
            "practice",
            ("-m", "workers.practice", *seeded),
            {"PATH": os.environ.get("PATH", ""), "SIGNOFF_PARENT": str(os.getpid())},
        )
        for child in (cluster, *children):
            child.log = self.home / f"{child.name}.log"
        return [cluster, *children]

    def jump(self, on: bool) -> str:
        to = self._next_time()
        jump(self.clock_file, to + timedelta(seconds=1))
        return f"It is {local(to, ZONE):%A %H:%M} in New York now."

    def break_tests(self, on: bool) -> str:
        break_tests(self.home, on)
        return "The sample service has a bug now; its tests fail." if on else "The bug is gone."

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


def demo(home: Path, *, port: int | None, reset: bool) -> int:
    """Run until interrupted."""
    if os.environ.get("SLACK_BOT_TOKEN") or os.environ.get("SLACK_APP_TOKEN"):
        raise BadConfig(
            "The demo does not start beside real Slack tokens. Unset SLACK_BOT_TOKEN and SLACK_APP_TOKEN."
        )
    home = home.resolve()
    with hold(home):
        if reset:
            clear(home)
        play = Demo(home, plant(home, port))
        with play.slack:
            print(welcome(play), flush=True)
            code = play.supervisor.run()
    return code


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
        f"  State and logs:  {play.home}   (start anew: signoff demo --reset)",
        "  Stop:            Ctrl-C",
    ]
    if os.environ.get("SSH_CONNECTION"):
        ports = " ".join(f"-L {port}:127.0.0.1:{port}" for port in (play.seed.port, play.seed.practice))
        lines.insert(3, f"  Over SSH, first: ssh {ports} <this host>")
    return "\n".join(lines) + "\n"
