"""A database that is away, or another bot that went on, ends a turn and not the bot."""

import time
from threading import Event

import pytest

import bot.turns.loops
from bot.turns.loops import paced, patient, spin
from bot.turns.one_at_a_time import Shifts
from storage.errors import LeaseLost, Unavailable
from storage.monitoring.health import Pulse
from storage.signal_flag import Flag


@pytest.mark.parametrize("error", [Unavailable("away"), LeaseLost("another bot")])
def test_what_is_away_is_waited_for(monkeypatch, error):
    monkeypatch.setattr(bot.turns.loops, "TICK", 0.0)
    pulse = Pulse(hear=0.05)
    time.sleep(0.1)
    late = pulse.is_late("hear")

    def breaks() -> None:
        raise error

    patient("hear", breaks, pulse)()

    assert (late, pulse.is_late("hear")) == (True, False)


def test_after_a_rest_turns_follow_each_other_at_once_and_then_with_a_breath_between_them(monkeypatch):
    now, turns = [100.0], []
    monkeypatch.setattr(bot.turns.loops.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(bot.turns.loops.time, "sleep", lambda seconds: now.__setitem__(0, now[0] + seconds))
    turn = paced(lambda: turns.append(round(now[0], 3)), pause=0.1, at_once=3)
    for _ in range(5):
        turn()
    now[0] += 10
    for _ in range(4):
        turn()

    assert turns == [100.0, 100.0, 100.0, 100.1, 100.2, 110.2, 110.2, 110.2, 110.3]


def test_a_bug_ends_all_loops(lite):
    def breaks() -> None:
        raise ZeroDivisionError

    pulse, stop = Pulse(hear=60.0, speak=60.0), Flag()
    shifts = Shifts(lite.engine, pulse.patience)
    with pytest.raises(ZeroDivisionError):
        spin(lite, {"hear": breaks, "speak": lambda: None}, shifts, pulse, stop, lambda: None)
    assert stop.is_set()


def test_a_stop_ends_them_in_peace(on_disk):
    turned, pulse, stop = Event(), Pulse(hear=60.0), Flag()

    def work() -> None:
        turned.set()
        stop.set()

    spin(on_disk, {"hear": work}, Shifts(on_disk.engine, ["hear"]), pulse, stop, lambda: None)
    assert turned.is_set()
