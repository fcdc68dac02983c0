"""Many plans in one channel, within Slack's tiers, by a clock moved by hand: calls of Slack, and how fast.

The bot, its outbox and the workers' turns in this process; the local workspace counts the calls and refuses
what is beyond a tier. The time is the clock's: how busy this machine is changes nothing.
"""

import os
import sys
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path

from slack_sdk import WebClient

from bot.demo.run import CHANNELS, GROUPS, MEMBERS
from bot.demo.seed import plant
from bot.local.client.person import Person
from bot.local.server import LocalSlack
from bot.process import make_bot
from bot.slack.app import build
from bot.turns.rounds import tend
from storage.clock import wall
from storage.config import read_config
from storage.database.engine import migrate, open_engine
from storage.execution import Execution
from storage.intention import Intention
from tests.bench.hot.journey import BESIDE, WISH, configured
from tests.support.fakes import FakeClock, work
from tests.support.local_kit import connected
from tests.support.ports import ports
from tests.support.room import handle_all, think
from tests.support.world import WITNESS
from workers.engine.attempt import Attempts
from workers.registry import load

ROUND = 0.25  # seconds between two rounds of everything
SAID = {"chat.postMessage", "chat.update"}
LONGEST = 20 * 60.0
AGAIN = timedelta(seconds=10)  # Slack may not say who reads a channel; then a person clicks once more


@dataclass(frozen=True)
class Said:
    """What some plans took, from the first wish until all of it was told."""

    plans: int
    seconds: float
    calls: Counter[str]  # by method
    messages: int  # posts and changes in the channel
    refused: int  # calls that Slack did not take

    @property
    def a_minute(self) -> float:
        return 60 * self.plans / self.seconds


@dataclass
class Channel:
    """The product around one channel."""

    home: Path
    slack: LocalSlack
    clock: FakeClock
    clicked: dict[int, datetime] = field(default_factory=dict)
    wanted: int = 0

    def __post_init__(self) -> None:
        url = f"sqlite:///{self.home / 'signoff.db'}"
        config = read_config(self.home / "signoff.toml")
        migrate(open_engine(url))
        self.store, hands = Intention(open_engine(url), self.clock), Execution(open_engine(url), self.clock)
        self.attempts = Attempts(hands, load(config), "workers", self.home / "attempts")
        hands.alive("workers", "workers", "0")
        hands.publish(self.attempts.registry.contracts())
        client = WebClient(token=self.slack.bot_token, base_url=self.slack.api_url, retry_handlers=[])
        self.bot, outbox = make_bot(self.store, client, config)
        self.outbox = replace(outbox, steady=lambda: self.clock().timestamp())
        self.bot.people.steady = self.outbox.steady
        self.app = build(client, self.bot)

    def run(self, plans: int) -> Said:
        people = self.slack.client()
        ann, bob = people.person("U0ANN"), people.person("U0BOB")
        began, before = self.clock(), len(people.calls())
        self.clicked.clear()
        self.wanted = plans
        for _ in range(plans):
            ann.says(WISH)
        while not self._over():
            self._round(bob)
            if (self.clock() - began).total_seconds() > LONGEST:
                raise SystemExit(f"not all was told: {self.store.unsent()}")
        calls = people.calls()[before:]
        place = CHANNELS[0].id
        self.clock.advance(60)  # what comes next finds nobody in its way
        return Said(
            plans,
            max(float(call["at"]) for call in calls) - began.timestamp(),
            Counter(call["method"] for call in calls),
            sum(call["method"] in SAID and call["channel"] == place for call in calls),
            sum(call["status"] == 429 for call in calls),
        )

    def _over(self) -> bool:
        return len(self.clicked) == self.wanted and not self.store.open_plans(limit=1) and not self._stale()

    def _stale(self) -> bool:
        """Whether anything is to be said, now or in a while."""
        self.clock.advance(10)
        found = self.store.unsent()
        self.clock.advance(-10)
        return bool(found)

    def _round(self, bob: Person) -> None:
        handle_all(self.bot)
        tend(self.bot)
        think(self.bot)
        self.outbox.speak()
        for plan in self.store.open_plans():
            last, now = self.clicked.get(plan.id), self.clock()
            if plan.state == "proposed" and plan.card and (last is None or now - last > AGAIN):
                self.clicked[plan.id] = now
                bob.clicks(bob.button("approve", message=plan.card))
        work(self.attempts)
        self.clock.advance(ROUND)


def within_tiers(home: Path, *runs: int) -> list[Said]:
    """So many plans at once, run by run, in one channel of a workspace that refuses what is too much."""
    sys.path[:0] = [str(WITNESS), str(BESIDE)]
    os.environ["WITNESS_PLACE"] = str(home)
    plant(home, ports(4))
    toml, clock = home / "signoff.toml", FakeClock(wall())
    toml.write_text(configured(toml.read_text()))
    slack = LocalSlack(
        members=MEMBERS, channels=CHANNELS, groups=GROUPS, rates=True, clock=lambda: clock().timestamp()
    )
    with slack:
        channel = Channel(home, slack, clock)
        with connected(slack, channel.app):
            return [channel.run(plans) for plans in runs]
