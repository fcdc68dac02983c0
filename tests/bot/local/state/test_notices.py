"""Who hears of a message, by Slack's usual settings."""

from typing import Any

import pytest

from bot.local.shapes import Channel, Group
from bot.local.state.notices import notified

OPS, DM = Channel("C0OPS", "ops"), Channel("D0ANN", "directmessage", user="U0ANN")
PEOPLE = ("U0ANN", "U0BOB", "U0EVE")
GROUPS = {"S0ONCALL": Group("S0ONCALL", "on-call", "On call", ("U0BOB", "U0GONE"))}


def told(channel: Channel = OPS, followers: tuple[str, ...] = (), **message: Any) -> dict[str, str]:
    body = {"user": "U0SIGNOFF", "text": ""} | message
    return dict(notified(body, channel, people=PEOPLE, groups=GROUPS, followers=followers))


def section(text: str, kind: str = "mrkdwn") -> dict[str, Any]:
    return {"type": "section", "text": {"type": kind, "text": text}}


def rich(**element: str) -> dict[str, Any]:
    line = {"type": "rich_text_section", "elements": [element]}
    return {"type": "rich_text", "elements": [line]}


@pytest.mark.parametrize(
    ("message", "whom"),
    [
        ({"text": "nobody in particular"}, {}),
        ({"text": "<@U0ANN> and <@U0BOB|bob>"}, {"U0ANN": "mention", "U0BOB": "mention"}),
        ({"text": "<!subteam^S0ONCALL|@on-call>"}, {"U0BOB": "mention"}),
        ({"text": "<!here>"}, dict.fromkeys(PEOPLE, "mention")),
        ({"blocks": [section("<@U0ANN>")]}, {"U0ANN": "mention"}),
        ({"blocks": [section("<@U0ANN>", "plain_text")]}, {}),
        ({"blocks": [rich(type="user", user_id="U0ANN")]}, {"U0ANN": "mention"}),
        ({"blocks": [rich(type="usergroup", usergroup_id="S0ONCALL")]}, {"U0BOB": "mention"}),
        ({"text": "<@U0ANN>", "blocks": [section("<@U0ANN>")]}, {"U0ANN": "mention"}),
        ({"text": "me, <@U0ANN>", "user": "U0ANN"}, {}),
        ({"text": "<@U0ELSEWHERE>"}, {}),
    ],
)
def test_a_mention_rings_once_for_each(message: dict[str, Any], whom: dict[str, str]) -> None:
    assert told(**message) == whom


def test_the_question_before_a_click_mentions_nobody() -> None:
    button = {"type": "button", "confirm": {"text": {"type": "mrkdwn", "text": "<@U0ANN>"}}}

    assert told(blocks=[{"type": "actions", "elements": [button]}]) == {}


def test_a_direct_message_rings_for_its_reader() -> None:
    assert told(DM, text="hello") == {"U0ANN": "direct"}
    assert told(DM, text="my own", user="U0ANN") == {}


def test_who_follows_a_thread_hears_of_a_reply_and_is_told_why() -> None:
    assert told(followers=("U0ANN", "U0SIGNOFF"), text="<@U0BOB>") == {"U0ANN": "thread", "U0BOB": "mention"}


def test_whoever_is_named_in_a_direct_message_of_two_others_hears_nothing() -> None:
    assert told(DM, text="<@U0BOB> asks you, and <@U0EVE> can too") == {"U0ANN": "direct"}
