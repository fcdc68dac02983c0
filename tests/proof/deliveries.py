"""A Slack at its worst: `python -m tests.proof.deliveries 10000 60`.

The real bot process, over Socket Mode, is killed and restarted while deliveries come twice, in another order
and over links that break, acks and answers get lost and the Web API says no. Afterwards the rows and the
workspace are counted: every wish is one plan with one card, and nothing that was acked is missing.
Then 429s: at most one message a second and channel, in order, none lost.
"""

import random
import re
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from slack_sdk import WebClient

from bot.cli.supervise import Child
from bot.local.client.person import Button, WorkspaceClient
from bot.local.server import LocalSlack
from bot.local.shapes import TEAM_ID, Channel, Member
from bot.slack.outbox import Outbox
from storage.clock import wall
from storage.database.engine import migrate, open_engine
from tests.support.fakes import CONTRACTS, lasting, plan_spec, real_contracts
from tests.support.store import Store
from tests.support.world import bot_process

CHANNELS = 60
FAULTS = ("duplicate", "reorder", "lost_ack", "rate_limit", "api_down", "lost_reply")
ASKED = "SELECT text FROM plan WHERE text LIKE 'deploy auth-service v1.%'"
MISSING = "There is no plan {} that you can see."
WISH = "deploy auth-service v1.{}.0 to production"
CONFIG = """
zone = "America/New_York"
[people]
approvers = ["U0BOB"]
[policy.limits]
plans_per_hour = 0
plans_per_target = 0
[inventory.services.auth-service]
environment = "production"
database = "auth_prod"
[inventory.databases.auth_prod]
environment = "production"
[inventory.suites.full]
environments = ["staging"]
"""


@dataclass
class Storm:
    """The bot process, its workspace, and what was asked of them."""

    slack: LocalSlack
    store: Store
    bot: Child
    acked: dict[int, bool] = field(default_factory=dict)  # wishes, by number; a mention counts as acked
    asked: dict[int, bool] = field(default_factory=dict)  # questions, by number
    clicked: int = 0
    kills: int = 0
    calm: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)

    @property
    def workspace(self) -> WorkspaceClient:
        return self.slack.client(patience=120.0)

    def act(self, number: int, button: Button) -> None:
        """One of four things that people do, by turns."""
        ann, channel = self.workspace.person("U0ANN"), f"C{number % CHANNELS:03}"
        kind = number % 10
        if kind in (0, 1):
            self.acked[number] = ann.says(f"@Signoff {WISH.format(number)}", channel=channel).acked
        elif kind == 2:
            self.acked[number] = ann.says(f"/plan {WISH.format(number)}", channel=channel).acked
        elif kind in (3, 4, 5, 6):
            self.asked[number] = ann.says(f"/plan show {900_000 + number}", channel=channel).acked
        else:
            self.clicked += ann.clicks(button).acked

    def trouble(self, every: float, kill: float) -> None:
        """Until it is calm: something goes wrong every so often, and now and then the bot dies."""
        dice, last = random.Random(7), time.monotonic()  # noqa: S311 # the same storm each time
        while not self.calm.wait(every):
            fault = dice.choice([*FAULTS, "link"])
            if fault == "link":
                self.workspace.disconnect(politely=dice.random() < 0.5)
            else:
                # An ephemeral message cannot be looked up, so one whose answer is lost is said again.
                where = "chat.postMessage" if fault == "lost_reply" else ""
                self.workspace.act("fault", method=where, **{fault: dice.randint(1, 4)})
            if time.monotonic() - last > kill and self.bot.process:
                self.bot.process.kill()
                self.kills, last = self.kills + 1, time.monotonic()
        self.workspace.act("fault", **dict.fromkeys(FAULTS, 0))

    def watch(self) -> None:
        while not self.over.is_set():
            self.bot.starts = 1  # no patience with a bot that we kill ourselves
            self.bot.watch()
            time.sleep(0.05)

    def settle(self, patience: float) -> None:
        """Until everything that was delivered is handled, and everything that shall be shown is."""
        end, quiet = time.monotonic() + patience, 0
        while quiet < 20 and time.monotonic() < end:
            with self.store.read() as t:
                left = t.connection.exec_driver_sql(
                    "SELECT (SELECT count(*) FROM delivery WHERE handled_at IS NULL) + "
                    "(SELECT count(*) FROM message WHERE wanted > shown) + "
                    "(SELECT count(*) FROM plan WHERE state = 'planning')"
                ).scalar_one()
            quiet = quiet + 1 if left == 0 else 0
            time.sleep(0.25)

    def count(self) -> dict[str, int]:
        """What is doubled or missing, in the rows and in the workspace."""
        state = self.workspace.state()
        with self.store.read() as t:
            plans = Counter(t.connection.exec_driver_sql(ASKED).scalars())
        keys = Counter(m["metadata"]["event_payload"]["key"] for m in state["messages"] if "metadata" in m)
        cards = sum(1 for key in keys if key.startswith("card:"))
        told = Counter(body["text"] for body in state["ephemerals"])
        wishes = {WISH.format(number): acked for number, acked in self.acked.items()}
        answers = {MISSING.format(900_000 + number): acked for number, acked in self.asked.items()}
        refusals = sum(number for text, number in told.items() if "somebody else must approve it" in text)
        return {
            "plans doubled": sum(number - 1 for number in plans.values()),
            "plans lost": sum(acked and not plans[text] for text, acked in wishes.items()),
            "messages doubled": sum(number - 1 for number in keys.values()),
            "cards lost": abs(sum(plans.values()) + 1 - cards),
            "answers lost": sum(acked and not told[text] for text, acked in answers.items()),
            "refusals lost": max(0, self.clicked - refusals),
        }


