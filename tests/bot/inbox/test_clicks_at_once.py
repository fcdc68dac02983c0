"""A crowd at one card: one decision, and an answer for everybody else."""

from pathlib import Path

from tests.proof.clicks import crowd


def test_fifty_members_click_at_once_and_one_decision_counts(tmp_path: Path) -> None:
    with crowd(tmp_path) as found:
        approvals, unanswered = found.round()

    assert approvals == 1
    assert unanswered == []
