"""Those whose decision is wanted hear of it in time, and once."""

from datetime import timedelta

import pytest

from bot.context import Bot
from bot.turns.reminders import due, remind
from storage.config import SignoffConfig
from tests.support.fakes import NOW, Everybody, messages, propose
from tests.support.samples.cards import plan_view

CONFIG = SignoffConfig.model_validate({"people": {"approvers": ["UBOB", "UCAROL"], "admins": ["UROOT"]}})


def told(channel: str, left: float, hours: float = 24.0, **fields: object) -> list[str]:
    """Who is told what, by the keys, when this part of a proposal's life is left."""
    expires = NOW + timedelta(hours=hours * left)
    times = {"made_at": expires - timedelta(hours=hours), "expires_at": expires}
    given = {"approvers": ("UANN", "UBOB", "UCAROL"), "channel": channel} | times | fields
    return [key.replace(":1:1", "") for key, _, _ in due(plan_view(**given), CONFIG, NOW)]


@pytest.mark.parametrize(
    ("channel", "left", "expected"),
    [
        ("C1", 0.9, []),
        ("D1", 0.9, ["waits:UBOB", "waits:UCAROL"]),
        ("C1", 0.4, ["half:UBOB", "half:UCAROL"]),
        ("C1", 0.05, ["half:UBOB", "half:UCAROL", "late:UANN", "late:UROOT"]),
    ],
)
def test_people_are_told_then_reminded_then_others_hear(
    channel: str, left: float, expected: list[str]
) -> None:
    assert told(channel, left) == expected
    assert told(channel, left, hours=2.0) == expected, "a rule may give it less time"
    assert told(channel, left, hours=72.0) == expected, "or more"


def test_who_has_approved_is_not_asked_again() -> None:
    assert told("C1", 0.4, approved_by=("UBOB",)) == ["half:UCAROL"]


def test_half_time_is_half_of_what_the_rules_give(lite, clock) -> None:
    rule = {"name": "slow", "reason": "many read it", "require": {"within_hours": 72}}
    config = SignoffConfig.model_validate(
        {"people": {"approvers": ["BOB"], "admins": ["ROOT"]}, "policy": {"rules": [rule]}}
    )
    propose(lite, expires_at=NOW + timedelta(hours=72))
    bot = Bot(lite, config, Everybody(), lambda trigger, view: None)
    remind(bot)
    assert messages(lite, "tell") == []
    clock.advance(hours=37)
    remind(bot)

    assert "still waits for your decision" in messages(lite, "tell")[0].text
