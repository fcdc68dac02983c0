"""Telling others: every move once in order, signed, again until it is taken; nothing of what workers said."""

import json
from dataclasses import replace
from typing import Any

import pytest

from bot.machines.cloud_events import TOLD, secrets_of, tell
from bot.machines.signatures import standard
from storage.config import SignoffConfig
from storage.errors import BadConfig
from tests.support.fakes import CONTRACTS, TEAM
from tests.support.room import Room

pytestmark = pytest.mark.machines
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


class Listener:
    """Takes what it is told, as it is told to."""

    def __init__(self, *statuses: int) -> None:
        self.statuses, self.told = [*statuses], list[dict[str, Any]]()

    def __call__(self, url: str, body: bytes, headers: dict[str, str]) -> int:
        assert standard(headers, body, [SECRET], float(headers["webhook-timestamp"]))
        self.told.append(json.loads(body))
        return self.statuses.pop(0) if self.statuses else 204


@pytest.fixture
def room(lite, clock) -> Room:
    made = Room(lite)
    entry = {"url": "https://listener.example.com", "secret_env": "SIGNOFF_EVENTS_X"}
    given = {"people": made.config.people.model_dump(), "events": {"x": entry}}
    made.bot = replace(made.bot, config=SignoffConfig.model_validate(given))
    lite.publish(CONTRACTS.values())
    tell(made.bot, {"x": SECRET}, Listener())  # it begins with what happens from now on
    plan_id = lite.request("deploy a", team=TEAM, user="ANN", channel="C1")
    lite.cancel(plan_id, user="ANN", reason="xoxb-123456789012-abcdefghijkl")
    clock.advance(seconds=10)
    return made


def test_each_move_is_told_once_and_in_order(room):
    listener = Listener()
    tell(room.bot, {"x": SECRET}, listener)
    tell(room.bot, {"x": SECRET}, listener)

    assert [one["type"] for one in listener.told] == ["signoff.plan.requested", "signoff.plan.cancelled"]
    assert [one["id"] for one in listener.told] == ["plan-1-1", "plan-1-2"]
    assert "xoxb" not in json.dumps(listener.told)
    assert {one["specversion"] for one in listener.told} == {"1.0"}


def test_what_is_not_taken_is_told_again_later_and_holds_the_next_back(room, clock):
    listener = Listener(500, 0)
    tell(room.bot, {"x": SECRET}, listener)
    tell(room.bot, {"x": SECRET}, listener)  # not yet
    assert len(listener.told) == 1
    assert "answered 500" in room.store.tellings()[0].problem
    clock.advance(seconds=60)
    tell(room.bot, {"x": SECRET}, listener)
    clock.advance(seconds=60)
    tell(room.bot, {"x": SECRET}, listener)

    assert [one["id"] for one in listener.told] == ["plan-1-1"] * 3 + ["plan-1-2"]


def test_after_a_day_it_is_given_up_said_in_the_log_and_the_next_is_told(room, clock, caplog):
    listener = Listener(503, 503, 204)
    tell(room.bot, {"x": SECRET}, listener)
    clock.advance(days=1)
    tell(room.bot, {"x": SECRET}, listener)

    assert [one["id"] for one in listener.told] == ["plan-1-1", "plan-1-1", "plan-1-2"]
    assert "was not told of plan-1-1" in caplog.text


def test_a_blank_secret_does_not_start():
    given = {"events": {"x": {"url": "https://a.example", "secret_env": "SIGNOFF_EVENTS_X"}}}
    with pytest.raises(BadConfig):
        secrets_of(SignoffConfig.model_validate(given).events, {"SIGNOFF_EVENTS_X": " "})


@pytest.mark.parametrize("url", ["http://evil.example", "ftp://x", "file:///etc/passwd", "https:/x"])
def test_an_address_is_https_or_this_machine(url):
    with pytest.raises(ValueError, match="https"):
        SignoffConfig.model_validate({"events": {"x": {"url": url, "secret_env": "SIGNOFF_EVENTS_X"}}})


def test_what_is_told_are_moves():
    assert {"approve", "finish", "reject"} <= TOLD.keys()
