"""The pace of two bots: together they are no faster than one, and what one was refused the other leaves."""

from datetime import timedelta

import pytest
from sqlalchemy import Engine

from bot.slack.pace import POST, UPDATE, UPDATES
from bot.slack.together.shared_pace import SharedPace
from tests.conftest import emptied
from tests.support.fakes import FakeClock
from tests.support.store import Store

pytestmark = pytest.mark.postgres


@pytest.fixture
def place(postgres_engine: Engine, clock: FakeClock) -> Store:
    return Store(emptied(postgres_engine), clock)


@pytest.fixture
def two(place: Store) -> list[SharedPace]:
    return [SharedPace(store=place.stranger()) for _ in range(2)]


STARTED = (7.0, 90_000.0)  # each counts the seconds since its own start


def test_a_channel_takes_no_more_from_two_than_from_one(two, clock):
    sent = []
    for tenth in range(200):
        for pace, started in zip(two, STARTED, strict=True):
            if pace.take(POST, "C1", started + tenth / 10):
                sent.append(tenth / 10)
        clock.advance(0.1)

    assert max(sum(at <= other < at + 5 for other in sent) for at in sent) <= 5
    assert len(sent) >= 15
    assert two[0].take(POST, "C2", STARTED[0] + 20)


def test_updates_of_all_bots_share_one_bucket(two):
    taken = [two[n % 2].take(UPDATE, f"C{n}", STARTED[n % 2]) for n in range(UPDATES + 4)]

    assert taken == [True] * UPDATES + [False] * 4


def test_what_one_was_refused_the_other_leaves_for_so_long(two, clock):
    (one, other), (here, there) = two, STARTED
    one.refused("reactions.add", here, 7.0)
    other.look(there)
    early = other.ready("reactions.add", "C1", there)
    clock.advance(8)

    assert not early
    assert other.ready("reactions.add", "C1", there + 8)
    assert other.ready("chat.delete", "C1", there)


@pytest.mark.parametrize("by", [timedelta(hours=2), timedelta(hours=-2)])
def test_a_clock_that_is_set_costs_no_more_than_a_burst(two, clock, by):
    (one, other), (here, there) = two, STARTED
    while one.take(POST, "C1", here):
        pass
    one.refused(POST, here, 3.0)
    clock.now += by
    other.look(there)

    assert other.take(POST, "C1", there + 301)


def test_who_saw_an_older_version_changes_nothing(place):
    first, late = place.note_pace("post:C1", 0, {"full": 1.0}), place.note_pace("post:C1", 0, {"full": 9.0})

    assert (first, late) == (True, False)
    assert place.note_pace("post:C1", 1, {"full": 2.0})
    assert place.paces(["post:C1"]) == {"post:C1": (2, {"full": 2.0})}
