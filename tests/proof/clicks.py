"""Fifty members click different buttons of one card at once: `python -m tests.proof.clicks 200`."""

import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from slack_bolt.adapter.socket_mode import SocketModeHandler
from slack_sdk import WebClient

from bot.context import Bot
from bot.local.client.person import Person
from bot.local.server import LocalSlack
from bot.local.shapes import TEAM_ID, Member
from bot.process import make_bot
from bot.slack.app import build
from bot.slack.outbox import Outbox
from storage.clock import wall
from storage.config import SignoffConfig
from storage.database.engine import migrate, open_engine
from tests.support.fakes import CONTRACTS, lasting, plan_spec
from tests.support.room import handle_all
from tests.support.store import Store

PEOPLE = 50
BUTTONS = ("approve", "edit", "reject")


@dataclass
class Crowd:
    """The real app over Socket Mode, and fifty members who may all approve."""

    slack: LocalSlack
    bot: Bot
    outbox: Outbox
    users: list[str]

    def round(self) -> tuple[int, list[str]]:
        """How often the plan was approved, and who got no answer to their click."""
        people = [self.slack.client().person(user) for user in self.users]
        plan_id = self.propose()
        buttons = {
            name: people[0].button(name, message=self.bot.store.view(plan_id).card) for name in BUTTONS
        }
        with ThreadPoolExecutor(PEOPLE) as pool:
            jobs = [(person, buttons[BUTTONS[n % 3]]) for n, person in enumerate(people)]
            acked = list(pool.map(lambda job: job[0].clicks(job[1]).acked, jobs))
        assert all(acked), "a click was not acked"
        handle_all(self.bot)
        self.speak()
        given = [event.actor for event in self.bot.store.events(plan_id) if event.verb == "approve"]
        silent = self.unanswered(people, given)
        self.slack.client().clear()
        return len(given), silent

    def speak(self) -> None:
        """Until everything was said: one round of the outbox is short, so that a question need not wait."""
        end = time.monotonic() + 30
        while [m for m in self.bot.store.unsent() if m.kind == "whisper"] and time.monotonic() < end:
            self.outbox.speak()

    def propose(self) -> int:
        store = self.bot.store
        store.publish(CONTRACTS.values())
        plan_id = store.request("deploy a", team=TEAM_ID, user="U0ANN", channel="C0OPS")
        asked = lasting(approvers=(*self.users,), authors=("U0ANN",))
        store.propose(plan_id, plan_spec(), asked, author="planner")
        while not store.view(plan_id).card:  # a channel takes only so many messages at once
            self.outbox.speak()
            time.sleep(0.05)
        return plan_id

    def unanswered(self, people: list[Person], winners: list[str]) -> list[str]:
        state = self.slack.client().state()
        told = {body["to"] for body in state["ephemerals"]} | {view["user"] for view in state["views"]}
        return [person.id for person in people if person.id not in told | {*winners}]


@contextmanager
def crowd(home: Path) -> Iterator[Crowd]:
    users = [f"U0M{number:02}" for number in range(PEOPLE)]
    members = [Member("U0ANN", "ann", "Ann"), *(Member(user, user.lower(), user) for user in users)]
    engine = open_engine(f"sqlite:///{home / 'x.db'}")
    migrate(engine)
    with LocalSlack(members=members) as slack:
        client = WebClient(token=slack.bot_token, base_url=slack.api_url, retry_handlers=[])
        config = SignoffConfig.model_validate({"people": {"approvers": users}})
        bot, outbox = make_bot(Store(engine, wall), client, config)
        handler = SocketModeHandler(build(client, bot), slack.app_token)
        handler.connect()  # type: ignore[no-untyped-call] # Bolt's adapter carries no types
        slack.client().wait_for_bot()
        try:
            yield Crowd(slack, bot, outbox, users)
        finally:
            handler.close()  # type: ignore[no-untyped-call] # as above
            engine.dispose()


def main(rounds: int) -> int:
    with tempfile.TemporaryDirectory() as home, crowd(Path(home)) as found:
        seen = [found.round() for _ in range(rounds)]
    wrong = [one for one in seen if one != (1, [])]
    told = f"{len(wrong)} without exactly one approval and every answer"
    sys.stdout.write(f"{rounds} rounds of {PEOPLE} clicks: {told}\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 200))