@contextmanager
def storm(home: Path) -> Iterator[Storm]:
    people = [Member("U0ANN", "ann", "Ann"), Member("U0BOB", "bob", "Bob")]
    rooms = [Channel(f"C{number:03}", f"room-{number}") for number in range(CHANNELS)]
    engine = open_engine(f"sqlite:///{home / 'signoff.db'}")
    migrate(engine)
    (home / "signoff.toml").write_text(CONFIG)
    with LocalSlack(members=people, channels=rooms, event_spacing=(0.5,) * 40) as slack:
        bot = bot_process(home, slack)
        bot.log = home / "bot.log"
        found = Storm(slack, Store(engine, wall), bot)
        watcher = threading.Thread(target=found.watch)
        watcher.start()
        try:
            found.workspace.wait_for_bot()
            yield found
        finally:
            found.over.set()
            watcher.join()
            if bot.process:
                bot.process.kill()
                bot.process.wait()
            engine.dispose()


def deliver(home: Path, number: int, *, every: float = 0.5, kill: float = 15.0) -> tuple[dict[str, int], int]:
    """This many acts of people in the storm: what is doubled or missing afterwards, and the kills."""
    with storm(home) as found:
        found.store.publish(real_contracts())
        ann = found.workspace.person("U0ANN")
        ann.says("/plan deploy auth-service v9.9.9 to production", channel="C000")
        edit = ann.button("edit")
        # Nobody makes the previews here, so Approve does not stand beside it; Ann's click is refused anyway.
        button = Button(edit.message_ts, edit.channel, edit.block_id, edit.element | {"action_id": "approve"})
        trouble = threading.Thread(target=found.trouble, args=(every, kill))
        trouble.start()
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda n: found.act(n, button), range(number)))
        found.calm.set()
        trouble.join()
        found.settle(900.0)
        return found.count(), found.kills


def speak(home: Path, seconds: float, rooms: int = 5) -> dict[str, float]:
    """429s for so long, while every room has more to say than a message a second."""
    channels = [Channel(f"C{number:03}", f"room-{number}") for number in range(rooms)]
    engine = open_engine(f"sqlite:///{home / 'posts.db'}")
    migrate(engine)
    store = Store(engine, wall)
    with LocalSlack(members=[Member("U0ANN", "ann", "Ann")], channels=channels) as slack:
        client = WebClient(token=slack.bot_token, base_url=slack.api_url, retry_handlers=[])
        outbox, workspace = Outbox(store, client), slack.client()
        plans = [_plan(store, channel.id) for channel in channels]
        outbox.speak()
        for plan_id in plans:
            _talk(store, plan_id, int(seconds))
        workspace.fault(rate_limit=1, method="chat.postMessage")
        end, refusals = time.monotonic() + seconds, 0.0
        while store.unsent() or time.monotonic() < end:
            if time.monotonic() < end and time.monotonic() > refusals:
                workspace.fault(rate_limit=1, method="chat.postMessage")
                refusals = time.monotonic() + 2.0
            outbox.speak()
            time.sleep(0.05)
        threads = [
            [
                body
                for body in workspace.thread(store.view(plan).card, room.id)[1:]
                if "1 of 2" in body["text"]
            ]
            for plan, room in zip(plans, channels, strict=True)
        ]
    engine.dispose()
    stamps = [[float(body["ts"]) for body in thread] for thread in threads]
    gaps = [later - sooner for times in stamps for sooner, later in pairwise(times)]
    orders = [[int(re.findall(r"revision (\d+)", body["text"])[0]) for body in thread] for thread in threads]
    return {
        "messages": float(sum(map(len, threads))),
        "closest": round(min(gaps), 3),
        "out of order": float(sum(order != sorted(order) for order in orders)),
        "lost": float(sum(order != [*range(1, int(seconds) + 1)] for order in orders)),
    }


def _plan(store: Store, channel: str) -> int:
    store.publish(CONTRACTS.values())
    plan_id = store.request("deploy a", team=TEAM_ID, user="U0ANN", channel=channel)
    store.propose(plan_id, plan_spec(), lasting(2), author="planner")
    return plan_id


def _talk(store: Store, plan_id: int, number: int) -> None:
    """This many revisions that the plan's thread has to tell of; each costs Bob's approval."""
    spec = plan_spec()
    for revision in range(1, number + 1):
        store.approve(plan_id, revision, spec.digest(), team=TEAM_ID, user="U0BOB", policy="p1")
        spec = plan_spec(goal=f"Deploy a, version {revision}")
        store.amend(plan_id, spec, lasting(2), author="U0ANN", after=revision, changes=["another goal"])


def main(number: int, seconds: float) -> int:
    with tempfile.TemporaryDirectory() as home:
        began = time.monotonic()
        wrong, kills = deliver(Path(home), number)
        took = time.monotonic() - began
    told = ", ".join(f"{count} {what}" for what, count in wrong.items())
    sys.stdout.write(f"{number} deliveries, {kills} kills, {took:.0f} s: {told}\n")
    with tempfile.TemporaryDirectory() as home:
        said = speak(Path(home), seconds)
    told = ", ".join(f"{what} {value:g}" for what, value in said.items())
    sys.stdout.write(f"{seconds:.0f} s of 429s: {told}\n")
    slow = said["closest"] >= 1.0 and not said["out of order"] and not said["lost"]
    return 0 if slow and not any(wrong.values()) else 1


if __name__ == "__main__":
    given = [*sys.argv[1:], *("10000", "60")[len(sys.argv) - 1 :]]
    sys.exit(main(int(given[0]), float(given[1])))
