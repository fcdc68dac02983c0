"""A channel without Slack: what people do goes through the app's own rows and handlers, on a memory store."""

import logging
from contextlib import closing
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from bot.cards.blocks import pack
from bot.context import Bot
from bot.hearing.hearer import Hearer
from bot.inbox.forms import next_form, on_form
from bot.local.people.inputs import state_values
from bot.planner.runbooks import book as runbooks
from bot.slack.app import commit
from bot.turns.claims import Claims
from bot.turns.rounds import attempt, to_think
from storage.config import SignoffConfig
from storage.contract.spec import PlanSpec
from storage.errors import Conflict
from storage.plans.lifecycle import Terms
from storage.reading.plan_view import PlanView
from tests.support.fakes import CONTRACTS, TEAM, Everybody, at_home, demo_config, messages, shown, terms
from tests.support.store import Store

CARD = "100.000001"
US = "USIGNOFF"
logger = logging.getLogger(__name__)


@dataclass
class Room:
    """ANN asks; BOB and CAROL may approve; EVE is a member; GUS is a guest."""

    store: Store
    config: SignoffConfig = field(default_factory=demo_config)
    opened: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        people = {"approvers": ["BOB", "CAROL"], "admins": ["CAROL"]}
        given = self.config.model_dump() | {"people": people}
        self.config = SignoffConfig.model_validate(given)
        books = runbooks.read([runbooks.SHIPPED])
        self.people = Everybody()
        self.people.barred["GUS"] = "Guests may not ask for or decide plans."
        self.bot = Bot(self.store, self.config, self.people, self._open, books)
        self._numbers = count(1)

    def _open(self, trigger: str, view: dict[str, Any]) -> None:
        self.opened.append(view)

    def proposed(self, spec: PlanSpec, asked: Terms | None = None, contracts: Any = None) -> int:
        """A plan of ANN's whose card stands in the channel."""
        self.store.publish(contracts or CONTRACTS.values())
        plan_id = self.store.request("deploy a", team=TEAM, user="ANN", channel="C1")
        self.store.propose(plan_id, spec, asked or terms(), author="planner")
        shown(self.store, plan_id, CARD)
        return plan_id

    def view(self) -> PlanView:
        return self.store.recent(1)[0]

    def delivers(self, body: dict[str, Any]) -> None:
        """As Slack would: the row is committed, and then handled."""
        commit(self.bot, at_home(body), lambda: None)
        handle_all(self.bot)

    def says(self, user: str, text: str, *, thread: str = CARD, kind: str = "message", **more: str) -> None:
        said = {
            "type": kind,
            "user": user,
            "text": text,
            "channel": "C1",
            "ts": f"200.{next(self._numbers):06}",
        }
        event = said | {"thread_ts": thread, "channel_type": "channel"} | more
        self.delivers({"type": "event_callback", "event": event, "authorizations": [{"user_id": US}]})

    def clicks(self, user: str, action: str, step: str = "") -> None:
        if not self.view().card:
            shown(self.store, self.view().id, CARD)
        view = self.view()
        value = pack(view.id, view.revision, view.digest, step)
        pressed = {"action_id": action, "value": value, "action_ts": f"300.{next(self._numbers):06}"}
        self.delivers({
            "type": "block_actions", "user": {"id": user}, "channel": {"id": view.channel},
            "message": {"ts": view.card}, "trigger_id": "t", "actions": [pressed],
        })  # fmt: skip

    def fills(self, user: str, values: dict[str, Any]) -> dict[str, str]:
        """Submit the newest form with these values; the errors at its fields."""
        form = self.opened[-1]
        filled = form | {
            "id": f"V{next(self._numbers)}",
            "state": {"values": state_values(form["blocks"], values)},
        }
        errors = on_form(self.bot, user, filled)
        if not errors and (after := next_form(self.bot, filled, user).get("view")):
            self.opened.append(after)
        handle_all(self.bot)
        return errors

    def whispers(self, user: str) -> list[str]:
        return [said.text for said in messages(self.store, "whisper") if said.user == user]


# The bot's rounds, by the ways of its loops: here and now, one thing after the other in this thread.


def handle_all(bot: Bot) -> None:
    """Everything not yet handled, each under its claim; what must wait is left for another time."""
    with closing(Hearer(bot, Claims(bot.store.engine, "hear"))) as hearer:
        hearer.go_on()


def think(bot: Bot) -> None:
    """Every wish that has no plan yet, and every plan that needs thought. One that breaks stops no other."""
    for _, one in to_think(bot, {}):
        try:
            attempt(bot, one)
        except Conflict as error:
            logger.info("plan=%s was thought about for nothing: %s", one.plan_id, error)
