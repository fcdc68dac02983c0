"""The outbox against the local workspace: nothing lost, nothing doubled, whatever Slack does."""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from slack_sdk import WebClient

from bot.local.person import WorkspaceClient
from bot.local.server import LocalSlack
from bot.local.shapes import Member
from bot.outbox import LARGEST_LOG, Outbox, patience, read_log
from storage.engine import migrate, open_engine
from storage.errors import SignoffError
from storage.store import Store
from tests.fakes import CONTRACTS, FakeClock, approve, plan_spec, taker, terms

CHANNEL = "C0OPS"
HOME = {"type": "home", "blocks": [{"type": "header", "text": {"type": "plain_text", "text": "Signoff"}}]}


class Fussy(WebClient):
    """A Slack that takes no plan blocks."""

    def chat_postMessage(self, **given: Any) -> Any:  # noqa: N802 # Slack's own name
        if given["blocks"][0]["type"] == "plan":
            answer = super().chat_postMessage(**given | {"blocks": [{"type": "nonsense"}]})
        else:
            answer = super().chat_postMessage(**given)
        return answer


@pytest.fixture(scope="module")
def slack() -> Iterator[LocalSlack]:
    with LocalSlack(members=[Member("U0ANN", "ann", "Ann"), Member("U0BOB", "bob", "Bob")]) as running:
        yield running


@pytest.fixture
def workspace(slack: LocalSlack) -> WorkspaceClient:
    client = slack.client()
    client.clear()
    return client


@pytest.fixture
def outbox(
    slack: LocalSlack, workspace: WorkspaceClient, tmp_path: Path, clock: FakeClock
) -> Iterator[Outbox]:
    engine = open_engine(f"sqlite:///{tmp_path / 'x.db'}")
    migrate(engine)
    client = WebClient(token=slack.bot_token, base_url=slack.api_url, retry_handlers=[])
    yield Outbox(Store(engine, clock), client)
    engine.dispose()


def proposed(store: Store, channel: str = CHANNEL) -> int:
    store.publish(CONTRACTS.values())
    plan_id = store.request("deploy a", team="T1", user="U0ANN", channel=channel)
    store.propose(plan_id, plan_spec(), terms(), author="planner")
    return plan_id


def test_ten_moves_cost_one_message(outbox, workspace, clock):
    plan_id = proposed(outbox.store)
    outbox.speak()
    outbox.speak()

    (card,) = workspace.messages()

    assert outbox.store.view(plan_id).card == card["ts"]
    assert "waiting for approval" in card["text"]


@pytest.mark.parametrize("kind", ["card", "decision"])
def test_a_message_that_a_crash_kept_from_being_noted_is_found_again(outbox, workspace, kind):
    plan_id = proposed(outbox.store)
    outbox.speak()
    if kind == "decision":
        approve(outbox.store, plan_id)
        outbox.speak()
    shown = json.dumps(workspace.state()["messages"])
    with outbox.store._write() as c:  # as if killed between Slack's answer and our note of it
        c.exec_driver_sql("UPDATE message SET ts = '', shown = 0, sending = 1 WHERE kind = ?", (kind,))

    outbox.speak()

    after = workspace.state()["messages"]
    assert len(after) == len(json.loads(shown))
    assert len(workspace.messages()) == 1


def test_a_server_error_is_tried_again_without_doubling(outbox, workspace, clock):
    proposed(outbox.store)
    workspace.fault(api_down=1)
    outbox.speak()
    nothing = workspace.messages()
    clock.advance(60)
    outbox.speak()

    assert nothing == []
    assert len(workspace.messages()) == 1


def test_a_429_is_waited_for(outbox, workspace, clock):
    proposed(outbox.store)
    workspace.fault(rate_limit=1, retry_after=7)
    outbox.speak()
    clock.advance(6)
    outbox.speak()
    early = workspace.messages()
    clock.advance(2)
    outbox.speak()

    assert early == []
    assert len(workspace.messages()) == 1


@pytest.mark.parametrize(
    ("said", "seconds"), [("7", 7), ("soon", 1), ("", 1), ("1e9", 300), ("nan", 1), ("-5", 1)]
)
def test_an_odd_retry_after_is_survived(said, seconds):
    assert patience(said) == seconds


