"""What people see while a planner thinks: soon, where they look, and not a moment longer than it does."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from slack_sdk import WebClient

from bot.local.client.person import WorkspaceClient
from bot.local.server import LocalSlack
from bot.local.shapes import STATUS
from bot.slack.outbox import Outbox
from storage.database.engine import migrate, open_engine
from tests.support.fakes import CONTRACTS, FakeClock, plan_spec, step, terms
from tests.support.local_kit import ANN
from tests.support.store import Store

CHANNEL = "C0OPS"
SAID = "Thinking … looked at auth-service on production."


@pytest.fixture
def store(tmp_path: Path, clock: FakeClock) -> Iterator[Store]:
    engine = open_engine(f"sqlite:///{tmp_path / 'x.db'}")
    migrate(engine)
    made = Store(engine, clock)
    made.publish(CONTRACTS.values())
    yield made
    engine.dispose()


def outbox(slack: LocalSlack, store: Store) -> Outbox:
    client = WebClient(token=slack.bot_token, base_url=slack.api_url, retry_handlers=[])
    return Outbox(store, client, steady=lambda: store.clock().timestamp())


def think(store: Store, plan_id: int, text: str) -> None:
    store.think_aloud(plan_id, text, channel=CHANNEL, user="U0ANN")


def wish(store: Store, thread: str = "") -> int:
    return store.request("undo the last deploy", team="T1", user="U0ANN", channel=CHANNEL, thread=thread)


def texts(workspace: WorkspaceClient) -> list[str]:
    return [message["text"] for message in workspace.messages()]


def test_who_waits_only_a_moment_sees_nothing(slack, workspace, store, clock):
    box, plan_id = outbox(slack, store), wish(store)
    think(store, plan_id, "Thinking …")
    clock.advance(1)
    think(store, plan_id, "")
    clock.advance(60)
    box.speak()

    assert (workspace.messages(), store.unsent()) == ([], [])
    assert not workspace.calls("assistant.threads.setStatus")


def test_a_wish_without_a_thread_is_told_of_where_its_card_will_stand_until_that_comes(
    slack, workspace, store, clock
):
    box, plan_id = outbox(slack, store), wish(store)
    think(store, plan_id, "Thinking …")
    clock.advance(3)
    box.speak()
    first = texts(workspace)
    think(store, plan_id, SAID)
    clock.advance(4)
    box.speak()
    then, (told,) = texts(workspace), workspace.messages()
    store.propose(plan_id, plan_spec(step("s1")), terms(), author="planner")
    think(store, plan_id, "")
    clock.advance(4)
    box.speak()

    assert first == ["*undo the last deploy*\nThinking …"]
    assert then == [f"*undo the last deploy*\n{SAID}"]
    (card,) = workspace.messages()
    assert card["ts"] == store.view(plan_id).card
    assert "Thinking" not in card["text"]
    assert card["ts"] > told["ts"], "it is posted anew, so that people are told of it"


def test_a_bot_that_died_over_it_leaves_nothing_behind(slack, workspace, store, clock):
    box, plan_id = outbox(slack, store), wish(store)
    think(store, plan_id, "Thinking …")
    clock.advance(3)
    box.speak()
    assert texts(workspace)
    store.cancel(plan_id, user="U0ANN", reason="never mind")
    clock.advance(31)
    store.redraw_due()
    box.speak()

    assert texts(workspace) == []


def test_in_a_thread_it_is_slacks_own_status(slack, workspace, store, clock):
    root = workspace.person("U0ANN").says("it throws errors").payload["ts"]
    box, plan_id = outbox(slack, store), wish(store, root)
    think(store, plan_id, SAID)
    clock.advance(3)
    box.speak()
    shown = workspace.messages()[0][STATUS]
    think(store, plan_id, "")
    clock.advance(4)
    box.speak()

    assert shown == SAID
    (only,) = workspace.messages()
    assert STATUS not in only


def test_where_a_workspace_has_no_status_of_its_own_it_is_a_message_in_the_thread(store, clock):
    with LocalSlack(members=[ANN], own_status=False) as slack:
        workspace = slack.client()
        root = workspace.person("U0ANN").says("it throws errors", channel=CHANNEL).payload["ts"]
        box, plan_id = outbox(slack, store), wish(store, root)
        think(store, plan_id, SAID)
        clock.advance(3)
        box.speak()
        think(store, plan_id, f"{SAID} Writing it down …")
        clock.advance(4)
        box.speak()
        told = [message["text"] for message in workspace.thread(root)]
        think(store, plan_id, "")
        clock.advance(4)
        box.speak()

        assert told[1:] == [f"*undo the last deploy*\n{SAID} Writing it down …"]
        assert len(workspace.thread(root)) == 1
        assert len(workspace.calls("assistant.threads.setStatus")) == 1, "it is not asked for again"


@pytest.mark.parametrize("native", [True, False])
def test_a_plan_that_has_a_card_says_it_there(slack, workspace, store, clock, native):
    box, plan_id = outbox(slack, store), wish(store)
    if not native:
        box.status.without.add(CHANNEL)
    store.propose(plan_id, plan_spec(step("s1")), terms(), author="planner")
    clock.advance(3)
    box.speak()
    think(store, plan_id, "Thinking how to go on …")
    for _ in range(3):
        clock.advance(4)
        box.speak()
    (during,) = workspace.messages()
    think(store, plan_id, "")
    for _ in range(3):
        clock.advance(4)
        box.speak()
    (after,) = workspace.messages()

    assert "Thinking how to go on …" in during["text"]
    assert during.get(STATUS, "") == ("Thinking how to go on …" if native else "")
    assert "Thinking" not in after["text"]
    assert STATUS not in after


def test_where_other_organisations_read_nothing_is_said(slack, workspace, store, clock):
    box, plan_id = replace(outbox(slack, store), shared=lambda channel: True), wish(store)
    think(store, plan_id, SAID)
    clock.advance(3)
    box.speak()

    assert workspace.messages() == []
