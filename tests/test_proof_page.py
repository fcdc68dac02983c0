"""The page of `make proof` says of every command what it printed, how it ended and how long it took."""

from datetime import UTC, datetime

from tests.proof.parts.report import Proof, page, prove


def test_every_command_stands_there_with_its_figures() -> None:
    found = [prove("echo 3 kills, 0 lost"), prove("echo '<b>' && exit 3")]
    text = page(found, datetime(2026, 11, 18, tzinfo=UTC), "abc1234")

    assert "1 of 2 hold" in text
    assert "3 kills, 0 lost" in text
    assert "&lt;b&gt;" in text
    assert "exit code 3" in text


def test_nothing_bad_is_called_bad() -> None:
    assert "<b class=good>1 of 1 hold</b>" in page(
        [Proof("x", "y", 0, 1.0)], datetime(2026, 11, 18, tzinfo=UTC), "a"
    )
