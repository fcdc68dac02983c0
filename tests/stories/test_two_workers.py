"""Several processes over one PostgreSQL. Every story by every carrier: python -m tests.proof.cluster."""

from pathlib import Path

import pytest

from tests.support.cluster.story import cluster, killed, stood_still, two_bots

pytestmark = [pytest.mark.crash, pytest.mark.postgres]


def test_when_one_of_two_workers_is_killed_the_other_goes_on_or_asks(postgres: str, tmp_path: Path) -> None:
    pytest.importorskip("procrastinate", reason="pip install 'signoff[cluster]'")
    with cluster(postgres, tmp_path, "procrastinate") as world:
        killed(world)


def test_a_worker_that_stood_still_past_its_lease_changes_nothing_when_it_wakes(
    postgres: str, tmp_path: Path
) -> None:
    with cluster(postgres, tmp_path, "local") as world:
        stood_still(world)


def test_two_bots_make_one_transition_of_one_click_and_one_card(postgres: str, tmp_path: Path) -> None:
    with cluster(postgres, tmp_path, "local") as world:
        two_bots(world)
