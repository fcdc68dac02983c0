"""How fast Slack is spoken to, by a clock that nobody sets."""

from itertools import pairwise

import pytest

from bot.slack.pace import BURST, EVERY, LONGEST, POST, UPDATE, UPDATES, Pace


def go(pace: Pace, seconds: float, *, urged: bool, each: float = 0.1) -> list[float]:
    """When a channel took something, of as much as could be."""
    sent = []
    for number in range(round(seconds / each)):
        while pace.ready(POST, "C1", now := number * each, urged=urged):
            pace.sent(POST, "C1", now)
            sent.append(now)
    return sent


def test_what_people_wait_for_comes_in_a_burst_and_then_one_a_second_for_each_channel():
    pace = Pace()
    sent = go(pace, 20, urged=True)

    assert sent[BURST - 1] == 0.0 < sent[BURST]
    assert [b - a for a, b in pairwise(sent[BURST:])] >= [EVERY - 0.001]
    assert pace.ready(POST, "C2", 0.0)


def test_what_nobody_waits_for_leaves_the_burst_to_the_others():
    pace = Pace()

    assert go(pace, 0.1, urged=False) == [0.0]
    assert go(pace, 0.1, urged=True) == [0.0] * (BURST - 1)


@pytest.mark.parametrize("each", [0.1, 0.25, 1.0])
def test_no_more_than_slack_takes_in_any_five_seconds_and_nearly_that(each):
    sent = go(Pace(), 120, urged=True, each=each)

    assert max(sum(at <= other < at + 5 for other in sent) for at in sent) <= 5
    assert len(sent) / 2 >= 45


def test_no_more_updates_than_slack_takes_in_any_minute():
    pace, sent = Pace(), []
    for tenth in range(3000):
        if pace.ready(UPDATE, "C1", now := tenth / 10):
            pace.sent(UPDATE, "C1", now)
            sent.append(now)

    assert max(sum(at <= other < at + 60 for other in sent) for at in sent) <= 50


def test_after_a_429_the_method_pauses_for_everybody_and_there_are_no_bursts():
    pace, now = Pace(), [0.0]
    pace.refused(POST, now[0], 7.0)
    paused = [pace.ready(POST, channel, now[0]) for channel in ("C1", "C2")]
    now[0] += 7
    first = pace.ready(POST, "C1", now[0])
    pace.sent(POST, "C1", now[0])
    second = pace.ready(POST, "C1", now[0])
    now[0] += EVERY + 0.001

    assert (paused, first, second) == ([False, False], True, False)
    assert pace.ready(POST, "C1", now[0])
    assert pace.ready(UPDATE, "C1", now[0])


def test_a_channel_is_tight_while_it_takes_only_one_more():
    pace, seen = Pace(), []
    for _ in range(BURST):
        seen.append(pace.tight("C1", 0.0))
        pace.sent(POST, "C1", 0.0)

    assert seen == [False] * (BURST - 1) + [True]
    assert not pace.tight("C1", BURST * EVERY + 0.001)
    assert not pace.tight("C2", 0.0)


def test_updates_share_one_bucket():
    pace, now = Pace(), [0.0]
    for number in range(UPDATES):
        assert pace.ready(UPDATE, f"C{number}", now[0])
        pace.sent(UPDATE, f"C{number}", now[0])

    assert not pace.ready(UPDATE, "C99", now[0])


def test_while_slack_cannot_be_reached_it_is_tried_ever_less_often_and_at_once_when_it_answers():
    pace, now, tries = Pace(), 1000.0, []
    while now < 1200:
        if pace.ready(POST, "C1", now):
            tries.append(now)
            pace.lost(now)
        now += 0.5
    pace.heard()

    assert [round(b - a) for a, b in pairwise(tries)][:6] == [1, 2, 4, 8, 16, LONGEST]
    assert pace.ready(POST, "C1", now)
