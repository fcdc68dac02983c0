"""A place that stands before a report is not said again in it."""

import pytest

from bot.cards.face.once import elsewhere, named

NAME = "*Look at auth-service on production*"


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("auth-service v2 on production, 2/2 ready", "auth-service v2, 2/2 ready"),
        ("2 of 9 failed on production in 1.1 s", "2 of 9 failed in 1.1 s"),
        ("all traffic on green", "all traffic on green"),
        ("9 passed on staging", "9 passed on staging"),
        ("web v1, its first version, on production, rolling", "web v1, its first version, rolling"),
        ("it runs on production-2", "it runs on production-2"),
        ("it runs on production.example.com", "it runs on production.example.com"),
        ("it runs on production. It is well", "it runs. It is well"),
    ],
)
def test_the_place_with_which_a_name_ends_is_said_once(said, left):
    assert named(NAME, said) == f"{NAME}: {left}"


def test_a_name_without_a_place_takes_nothing_away():
    assert elsewhere("Back up auth_prod", "auth_prod backed up on disk 2") == "auth_prod backed up on disk 2"
