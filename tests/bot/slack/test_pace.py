"""How fast Slack is spoken to, by a clock that nobody sets."""

from itertools import pairwise

from bot.slack.pace import BURST, EVERY, LONGEST, POST, UPDATE, UPDATES, Pace


def test_posts_come_in_a_burst_and_then_one_a_second_for_each_channel():
    pace, sent, now = Pace(), [], [0.0]
    for second in range(20):
        for _ in range(5):
            if pace.ready(POST, "C1", now[0]):
                pace.sent(POST, "C1", now[0])
                sent.append(second)
        now[0] += EVERY + 0.001

    assert sent[:BURST] == [0] * 5 + [1] * 3
    assert sent[BURST:] == [*range(1, 20)][: len(sent) - BURST]
    assert pace.ready(POST, "C2", now[0])


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
