"""Open pages hear at once what moves seldom, and together what moves all the time."""

from dataclasses import dataclass

import pytest

from bot.board.pace import LEAST, MOST, SHARE, Pace


@dataclass
class Machine:
    """A clock, and a process that works so much for each second of it."""

    now: float = 100.0
    share: float = 0.0

    def worked(self) -> float:
        return self.now * self.share

    def passes(self, seconds: float) -> bool:
        self.now += seconds
        return False


def waited(machine: Machine, pace: Pace) -> float:
    began = machine.now
    pace.wait(machine.passes)
    return machine.now - began


def test_after_a_quiet_while_pages_are_told_at_once() -> None:
    machine = Machine()
    pace = Pace(lambda: machine.now, machine.worked)

    assert waited(machine, pace) == 0.0
    machine.passes(LEAST)
    assert waited(machine, pace) == 0.0


def test_what_moves_all_the_time_is_told_every_now_and_then() -> None:
    machine = Machine()
    pace = Pace(lambda: machine.now, machine.worked)
    pace.wait(machine.passes)

    assert waited(machine, pace) == pytest.approx(LEAST)


@pytest.mark.parametrize("cost", [0.01, 0.05, 0.2])
def test_pages_that_cost_much_are_told_so_seldom_that_the_core_is_free(cost: float) -> None:
    machine, spent = Machine(), [0.0]
    pace = Pace(lambda: machine.now, lambda: spent[0])
    pace.wait(machine.passes)
    began = machine.now
    for _ in range(10):
        spent[0] += cost
        pace.wait(machine.passes)

    assert 10 * cost / (machine.now - began) <= SHARE * 1.01


def test_nothing_is_told_later_than_after_a_few_seconds() -> None:
    machine = Machine(share=1.0)
    pace = Pace(lambda: machine.now, machine.worked)
    pace.wait(machine.passes)

    assert waited(machine, pace) == pytest.approx(MOST)


def test_a_process_that_stops_does_not_wait() -> None:
    machine = Machine(share=1.0)
    pace = Pace(lambda: machine.now, machine.worked)
    pace.wait(machine.passes)
    pace.wait(lambda _: True)

    assert machine.now == 100.0
