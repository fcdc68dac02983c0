"""A bot that plans what recurs, and days that pass for it."""

from datetime import datetime
from typing import Any

from bot.context import Bot
from bot.inbox.requests import on_command
from bot.planner.runbooks.book import Planned
from bot.turns.rounds import tend
from storage.config import People as Named
from storage.config import PolicyConfig, SignoffConfig, StandingPolicy
from tests.support.fakes import CONTRACTS, NOW, Everybody, approve, plan_spec
from tests.support.room import think
from tests.support.store import Store

STANDING = StandingPolicy(runs=3, days=30, risks=("high",))
CONFIG = SignoffConfig(
    zone="America/New_York",
    people=Named(approvers=("BOB", "CAROL")),
    policy=PolicyConfig(standing=STANDING, recurring_ahead_hours=0),
)


class Desk:
    """A bot whose planner always makes the same plan, until it is told of another."""

    def __init__(self, store: Store, config: SignoffConfig = CONFIG) -> None:
        store.publish(CONTRACTS.values())
        self.store, self.spec, self.people = store, plan_spec(), Everybody()
        self.bot = Bot(store, config, self.people, lambda trigger, view: None, [], self._plan)

    def _plan(self, text: str, spend: Any, around: Any) -> Planned:
        return Planned(self.spec, "by a model")

    def says(self, text: str, user: str = "ANN") -> str:
        return on_command(self.bot, {"text": text, "user": user, "channel": "C1"})

    def turn(self) -> None:
        tend(self.bot)
        think(self.bot)
        tend(self.bot)

    def sets_up(self, said: str = "every day at 02:00 deploy a") -> datetime:
        """When the first run is due."""
        self.says(said)
        return self.store.recurring()[-1].next_at or NOW


def first_run(desk: Desk, clock: Any) -> None:
    """The first run, approved by Bob by hand."""
    clock.now = desk.sets_up()
    desk.turn()
    approve(desk.store, desk.store.recent(1)[0].id)


def next_day(desk: Desk, clock: Any) -> Any:
    clock.now = desk.store.recurring()[0].next_at
    desk.turn()
    return desk.store.recent(1)[0]
