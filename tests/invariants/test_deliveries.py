"""Short forms of `tests.proof.deliveries`: a storm around the real bot process, and a Slack that says 429."""

from pathlib import Path

import pytest

from tests.proof.deliveries import deliver, speak


@pytest.mark.crash
def test_in_a_storm_nothing_is_doubled_and_nothing_is_lost(tmp_path: Path) -> None:
    wrong, kills = deliver(tmp_path, 120, every=0.2, kill=0.4)

    assert not any(wrong.values()), wrong
    assert kills


def test_while_slack_says_429_a_channel_hears_one_message_a_second_in_order(tmp_path: Path) -> None:
    said = speak(tmp_path, 4, rooms=2)

    assert said["closest"] >= 1.0
    assert (said["messages"], said["out of order"], said["lost"]) == (8, 0, 0)
