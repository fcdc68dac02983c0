"""The outbox against the local workspace: nothing lost, nothing doubled, whatever Slack does."""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from slack_sdk import WebClient

from bot.local.client.person import WorkspaceClient
from bot.local.server import LocalSlack
from bot.slack.attachments import LARGEST_LOG, read_log
from bot.slack.outbox import Outbox, patience
from bot.slack.pace import BURST, EVERY, POST, UPDATE, UPDATES, Pace
from storage.database.engine import migrate, open_engine
from storage.errors import SignoffError
from tests.support.fakes import (
    CONTRACTS,
    FakeClock,
    approve,
    bad,
    ok,
    plan_spec,
    step,
    succeed,
    take,
    taker,
    terms,
)
from tests.support.store import Store

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


class Plain(WebClient):
    """A Slack that takes no long sections."""

    def chat_postMessage(self, **given: Any) -> Any:  # noqa: N802 # Slack's own name
        long = len(given["blocks"][0].get("text", {}).get("text", "")) > 100
        return super().chat_postMessage(**given | ({"blocks": [{"type": "nonsense"}]} if long else {}))


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
    with outbox.store.write() as t:  # as if killed between Slack's answer and our note of it
        t.connection.exec_driver_sql(
            "UPDATE message SET ts = '', shown = 0, sending = 1 WHERE kind = ?", (kind,)
        )

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
    outbox.speak()

    assert len(workspace.messages()) == 1
    assert outbox.store.view(lost).card == ""
    assert outbox.store.unsent() == []


@pytest.mark.parametrize(
    ("change", "why"),
    [({"is_archived": True}, "it is archived"), ({"has_bot": False}, "I am not in it (any more)"),
     ({"has_bot": False, "is_private": True}, "I cannot find it (any more)")],
)  # fmt: skip
def test_the_requester_hears_once_that_a_channel_no_longer_takes_their_plan(outbox, workspace, change, why):
    plan_id = proposed(outbox.store)
    outbox.speak()
    workspace.change_channel(CHANNEL, **change)
    try:
        approve(outbox.store, plan_id)
        for _ in range(3):
            outbox.speak()
    finally:
        workspace.change_channel(CHANNEL, is_archived=False, has_bot=True, is_private=False)

    told = [body["text"] for body in workspace.state()["messages"] if body["channel"] == "D0ANN"]

    assert told == [
        f"I cannot write into <#{CHANNEL}> about plan {plan_id}: {why}. "
        "Nothing else changes: those who may decide find it in my home tab."
    ]
    assert outbox.store.unsent() == []


def test_a_deleted_card_is_posted_again_and_its_thread_goes_on_there(outbox, workspace, clock):
    plan_id = proposed(outbox.store)
    outbox.speak()
    first = outbox.store.view(plan_id).card
    workspace.delete(CHANNEL, first)
    approve(outbox.store, plan_id)
    for _ in range(4):
        outbox.speak()
        clock.advance(6)

    second = outbox.store.view(plan_id).card
    thread = workspace.thread(second)
    told = [body["text"] for body in workspace.state()["messages"] if body["channel"] == "D0ANN"]

    assert second != first
    assert [body["ts"] for body in workspace.messages()] == [second]
    assert "approved revision 1" in thread[1]["text"]
    assert told == [f"My card of plan {plan_id} in <#{CHANNEL}> was deleted; I post it again."]


def test_a_thread_message_whose_blocks_are_refused_goes_as_words_with_its_buttons(outbox, slack, workspace):
    plan_id = proposed(outbox.store)
    outbox.speak()
    approve(outbox.store, plan_id)
    outbox.store.fail(take(outbox.store, plan_id, "s1"), bad("it broke"), actor="w1")
    fussy = Outbox(outbox.store, Plain(token=slack.bot_token, base_url=slack.api_url, retry_handlers=[]))
    for _ in range(3):
        fussy.speak()

    told = workspace.thread(outbox.store.view(plan_id).card)[-1]

    assert "it broke" in told["text"]
    assert [block["type"] for block in told["blocks"]] == ["section", "actions"]
    assert len(told["blocks"][0]["text"]["text"]) < 100


