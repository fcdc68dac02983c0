"""The short form of `python -m tests.crash`: it finds nothing wrong, and it would find what is."""

import re
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.crash, pytest.mark.timeout(600)]


KINDS = ("lost", "twice", "stuck", "broken")


def crash(*arguments: str) -> tuple[list[dict[str, int]], str]:
    """The figures of each line, and what was found."""
    command = [sys.executable, "-m", "tests.crash", *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=580, check=False)
    said = [line for line in ran.stdout.splitlines() if not line.startswith("sometimes:")]
    lines = [line.rpartition(": ")[2] for line in said]
    figures = [{name: int(count) for name, count in re.findall(r"(\w+) (\d+)", line)} for line in lines]
    assert figures, ran.stderr
    assert ran.returncode == any(line[kind] for line in figures for kind in KINDS), ran.stderr
    return figures, ran.stderr


def test_a_death_at_any_point_loses_nothing_and_doubles_nothing_on_sqlite():
    (figures,), found = crash("--share", "15")

    assert not any(figures[kind] for kind in KINDS), found
    assert figures["points"] >= 60
    assert figures["kills"] >= 5


@pytest.mark.postgres
def test_a_death_at_any_point_loses_nothing_and_doubles_nothing_on_postgres(postgres):
    (figures,), found = crash("--share", "25", "--database", "postgres", "--url", postgres)

    assert not any(figures[kind] for kind in KINDS), found
    assert figures["points"] >= 60
    assert figures["kills"] >= 3


@pytest.mark.postgres
def test_a_bot_that_dies_over_what_it_has_claimed_leaves_it_to_the_next(postgres):
    (figures,), found = crash("--match", "claim leases", "--database", "postgres", "--url", postgres)

    assert not any(figures[kind] for kind in KINDS), found
    assert figures["kills"] >= 2


def test_every_planted_bug_is_found():
    kinds = {
        "effect-before-start": "twice", "retry-unsafe": "twice", "no-fence": "broken", "ack-first": "lost",
        "no-recovery": "stuck",
    }  # fmt: skip
    figures, found = crash(*(f"--bug={bug}" for bug in kinds))

    assert [bug for bug, line in zip(kinds, figures, strict=True) if not line[kinds[bug]]] == [], found
