"""Figures of the fleet: what is counted, from what, and what an incident is."""

import pytest

from storage.monitoring.fleet import Batch, Tried, counted

pytestmark = pytest.mark.fleet


def tried(step: int, state: str, *attempts: tuple[str, str, float]) -> list[Tried]:
    return [Tried(step, state, how, {"incident": kind, "usd": usd}) for how, kind, usd in attempts]


ROWS = [
    *tried(1, "succeeded", ("succeed", "", 0.5)),
    *tried(2, "succeeded", ("retry", "repetition", 0.25), ("succeed", "", 0.25)),
    *tried(3, "failed", ("retry", "red", 1.0), ("fail", "red", 1.0)),
    *tried(4, "running", ("retry", "api", 0.0), ("", "", 0.0)),
    *tried(5, "succeeded", ("succeed", "red", 0.5)),
]


def test_each_subtask_counts_once_and_an_open_incident_is_neither() -> None:
    found = counted(ROWS, landed=3)
    assert (found.subtasks, found.green, found.landed, found.running, found.attempts) == (5, 3, 3, 1, 8)
    assert found.incidents == {
        "api": {"open": 1}, "red": {"person": 1, "recovered": 1}, "repetition": {"recovered": 1},
    }  # fmt: skip
    assert found.recovered == (2, 3)


def test_money_of_what_never_became_green_is_said_apart() -> None:
    found = counted(ROWS, landed=3)
    assert (found.usd, found.usd_lost) == (3.5, 2.0)


def test_a_process_that_died_is_a_class_of_its_own() -> None:
    rows = [Tried(1, "succeeded", "lost", {}), Tried(1, "succeeded", "succeed", {"usd": 0.1})]
    assert counted(rows, landed=1).incidents == {"process": {"recovered": 1}}


def test_a_run_without_faults_has_no_incident() -> None:
    assert counted(tried(1, "succeeded", ("succeed", "", 0.1)), landed=1).incidents == {}


def costing(plan: int, title: str, *usd: float) -> list[Tried]:
    number = hash((plan, title, usd))
    return [Tried(number, "succeeded", "succeed", {"title": title, "usd": each}, plan) for each in usd]


def test_a_landed_change_has_cost_every_attempt_at_it_and_ranks_are_said() -> None:
    rows = [row for n in range(1, 10) for row in costing(1, f"t{n}", n / 10)]
    rows += costing(1, "t1", 0.4) + costing(2, "t1", 50.0) + costing(1, "never landed", 70.0)
    batch = Batch(1, tuple(f"t{n}" for n in range(1, 10)), left=1, runs=3)
    found = counted(rows, landed=9, batches=[batch])
    assert found.landed_usd == {"p50": 0.5, "p90": 0.9}


def test_merge_batches_are_counted_by_what_became_of_them() -> None:
    batches = [Batch(1, ("a",), runs=1), Batch(1, ("b",), left=1, runs=3), Batch(2, (), left=2, runs=2)]
    found = counted([], landed=2, batches=batches)
    assert found.batches == {"nothing": 1, "partly": 1, "whole": 1}
    assert found.suite_runs == 6


def test_nothing_that_landed_has_no_rank() -> None:
    assert counted(ROWS, landed=0).landed_usd == {}
