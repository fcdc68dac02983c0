"""A bot that starts while Slack is away meets it later; one that Slack does not want says so."""

from collections.abc import Callable
from itertools import chain, repeat
from threading import Event

import pytest

import bot.slack.meeting
from bot.slack.meeting import SlackAway, find_home, meeting
from storage.errors import BadConfig
from storage.monitoring.troubles import Troubles
from tests.support.slates import SlateClient, refusal


@pytest.fixture(autouse=True)
def _hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bot.slack.meeting, "PAUSES", (0.01,))


def test_slack_that_comes_later_is_met_then_and_the_line_is_closed_at_the_end() -> None:
    answers = chain([ConnectionRefusedError(), SlackAway("Slack is ill"), BadConfig("not us")], repeat(None))
    met, closed, said, troubles = Event(), list[str](), list[list[str]](), Troubles()

    def connect() -> Callable[[], None]:
        said.append(troubles.told(serious=True))
        if error := next(answers):
            raise error
        met.set()
        return lambda: closed.append("closed")

    with meeting(connect, troubles):
        assert met.wait(10)
        assert closed == []

    assert closed == ["closed"]
    assert said == [
        [],
        ["Slack cannot be reached (ConnectionRefusedError); nothing is heard from there."],
        ["Slack is ill; nothing is heard from there."],
        ["not us"],
    ]
    assert troubles.told(serious=True) == []


def test_a_token_that_slack_does_not_take_ends_the_start_with_the_reason() -> None:
    def connect() -> Callable[[], None]:
        raise BadConfig("Slack does not accept the bot token: invalid_auth.")

    with pytest.raises(BadConfig, match="invalid_auth"), meeting(connect, Troubles()):
        pass


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (refusal("invalid_auth"), BadConfig), (refusal("internal_error", 500), SlackAway),
        (refusal("ratelimited", 429), SlackAway), (TimeoutError(), SlackAway),
    ],
)  # fmt: skip
def test_away_is_told_from_unwanted(error: Exception, kind: type[Exception]) -> None:
    def refuse(_: object) -> None:
        raise error

    slate = SlateClient()
    slate.refuse = refuse

    with pytest.raises(kind):
        find_home(slate)
