"""Two databases to back up: an SQLite file, and one on PostgreSQL."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.backup_site import entry_of, filled, make_shop


@pytest.fixture
def shop(tmp_path: Path) -> dict[str, Any]:
    return make_shop(tmp_path)


@pytest.fixture
def server(postgres: str) -> str:
    """Where `billing` lies; tests of passwords have a `server` of their own."""
    return postgres


@pytest.fixture
def url(server: str) -> str:
    return filled(server)


@pytest.fixture
def billing(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    return entry_of(url, tmp_path, monkeypatch)
