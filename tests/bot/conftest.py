"""Fixtures for several rooms of the bot: a workspace on localhost with Ann and Bob, and SSH keys."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from slack_sdk import WebClient

    from bot.local.client.person import Person, WorkspaceClient
    from bot.local.server import LocalSlack


@pytest.fixture(scope="module")
def slack() -> "Iterator[LocalSlack]":
    """Tests that want other members, channels or faults have a `slack` of their own."""
    from bot.local.server import LocalSlack
    from tests.support.local_kit import ANN, BOB

    with LocalSlack(members=[ANN, BOB]) as running:
        yield running


@pytest.fixture
def workspace(slack: "LocalSlack") -> "WorkspaceClient":
    """Nothing has been said there yet."""
    client = slack.client()
    client.clear()
    return client


@pytest.fixture
def api(slack: "LocalSlack", workspace: "WorkspaceClient") -> "WebClient":
    from slack_sdk import WebClient

    return WebClient(slack.bot_token, base_url=slack.api_url)


@pytest.fixture
def ann(workspace: "WorkspaceClient") -> "Person":
    return workspace.person("U0ANN")


@pytest.fixture
def bob(workspace: "WorkspaceClient") -> "Person":
    return workspace.person("U0BOB")


@pytest.fixture(scope="session")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """SSH keys to sign with, and the file that says which of them are allowed."""
    from tests.support.samples.second_factor import make_keys

    return make_keys(tmp_path_factory.mktemp("keys"))
