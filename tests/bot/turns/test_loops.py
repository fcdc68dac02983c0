"""A database that is away, or another bot that went on, ends a turn and not the bot."""

import time
from threading import Event

import pytest

import bot.turns.loops
from bot.turns.loops import patient, spin
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
