"""One's own first job, as the README tells it: its commands and its words, on a real cluster and database."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.proof.first.__main__ import TEN_MINUTES, own_commands, own_job


def test_the_readme_names_four_commands() -> None:
    assert [line.split()[0] for line in own_commands()] == ["git", "cd", "signoff", "signoff"]


@pytest.mark.browser
@pytest.mark.k8s
@pytest.mark.postgres
def test_what_the_readme_says_deploys_ones_own_service(tmp_path: Path, browser: Browser) -> None:
    assert own_job(tmp_path / "own", browser, installed=True) < TEN_MINUTES
