"""Fixtures for several rooms of the bot."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """SSH keys to sign with, and the file that says which of them are allowed."""
    from tests.support.second_factor import make_keys

    return make_keys(tmp_path_factory.mktemp("keys"))
