"""A loop that stands still ends the process; a process that was stopped as a whole goes on."""

import pytest

from storage.monitoring.health import Pulse
from storage.monitoring.watchdog import EVERY, Watchdog


def watched(patience: float) -> tuple[Watchdog, list[str], list[float]]:
    ended, now = list[str](), [0.0]
    dog = Watchdog(Pulse(think=patience), lambda: ended.append("ended"), lambda: now[0])
    return dog, ended, now


def test_a_loop_that_stands_still_ends_the_process():
    dog, ended, now = watched(-1.0)
    now[0] += EVERY
    dog.look()

    assert ended == ["ended"]


def test_loops_that_turn_are_left_alone():
    dog, ended, now = watched(60.0)
    now[0] += EVERY
    dog.look()

    assert ended == []


@pytest.mark.parametrize(("pause", "ends"), [(5 * EVERY, ["ended"]), (5 * EVERY + 1, []), (3600, [])])
def test_a_process_that_was_stopped_and_goes_on_blames_none_of_its_loops(pause, ends):
    """A look that is a little late is no such stop: on a busy machine a loop that hangs is found, too."""
    dog, ended, now = watched(-1.0)
    now[0] += pause
    dog.look()

    assert ended == ends
