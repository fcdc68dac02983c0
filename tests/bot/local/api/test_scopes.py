"""An app may do what it was granted, and is told what is missing, in Slack's own words."""

from collections.abc import Callable
from typing import Any

import pytest
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from bot.local.api.scopes import EVERY
from bot.local.server import LocalSlack
from bot.local.shapes import Channel
from tests.support.local_kit import ANN, ListeningBot, connected

CHANNELS = (Channel("C0OPS", "ops"), Channel("G0SECRET", "secret", is_private=True))
CALLS: dict[str, Callable[[WebClient], Any]] = {
    "chat:write": lambda api: api.chat_postMessage(channel="C0OPS", text="hello"),
    "channels:history": lambda api: api.conversations_history(channel="C0OPS"),
    "groups:history": lambda api: api.conversations_history(channel="G0SECRET"),
    "im:history": lambda api: api.conversations_history(channel="D0ANN"),
    "channels:read": lambda api: api.conversations_info(channel="C0OPS"),
    "users:read": lambda api: api.users_info(user="U0ANN"),
    "im:write": lambda api: api.conversations_open(users="U0ANN"),
}


@pytest.mark.parametrize("scope", CALLS)
def test_a_call_without_its_scope_says_which_one_is_missing(scope: str) -> None:
    with LocalSlack(members=[ANN], channels=CHANNELS, scopes=EVERY - {scope}) as slack:
        api = WebClient(slack.bot_token, base_url=slack.api_url)
        with pytest.raises(SlackApiError) as caught:
            CALLS[scope](api)

        answer = caught.value.response
        assert (answer["error"], answer["needed"]) == ("missing_scope", scope)
        assert answer["provided"] == ",".join(sorted(EVERY - {scope}))
        for other in CALLS.keys() - {scope}:
            assert CALLS[other](api)["ok"]


def test_an_app_that_may_not_read_a_channel_does_not_hear_what_is_said_there() -> None:
    with LocalSlack(members=[ANN], channels=CHANNELS, scopes=EVERY - {"channels:history"}) as slack:
        bot = ListeningBot(slack)
        bot.app.event("app_mention")(lambda: None)
        bot.app.event("message")(lambda: None)
        with connected(slack, bot.app):
            ann = slack.client().person("U0ANN")
            ann.says("@Signoff hello")
            ann.says("in secret", channel="G0SECRET")
            slack.client().wait(lambda _: len(bot.heard) == 2, "two events")

        assert [body["event"]["type"] for body in bot.heard] == ["app_mention", "message"]
        assert bot.heard[1]["event"]["channel"] == "G0SECRET"
