"""Those whose decision is wanted hear of it in time, and once."""

from datetime import timedelta

import pytest

from bot.listeners.reminders import due
from storage.config import SignoffConfig
from tests.fakes import NOW
from tests.test_cards import plan_view

CONFIG = SignoffConfig.model_validate({"people": {"approvers": ["UBOB", "UCAROL"], "admins": ["UROOT"]}})
HOURS = CONFIG.policy.expires_hours


def told(channel: str, left: float, **fields: object) -> list[str]:
    """Who is told what, by the keys, when this part of a proposal's life is left."""
    expires = NOW + timedelta(hours=HOURS * left)
    given = {"approvers": ("UANN", "UBOB", "UCAROL"), "channel": channel, "expires_at": expires} | fields
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


def test_who_has_approved_is_not_asked_again() -> None:
    assert told("C1", 0.4, approved_by=("UBOB",)) == ["half:UCAROL"]
