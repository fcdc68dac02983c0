"""`signoff stats fleet`: the lines that people read."""

import pytest

from bot.cli.fleet_stats import told
from storage.monitoring.fleet import Fleet

pytestmark = pytest.mark.fleet


def test_nothing_is_said_of_what_was_not_counted() -> None:
    assert [*told(Fleet())] == ["No agent has worked yet."]
    plain = "\n".join(told(Fleet(subtasks=1, running=1, attempts=1)))
    assert "p50" not in plain
    assert "Merge batches" not in plain


def test_what_landed_says_its_cost_and_how_merging_went() -> None:
    found = Fleet(
        subtasks=3, green=3, landed=3, attempts=4, usd=0.5, batches={"partly": 1, "whole": 2}, suite_runs=5,
        landed_usd={"p50": 0.1, "p90": 0.3},
    )  # fmt: skip
    lines = "\n".join(told(found))
    assert "Merge batches      1 partly, 2 whole; the suite ran 5 times for them" in lines
    assert "0.1000 USD (p50) and 0.3000 (p90) for one that landed" in lines
