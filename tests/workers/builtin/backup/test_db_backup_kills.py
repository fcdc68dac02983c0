"""A killed backup leaves no file that could be taken for one, and no process that works on."""

import random
from pathlib import Path

import pytest

from tests.proof.backup import prove
from tests.support.backup_site import fill
from tests.support.postgres import fresh_database


@pytest.mark.crash
@pytest.mark.postgres
def test_a_backup_killed_at_any_moment_is_not_there(postgres: str, tmp_path: Path) -> None:
    url = fresh_database(postgres)
    fill(url, rows=50_000)
    tally = prove(url, tmp_path, 8, random.Random(6))  # noqa: S311 # moments, no secrets

    assert (tally.kills, tally.partial, tally.orphans) == (8, 0, 0)
    assert tally.midway > 0
