"""Elements that ask the app, or say what was chosen of them."""

from typing import Any

import pytest

from bot.local.client.person import Person
from bot.local.server import LocalSlack
from bot.local.shapes import Refused
from tests.support.local_kit import Json, ListeningBot, field, modal, plain

NAMES = [f"web-{n:02}" for n in range(1, 31)]
SELECT = {"type": "external_select", "min_query_length": 1}


class Bot(ListeningBot):
    """An app that knows thirty machines."""

    def __init__(self, slack: LocalSlack) -> None:
        super().__init__(slack)
        self.app.options("value")(self.options)
        self.app.command("/plan")(self.on_plan)
        self.app.view("form")(lambda ack: ack())
        self.app.action("more")(lambda ack: ack())

    def options(self, ack: Any, payload: Json) -> None:
        found = [name for name in NAMES if payload["value"] in name]
        ack(options=[{"text": plain(name), "value": name} for name in found])

    def on_plan(self, ack: Any, body: Json) -> None:
        ack()
        view = modal("Which", field("service", SELECT))
        self.client.views_open(trigger_id=body["trigger_id"], view=view)


def test_who_loads_options_is_asked_with_what_was_typed(bot: Bot, ann: Person) -> None:
    ann.says("/plan")
    offered = ann.types("value", "web-2")
    sent = ann.fills({"service": {"value": offered[3]}})

    assert [option["value"] for option in offered] == [f"web-{n}" for n in range(20, 30)]
    assert sent.acked
    chosen = bot.sent("view_submission")[0]["view"]["state"]["values"]["service"]["value"]
    assert chosen == {"type": "external_select", "selected_option": offered[3]}
    assert bot.sent("block_suggestion")[0]["container"]["type"] == "view"


def test_nothing_is_asked_before_enough_was_typed(bot: Bot, ann: Person) -> None:
    ann.says("/plan")

    with pytest.raises(Refused, match="no_suggestions"):
        ann.types("value", "")


def test_a_menu_of_a_message_says_what_was_chosen_and_holds_nothing(bot: Bot, ann: Person) -> None:
    option = {"text": plain("Save as Runbook"), "value": "save"}
    menu = {"type": "overflow", "action_id": "more", "options": [option]}
    bot.client.chat_postMessage(
        channel="C0OPS", text="done", blocks=[{"type": "actions", "elements": [menu]}]
    )
    ann.chooses("Save as Runbook")

    (click,) = bot.sent("block_actions")
    assert click["actions"][0]["selected_option"] == option
    assert click["state"]["values"] == {}
