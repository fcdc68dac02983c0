"""Figures equal a count by hand over a journal that was made by hand; and SQL counts as Python does."""

from datetime import timedelta
from typing import Any

import pytest

from bot.cli.stats import stats
from storage.board.spans import percentile
from storage.board.stories import all_opened, drop, rows
from storage.board.sums import Reach, elsewhere, sums, sums_of
from tests.support.fakes import (
    FakeClock,
)
from tests.support.samples.evening import evening
from tests.support.store import Store

pytestmark = pytest.mark.board


def hold(store: Store, clock: FakeClock) -> Any:
    return sums(store, clock() - timedelta(days=1), clock() + timedelta(minutes=1), Reach())


def test_the_figures_are_those_of_a_hand_count(store: Store, clock: FakeClock):
    evening(store, clock)
    store.tell_stories()
    found = hold(store, clock)

    assert found.outcomes == {"succeeded": 4, "failed": 1, "rejected": 1, "cancelled": 1}
    assert (found.ended, found.wanted, found.approved) == (7, 7, 5)
    assert (found.rejected, found.expired, found.abandoned, found.edited) == (1, 0, 1, 1)
    assert (found.approvals, found.unopened) == (5, 4)
    assert found.waited(50) == 0.0
    assert found.waits[-2:] == (120.0, 240.0)
    assert found.usd == 0.25


def test_sql_counts_what_python_counts(store: Store, clock: FakeClock):
    evening(store, clock)
    store.tell_stories()

    assert hold(store, clock) == sums_of(rows(store.journal(), all_opened(store)))


def test_the_stories_say_what_the_journal_says(store: Store, clock: FakeClock):
    evening(store, clock)
    store.tell_stories()
    found, whole = hold(store, clock), stats(store.journal())

    assert whole.outcomes == found.outcomes
    assert (whole.ended, whole.recovered) == (found.troubled, found.recovered)
    assert whole.approve_longest == max(found.waits)


def test_a_story_is_told_once_and_can_be_told_again(store: Store, clock: FakeClock):
    evening(store, clock)
    assert store.tell_stories() == 7
    assert store.tell_stories() == 0
    before = hold(store, clock)
    drop(store)
    assert store.tell_stories() == 7
    assert hold(store, clock) == before


def test_only_what_somebody_reaches_is_counted(store: Store, clock: FakeClock):
    made = evening(store, clock)
    store.tell_stories()
    since, until = clock() - timedelta(days=1), clock() + timedelta(minutes=1)

    assert sums(store, since, until, Reach(frozenset())).ended == 0
    assert sums(store, since, until, Reach(frozenset({"C1"}))).ended == 7
    assert sums(store, since, until, Reach(frozenset(), frozenset({made["well"]}))).outcomes == {
        "succeeded": 1
    }
    assert {*elsewhere(store, since, until, {"C9"})} == {*made.values()} - {made["wish"]}
    assert elsewhere(store, since, until, {"C1"}) == []


@pytest.mark.parametrize(
    ("values", "share", "found"), [([1.0], 50, 1.0), ([1.0, 2.0], 50, 1.0), ([3.0, 1.0, 2.0], 90, 3.0)]
)
def test_a_percentile_is_one_of_the_values(values, share, found):
    assert percentile(values, share) == found
