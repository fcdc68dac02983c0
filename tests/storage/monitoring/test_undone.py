"""Readiness sees work that nobody does."""

import pytest

from storage.monitoring.health import Health, Pulse
from storage.monitoring.undone import undone
from tests.support.fakes import ask, propose


def ready(store: object) -> tuple[int, str]:
    return Health(store, Pulse(turn=60.0), undone=lambda: undone(store)).answer("/readyz")


def test_what_has_just_come_is_nobodys_fault(store, clock):
    ask(store)
    store.deliver("d", "click", {"user": "ANN"})
    clock.advance(30)

    assert ready(store) == (200, "ok\n")


@pytest.mark.parametrize(
    ("kind", "seconds", "said"),
    [
        ("click", 61, "nobody handles what people did: 1, the oldest for 61 s\n"),
        ("revise", 901, "nobody thinks about what people want changed: 1, the oldest for 901 s\n"),
    ],
)
def test_a_delivery_that_nobody_handles(store, clock, kind, seconds, said):
    store.deliver("d", kind, {"user": "ANN"})
    clock.advance(seconds - 2)
    early = ready(store)
    clock.advance(2)

    assert (early, ready(store)) == ((200, "ok\n"), (503, said))


def test_a_wish_that_nobody_plans_and_a_question_that_nobody_shows(store, clock):
    ask(store)
    clock.advance(301)
    wish = ready(store)
    propose(store)
    clock.advance(121)

    assert "nobody plans what was asked for: 1, the oldest for 301 s" in wish[1]
    assert "nobody shows what people wait for: 1" in ready(store)[1]


def test_what_slack_did_not_take_is_not_work_that_nobody_does(store, clock):
    store.whisper("w", channel="C1", user="ANN", text="no")
    (message,) = store.unsent()
    store.put_off(message, clock(), problem="away", refused=False)
    clock.advance(1000)

    assert ready(store)[0] == 200
