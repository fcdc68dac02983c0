"""Those whose decision is wanted hear of it in time, and once."""

from datetime import timedelta

import pytest

from bot.context import Bot
from bot.people import Unidentified
from bot.turns.reminders import able, call, due, remind
from storage.config import SignoffConfig
from tests.support.fakes import NOW, Everybody, messages, propose
from tests.support.samples.cards import plan_view

CONFIG = SignoffConfig.model_validate({"people": {"approvers": ["UBOB", "UCAROL"], "admins": ["UROOT"]}})


def told(channel: str, left: float, hours: float = 24.0, **fields: object) -> list[str]:
    """Who is told what, by the keys, when this part of a proposal's life is left."""
    expires = NOW + timedelta(hours=hours * left)
    times = {"made_at": expires - timedelta(hours=hours), "expires_at": expires}
    given = {"approvers": ("UANN", "UBOB", "UCAROL"), "channel": channel} | times | fields
    view = plan_view(**given)
    return [key.replace(":1:1", "") for key, _, _ in due(view, able(view), CONFIG, NOW)]


@pytest.mark.parametrize(
    ("channel", "left", "expected"),
    [
        ("C1", 0.9, []),
        ("D1", 0.9, []),
        ("C1", 0.4, ["half:UBOB", "half:UCAROL"]),
        ("C1", 0.05, ["half:UBOB", "half:UCAROL", "late:UANN", "late:UROOT"]),
    ],
)
def test_people_are_reminded_once_and_then_others_hear(
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


SITE = "https://lab.slack.com/"


def called(lite, view, **groups: list[str]) -> list[tuple[str, str]]:
    """Who was written to, or which group was called, and the words."""
    call(lite, Everybody(**groups), view, SITE)
    return [(m.user or m.text, m.text) for kind in ("tell", "call") for m in messages(lite, kind)]


def test_each_who_can_approve_hears_once_with_the_way_there_and_who_else_can(lite):
    view = plan_view(approvers=("UANN", "UBOB", "UCAROL"), card="100.000001")
    (bob, words), (carol, _) = called(lite, view)
    again = called(lite, view)

    assert (bob, carol) == ("UBOB", "UCAROL")
    assert words.startswith("<@UANN> asks you to approve *Deploy a* (high risk) in <#C1>.\n")
    assert f"<{SITE}archives/C1/p100000001|Open the plan>" in words
    assert "<@UCAROL> can too · open until <!date^" in words
    assert len(again) == 2, "an edit calls nobody anew"


def test_what_stands_in_direct_messages_is_decided_in_the_home_tab(lite):
    ((_, words),) = called(lite, plan_view(channel="D1", approvers=("UBOB",)))

    assert "Please decide in my home tab" in words
    assert "<#D1>" not in words


def test_the_few_of_a_group_are_told_and_many_are_called_in_the_thread(lite):
    many = [f"U{number}" for number in range(6)]
    view = plan_view(approvers=("S0FEW", "S0MANY"), card="1.1", authors=("UANN",))
    found = called(lite, view, S0FEW=["UANN", "UBOB"], S0MANY=many)

    assert [who for who, _ in found] == ["UBOB", "S0MANY"], "its author is not asked"


def test_a_group_that_cannot_be_looked_up_is_called_by_its_name(lite):
    class Nobody(Everybody):
        def members(self, group: str) -> frozenset[str]:
            raise Unidentified("silence")

    call(lite, Nobody(), plan_view(approvers=("S0DBA",), card="1.1"), SITE)

    assert [m.text for m in messages(lite, "call")] == ["S0DBA"]
