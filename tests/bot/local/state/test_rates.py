"""Slack's rate limits: so many in a minute, and then the seconds to wait."""

from bot.local.api.methods import METHODS
from bot.local.state.rates import METHODS as LIMITED
from bot.local.state.rates import Rates


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_method_of_the_third_tier_takes_fifty_in_a_minute() -> None:
    clock = Clock()
    rates = Rates(clock, on=True)

    assert [rates.wait("chat.update", f"C{n}") for n in range(50)] == [0] * 50
    clock.now = 45.5
    assert rates.wait("chat.update", "C1") == 15
    assert rates.wait("views.open", "") == 0
    clock.now = 60.0
    assert rates.wait("chat.update", "C1") == 0


def test_one_channel_takes_about_one_message_a_second() -> None:
    clock = Clock()
    rates = Rates(clock, on=True)

    assert [rates.wait("chat.postMessage", "C1") for _ in range(6)] == [0, 0, 0, 0, 0, 5]
    assert rates.wait("chat.postMessage", "C2") == 0
    clock.now = 5.0
    assert rates.wait("chat.postMessage", "C1") == 0


def test_nothing_is_limited_unless_it_is_asked_for() -> None:
    assert Rates(Clock()).wait("apps.connections.open", "") == 0
    assert {Rates(Clock()).wait("chat.update", "C1") for _ in range(60)} == {0}


def test_the_methods_with_a_limit_are_those_that_there_are() -> None:
    unlimited = {"auth.test", "chat.postMessage", "chat.getPermalink"}

    assert LIMITED.keys() | unlimited == METHODS.keys()
