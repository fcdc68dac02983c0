"""Views that the app changes or stacks by itself."""

from collections.abc import Iterator
from typing import Any

import pytest
from slack_sdk import WebClient

from bot.local.client.person import Person
from bot.local.server import LocalSlack
from tests.support.local_kit import ANN, Json, ListeningBot, actions, field, modal, refused, until

TEXT = {"type": "plain_text_input"}


class Bot(ListeningBot):
    """An app that opens a view, and stacks another one on it when that is clicked."""

    def __init__(self, slack: LocalSlack) -> None:
        super().__init__(slack)
        self.app.command("/plan")(self.on_plan)
        self.app.action("more")(self.on_more)
        self.app.view("form")(lambda ack: ack())

    def on_plan(self, ack: Any, body: Json, client: WebClient) -> None:
        ack()
        self.view = client.views_open(trigger_id=body["trigger_id"], view=modal("First", actions("more")))[
            "view"
        ]

    def on_more(self, ack: Any, body: Json, client: WebClient) -> None:
        ack()
        client.views_push(trigger_id=body["trigger_id"], view=modal("Second", actions("more")))


@pytest.fixture(scope="module")
def slack() -> Iterator[LocalSlack]:
    with LocalSlack(members=[ANN]) as running:
        yield running


def click(ann: Person) -> None:
    ann.workspace.act("click", user=ann.id, action_id="more", view_id=ann.view()["id"])


def test_a_view_is_changed_by_its_id_or_by_its_own_name(bot: Bot, ann: Person) -> None:
    ann.says("/plan")
    first = ann.view()
    named = modal("Named", field("why", TEXT), external_id="plan-7")
    changed = bot.client.views_update(view_id=first["id"], view=named)["view"]
    again = bot.client.views_update(external_id="plan-7", view=modal("Again"))["view"]

    assert (changed["id"], changed["title"]["text"]) == (first["id"], "Named")
    assert (again["id"], ann.view()["title"]["text"]) == (first["id"], "Again")
    assert refused(lambda: bot.client.views_update(external_id="plan-7", view=named)) == "not_found"
    assert refused(lambda: bot.client.views_update(view_id="V0", view=named)) == "not_found"
    assert refused(lambda: bot.client.views_update(view_id=first["id"], view={})) == "invalid_arguments"


def test_an_old_hash_changes_nothing(bot: Bot, ann: Person) -> None:
    ann.says("/plan")
    view = ann.view()

    def update(hash: str) -> Any:
        return bot.client.views_update(view_id=view["id"], hash=hash, view=modal("Changed"))

    assert update(view["hash"])["ok"]
    assert refused(lambda: update(view["hash"])) == "hash_conflict"


def test_views_are_stacked_three_deep_and_no_deeper(bot: Bot, ann: Person) -> None:
    ann.says("/plan")
    first = ann.view()
    click(ann)
    ann.workspace.wait(lambda state: len(state["views"]) == 2, "the second view")
    click(ann)
    ann.workspace.wait(lambda state: len(state["views"]) == 3, "the third view")
    top = ann.view()

    assert top["root_view_id"] == first["id"]
    assert top["previous_view_id"] != first["id"]
    click(ann)
    until(lambda: bot.slack.client().calls("views.push")[2:])
    assert bot.slack.client().calls("views.push")[2]["error"] == "push_limit_reached"
    assert refused(lambda: bot.client.views_push(trigger_id="1.x", view=modal("x"))) == "invalid_trigger_id"
