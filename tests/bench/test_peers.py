"""What `make bench-peers` makes of raw figures, and of a peer that cannot be measured."""

import sys
from pathlib import Path

import pytest

from tests.bench.peers.environment import build, python_of
from tests.bench.peers.figures import Figure, absent, leads, table
from tests.bench.peers.systems import SIGNOFF, SYSTEMS, System
from tests.bench.peers.turns import Place, Silent, Sizes, hand, turn

ROWS = {
    "Signoff": ("Signoff 1.0", "all"),
    "Other": ("Other 2.0", "little"),
    "Gone": ("Gone", "not installed"),
}


def figure(number: int, system: str, kind: str, step: float, raw: float = 1.0, writes: float = 0.0) -> Figure:
    return Figure(number, system, "postgres", kind, raw, step, writes)


def cells(text: str) -> dict[str, list[str]]:
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
    return {line[0]: line[1:] for line in lines}


def test_of_a_chain_the_time_is_compared_and_of_plans_the_rate():
    assert figure(0, "x", "chain", step=3.0, raw=2.0).ratio == 1.5
    assert figure(0, "x", "plans", step=4.0, raw=2.0).ratio == 0.5


def test_a_figure_is_said_with_its_denominator():
    said = str(figure(0, "x", "plans", step=0.004, raw=0.002))

    assert said == "x postgres plans 4.000 ms a step, raw 2.000 ms: 0.50"


def test_the_table_has_medians_with_their_spread():
    found = [figure(n, "Signoff", "chain", step, writes=1.25) for n, step in enumerate((2.0, 9.0, 1.5))]
    row = cells(table(ROWS, found))["Signoff 1.0"]

    assert row == ["–", "2.00 [1.50–9.00]", "–", "–", "1.2", "all"]


def test_whoever_is_not_there_has_a_row_and_a_sentence():
    text = table(ROWS, [])

    assert cells(text)["Gone"] == ["–", "–", "–", "–", "–", "not installed"]
    assert absent({"Gone": "no such package"}, {("Other", "sqlite"): "KeyError: 'x'"}) == [
        "Gone could not be installed: no such package",
        "Other on SQLite did not answer: KeyError: 'x'",
    ]


def test_who_is_ahead_is_decided_inside_each_round():
    """The second round met a machine that stood still for one of them, the third for both."""
    found = [
        *(figure(n, "Signoff", "chain", step) for n, step in enumerate((1.0, 9.0, 5.0))),
        *(figure(n, "Other", "chain", step) for n, step in enumerate((2.0, 2.0, 10.0))),
    ]

    assert leads(found, "Signoff") == [("chain_postgres_signoff_per_other", 0.5, 1.0, False)]


def test_of_plans_more_is_ahead():
    found = [figure(0, "Signoff", "plans", step=0.5), figure(0, "Other", "plans", step=2.0)]

    assert leads(found, "Signoff") == [("plans_postgres_signoff_per_other", 4.0, 1.0, True)]


def test_a_round_in_which_one_was_silent_is_not_compared():
    assert leads([figure(0, "Signoff", "chain", 1.0), figure(1, "Other", "chain", 1.0)], "Signoff") == []


PIP = """#!/bin/sh
case "$*" in *missing*) echo "Collecting" >&2; echo "ERROR: no such package" >&2; exit 1;; esac
"""


def test_a_peer_that_cannot_be_installed_takes_no_other_with_it(tmp_path):
    python = python_of(tmp_path)
    python.parent.mkdir()
    python.write_text(PIP)
    python.chmod(0o755)

    gone = build(
        tmp_path, [System("Gone", "gone", "", ("missing",)), System("Other", "other", "", ("there",))]
    )

    assert gone == {"Gone": "ERROR: no such package"}


def test_a_system_that_does_not_start_is_a_sentence(tmp_path):
    nobody = System("Nobody", "nobody", "")

    with (
        pytest.raises(Silent, match=r"No module named tests\.bench\.peers\.hands\.nobody"),
        hand(Path(sys.executable), nobody, "sqlite://", tmp_path) as told,
    ):
        told.hear()


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda one: one.name)
def test_every_system_has_a_hand(system):
    assert (Path(__file__).parent / f"peers/hands/{system.hand}.py").exists()


def test_a_turn_is_a_chain_and_plans_at_once_beside_raw(tmp_path):
    place = Place("sqlite", lambda: f"sqlite:///{tmp_path}/x.db", "sqlite:///")
    found = list(turn(Path(sys.executable), SIGNOFF, place, tmp_path, Sizes(chain=3, plans=2, steps=2)))

    assert [(one.system, one.kind) for one in found] == [("Signoff", "chain"), ("Signoff", "plans")]
    assert all(one.raw > 0 and one.step > 0 for one in found)
