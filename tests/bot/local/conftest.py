"""An app at the workspace: each test module has a class `Bot` that says how it answers."""

from collections.abc import Iterator

import pytest

from bot.local.client.person import WorkspaceClient
from bot.local.server import LocalSlack
from tests.support.local_kit import ListeningBot, connected


@pytest.fixture(scope="module")
def running_bot(request: pytest.FixtureRequest, slack: LocalSlack) -> Iterator[ListeningBot]:
    found = request.module.Bot(slack)
    with connected(slack, found.app):
        yield found


@pytest.fixture
def bot(running_bot: ListeningBot, workspace: WorkspaceClient) -> ListeningBot:
    running_bot.forget()
    return running_bot