def test_posts_come_in_a_burst_and_then_one_a_second_for_each_channel(clock):
    pace, sent = Pace(), []
    for second in range(20):
        for _ in range(5):
            if pace.ready(POST, "C1", clock()):
                pace.sent(POST, "C1", clock())
                sent.append(second)
        clock.advance(EVERY.total_seconds())

    assert sent[:BURST] == [0] * 5 + [1] * 3
    assert sent[BURST:] == [*range(1, 20)][: len(sent) - BURST]
    assert pace.ready(POST, "C2", clock())


def test_after_a_429_the_method_pauses_for_everybody_and_there_are_no_bursts(clock):
    pace = Pace()
    pace.refused(POST, clock(), timedelta(seconds=7))
    paused = [pace.ready(POST, channel, clock()) for channel in ("C1", "C2")]
    clock.advance(7)
    first = pace.ready(POST, "C1", clock())
    pace.sent(POST, "C1", clock())
    second = pace.ready(POST, "C1", clock())
    clock.advance(EVERY.total_seconds())

    assert (paused, first, second) == ([False, False], True, False)
    assert pace.ready(POST, "C1", clock())
    assert pace.ready(UPDATE, "C1", clock())


def test_updates_share_one_bucket(clock):
    pace = Pace()
    for number in range(UPDATES):
        assert pace.ready(UPDATE, f"C{number}", clock())
        pace.sent(UPDATE, f"C{number}", clock())

    assert not pace.ready(UPDATE, "C99", clock())


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
    (root / "hard").hardlink_to(secret)
    (root / "away").symlink_to(tmp_path)
    (root / "huge").write_text("x" * (LARGEST_LOG + 1))
    paths = [
        root / "log",
        secret,
        root / "link",
        root / "hard",
        root / "away" / "attempts" / "log",
        root / ".." / "key",
        root / "huge",
        root,
        root / "none",
        "\0",
    ]

    assert [read_log(str(path), root) for path in paths] == ["it broke"] + [""] * 9


def test_a_plan_that_does_not_fit_has_its_file_in_the_thread(outbox, workspace):
    steps = [step(f"s{n}", purpose=f"Do part {n} of it", parameters={"service": "a"}) for n in range(50)]
    outbox.store.publish(CONTRACTS.values())
    plan_id = outbox.store.request("deploy a", team="T1", user="U0ANN", channel=CHANNEL)
    outbox.store.propose(plan_id, plan_spec(*steps), terms(), author="planner")
    outbox.speak()
    outbox.speak()

    file = workspace.person("U0ANN").file(f"plan-{plan_id}-revision-1.txt")

    assert file["lines_more"] > 50


def test_an_estimate_comes_from_what_a_step_took_lately(outbox, clock):
    store = outbox.store
    for _ in range(3):
        plan_id = proposed(store)
        approve(store, plan_id)
        taken = take(store, plan_id, "s1")
        clock.advance(200)
        store.succeed(taken, ok(), actor="w1")

    found = {contract.action: contract.typical for contract in store.contracts()}

    assert found["deploy"] == 200
    assert found["backup"] == 60


def test_a_home_tab_that_lost_the_race_is_drawn_again(outbox, workspace, clock):
    drawn = []
    tab = Outbox(outbox.store, outbox.client, lambda user, channel: drawn.append(user) or HOME)
    tab.store.open_home("U0ANN", "D0ANN")
    workspace.fault(stale_view=1)
    tab.speak()
    none = workspace.state()["homes"]
    clock.advance(11)
    tab.speak()

    assert (none, drawn) == ([], ["U0ANN", "U0ANN"])
    assert workspace.person("U0ANN").home()["blocks"][0]["type"] == "header"


def test_what_need_not_be_said_takes_nobodys_turn(outbox, workspace, clock):
    """The sixty outcomes of a long plan that went well: the summary does not wait a minute for them."""
    store = outbox.store
    store.publish(CONTRACTS.values())
    plan_id = store.request("check it all", team="T1", user="U0ANN", channel=CHANNEL)
    store.propose(plan_id, plan_spec(*(step(f"s{n}") for n in range(60))), terms(), author="planner")
    approve(store, plan_id)
    for number in range(60):
        succeed(store, plan_id, f"s{number}")
    for _ in range(4):
        outbox.speak()
        clock.advance(1)
    said = [message["text"] for message in workspace.thread(store.view(plan_id).card)[1:]]

    assert [text for text in said if "failed" in text or "it is done" in text] == []
    assert any(text.startswith(":white_check_mark: *") and ": done in" in text for text in said)