def test_a_thread_keeps_its_order_when_a_message_must_wait(outbox, workspace, clock):
    plan_id = proposed(outbox.store)
    outbox.speak()
    outbox.store.amend(plan_id, plan_spec(goal="x"), terms(), author="U0BOB", after=1, changes=["first"])
    outbox.store.amend(plan_id, plan_spec(goal="y"), terms(), author="U0BOB", after=2, changes=["second"])
    workspace.fault(rate_limit=2, retry_after=5)
    for _ in range(4):
        outbox.speak()
        clock.advance(3)
    clock.advance(10)
    outbox.speak()
    thread = workspace.thread(outbox.store.view(plan_id).card)

    assert [text.split("revision ")[1][0] for text in (m["text"] for m in thread[1:])] == ["2", "3"]


def test_updates_of_one_message_wait_three_seconds_but_a_decision_does_not(outbox, workspace, clock):
    plan_id = proposed(outbox.store)
    outbox.speak()
    approve(outbox.store, plan_id)
    outbox.speak()
    decided = workspace.messages()[0]["text"]
    store = outbox.store
    deployer = taker(CONTRACTS["deploy"], owner="w", lease=timedelta(0))
    (step_id,) = store.due(deployer, 5)
    store.claim(step_id, deployer)
    outbox.speak()
    too_soon = workspace.messages()[0]["text"]
    clock.advance(4)
    outbox.speak()

    assert "approved" in decided
    assert too_soon == decided
    assert "running step 1" in workspace.messages()[0]["text"]


def test_a_slack_without_plan_blocks_gets_sections(outbox, slack, workspace):
    proposed(outbox.store)
    fussy = Outbox(outbox.store, Fussy(token=slack.bot_token, base_url=slack.api_url, retry_handlers=[]))
    fussy.speak()
    fussy.speak()

    (card,) = workspace.messages()

    assert [block["type"] for block in card["blocks"]] == ["section", "section", "context", "actions"]


def test_a_channel_that_is_gone_stops_nothing_else(outbox, workspace):
    lost = proposed(outbox.store, channel="C0GONE")
    proposed(outbox.store)
    outbox.speak()

    assert len(workspace.messages()) == 1
    assert outbox.store.view(lost).card == ""
    assert outbox.store.unsent() == []


def test_a_wish_that_never_became_a_plan_leaves_nothing_behind(outbox, workspace):
    plan_id = outbox.store.request("sing", team="T1", user="U0ANN", channel=CHANNEL)
    outbox.store.cancel(plan_id, user="planner", reason="no runbook")
    outbox.speak()

    assert workspace.messages() == []
    assert outbox.store.unsent() == []


def test_a_whisper_reaches_one_person_once(outbox, workspace):
    for _ in range(2):
        outbox.store.whisper("answer:1", channel=CHANNEL, user="U0ANN", text="You may not.")
        outbox.speak()

    assert workspace.person("U0ANN").ephemerals() == ["You may not."]
    assert workspace.person("U0BOB").ephemerals() == []


def test_a_form_whose_trigger_is_old_asks_for_another_click(outbox, workspace):
    with pytest.raises(SignoffError, match=r"Slack refused the form|please click again"):
        outbox.open_view("no-trigger", {"type": "modal"})


def test_a_home_tab_that_was_opened_follows_its_plans_without_hurry(outbox, workspace, clock):
    drawn = []
    tab = Outbox(outbox.store, outbox.client, lambda user, channel: drawn.append(user) or HOME)
    tab.store.open_home("U0ANN", "D0ANN")
    tab.speak()
    proposed(tab.store)
    tab.speak()
    tab.speak()
    at_once = len(drawn)
    clock.advance(11)
    tab.speak()

    assert at_once == 1
    assert drawn == ["U0ANN", "U0ANN"]
    assert workspace.person("U0ANN").home()["blocks"][0]["type"] == "header"


def test_a_person_is_told_once_in_their_direct_messages(outbox, workspace):
    for _ in range(2):
        outbox.store.tell("waits:1:1:U0BOB", user="U0BOB", text="Plan 1 waits for you.")
        outbox.speak()

    found = [body for body in workspace.state()["messages"] if body["channel"] == "D0BOB"]

    assert [body["text"] for body in found] == ["Plan 1 waits for you."]


def test_a_report_cannot_make_the_bot_show_a_file_that_is_no_log(tmp_path):
    root, secret = tmp_path / "attempts", tmp_path / "key"
    root.mkdir()
    secret.write_text("secret")
    (root / "log").write_text("it broke")
    (root / "link").symlink_to(secret)
    (root / "huge").write_text("x" * (LARGEST_LOG + 1))
    paths = [
        root / "log",
        secret,
        root / "link",
        root / ".." / "key",
        root / "huge",
        root,
        root / "none",
        "\0",
    ]

    assert [read_log(str(path), root) for path in paths] == ["it broke"] + [""] * 7
