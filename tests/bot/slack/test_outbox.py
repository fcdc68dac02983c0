"""The outbox against the local workspace: nothing lost, nothing doubled, whatever Slack does."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.web import SlackResponse

from bot import people
from bot.cards.read_answer import ALONE
from bot.local.client.person import WorkspaceClient
from bot.local.client.text import readable
from bot.local.server import LocalSlack
from bot.people import People
from bot.slack.attachments import LARGEST_LOG, read_log
from bot.slack.outbox import Outbox
from bot.slack.pace import Pace
from bot.slack.posting import Posting
from bot.slack.refusals import patience
from storage.contract.grouping import lengthy
from storage.contract.spec import StepSpec
from storage.database.engine import migrate, open_engine
from storage.errors import Conflict, LeaseLost, SignoffError
from tests.support.fakes import (
    CONTRACTS,
    DEPLOY,
    HERE,
    READ,
    Everybody,
    FakeClock,
    approve,
    bad,
    fail,
    messages,
    ok,
    plan_spec,
    step,
    succeed,
    take,
    taker,
    tamper,
    terms,
)
from tests.support.samples.cards import buttons
from tests.support.store import Store

CHANNEL = "C0OPS"
HOME = {"type": "home", "blocks": [{"type": "header", "text": {"type": "plain_text", "text": "Signoff"}}]}


class Fussy(WebClient):
    """A Slack that does not know some kinds of blocks, neither in posts nor in updates."""

    unknown: frozenset[str] = frozenset()

    def chat_postMessage(self, **given: Any) -> Any:  # noqa: N802 # Slack's own name
        return super().chat_postMessage(**self._read(given))

    def chat_update(self, **given: Any) -> Any:
        return super().chat_update(**self._read(given))

    def _read(self, given: dict[str, Any]) -> dict[str, Any]:
        strange = self.unknown & {block["type"] for block in given["blocks"]}
        return given | ({"blocks": [{"type": "nonsense"}]} if strange else {})


class Stuck(WebClient):
    """A Slack that takes no files, until it does."""

    stuck = True

    def files_upload_v2(self, **given: Any) -> Any:
        if self.stuck:
            raise SlackApiError("no", SlackResponse(
                client=self, http_verb="POST", api_url="", req_args={}, headers={}, status_code=200,
                data={"ok": False, "error": "upload_failed"},
            ))  # fmt: skip
        return super().files_upload_v2(**given)


class Cut(WebClient):
    """A Slack that is gone in the middle of an upload, once; meanwhile others post a file of that name."""

    cut, theirs = True, None

    def files_upload_v2(self, **given: Any) -> Any:
        if self.cut:
            self.cut, self.theirs = False, {"id": "F0ANN", "name": given["filename"], "user": "U0ANN"}
            raise OSError("gone")
        return super().files_upload_v2(**given)

    def conversations_replies(self, **given: Any) -> Any:
        found = super().conversations_replies(**given)
        posed = {"ts": "1.1", "user": "U0ANN", "files": [self.theirs]} if self.theirs else {}
        return {"messages": [*([posed] if posed else []), *found["messages"]]}


class Plain(WebClient):
    """A Slack that takes no long sections."""

    def chat_postMessage(self, **given: Any) -> Any:  # noqa: N802 # Slack's own name
        long = len(given["blocks"][0].get("text", {}).get("text", "")) > 80
        return super().chat_postMessage(**given | ({"blocks": [{"type": "nonsense"}]} if long else {}))


@pytest.fixture
def outbox(
    slack: LocalSlack, workspace: WorkspaceClient, tmp_path: Path, clock: FakeClock
) -> Iterator[Outbox]:
    engine = open_engine(f"sqlite:///{tmp_path / 'x.db'}")
    migrate(engine)
    client = WebClient(token=slack.bot_token, base_url=slack.api_url, retry_handlers=[])
    yield replace(spoken_by(client, Store(engine, clock)), shared=People(client, HERE).outside)
    engine.dispose()


def spoken_by(client: WebClient, store: Store, *more: Any, **given: Any) -> Outbox:
    """An outbox for which no time passes but that of the store's clock."""
    return Outbox(store, client, *more, steady=lambda: store.clock().timestamp(), **given)


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
    assert "<@CAROL> can approve" in card["text"]


def test_a_card_that_can_be_approved_at_once_names_people_and_calls_nobody(outbox, workspace):
    store = outbox.store
    store.publish(CONTRACTS.values())
    plan_id = store.request("deploy a", team="T1", user="U0ANN", channel=CHANNEL)
    spec = plan_spec(step("a", DEPLOY, failure_action="ask"))
    store.propose(plan_id, spec, terms(approvers=("U0BOB", "U0CAROL"), authors=("U0ANN",)), author="planner")

    replace(outbox, on_call="U0DAN").speak()

    (card,) = workspace.messages()
    shown = readable(card)
    assert [name in shown for name in ("<@U0ANN>", "<@U0BOB>", "<@U0DAN>")] == [True] * 3
    assert "approve" in buttons(card["blocks"])
    assert [workspace.person(user).notices() for user in ("U0ANN", "U0BOB", "U0CAROL", "U0DAN")] == [[]] * 4


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


def test_who_stood_still_before_a_call_takes_back_what_somebody_else_has_said_meanwhile(
    outbox, workspace, monkeypatch
):
    proposed(outbox.store)
    other = replace(outbox, pace=Pace())
    original, noted = Posting._new, outbox.store.note_shown

    def stands_still(posting, *given, **more):
        monkeypatch.setattr(Posting, "_new", original)
        other.speak()  # who goes on with the work, finds nothing, and says it
        lost = Mock(side_effect=LeaseLost("another bot"))
        monkeypatch.setattr(outbox.store, "note_shown", lost)
        return original(posting, *given, **more)

    monkeypatch.setattr(Posting, "_new", stands_still)
    with pytest.raises(LeaseLost):
        outbox.speak()
    monkeypatch.setattr(outbox.store, "note_shown", noted)

    (card,) = workspace.messages()
    assert card["ts"] == outbox.store.card_of(1).ts


def test_who_stood_still_after_a_call_leaves_what_nobody_else_has_said(outbox, workspace, monkeypatch):
    proposed(outbox.store)
    noted = outbox.store.note_shown
    monkeypatch.setattr(outbox.store, "note_shown", Mock(side_effect=LeaseLost("another bot")))
    with pytest.raises(LeaseLost):
        outbox.speak()
    monkeypatch.setattr(outbox.store, "note_shown", noted)
    outbox.speak()

    (card,) = workspace.messages()
    assert card["ts"] == outbox.store.card_of(1).ts


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
    store = outbox.store
    plan_id = store.request("deploy a", team="T1", user="U0ANN", channel=CHANNEL)
    store.propose(plan_id, plan_spec(), terms(needed=2), author="planner")
    outbox.speak()
    for number, said in enumerate(["first", "second"], 1):
        approve(store, plan_id, "CAROL")  # it costs an approval, so it is told
        clock.advance(60)
        outbox.speak()
        store.amend(plan_id, plan_spec(), terms(2), author="U0BOB", after=number, changes=[said])
    workspace.fault(rate_limit=2, retry_after=5)
    for _ in range(4):
        outbox.speak()
        clock.advance(3)
    clock.advance(10)
    outbox.speak()
    thread = workspace.thread(outbox.store.view(plan_id).card)

    said = [readable(message).partition("• ")[2] for message in thread if "• " in readable(message)]
    assert said == ["first", "second"]


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
    assert "Running." in workspace.messages()[0]["text"]


def fussy(outbox, slack, *unknown):
    client = Fussy(token=slack.bot_token, base_url=slack.api_url, retry_handlers=[])
    client.unknown = frozenset(unknown)
    return replace(outbox, client=client)


def kinds(card):
    return [block["type"] for block in card.get("blocks", ())]


def test_a_slack_that_does_not_know_a_block_gets_sections_and_everything_in_them(outbox, slack, workspace):
    proposed(outbox.store)
    old = fussy(outbox, slack, "context")
    old.speak()
    old.speak()

    (card,) = workspace.messages()

    assert kinds(card) == ["section", "section", "section", "actions", "section"]
    assert "*Deploy* a · on approval" in card["blocks"][1]["text"]["text"]
    assert buttons(card["blocks"])[0] == "approve"


def test_a_slack_that_knows_no_blocks_gets_the_words_and_nothing_to_approve(outbox, slack, workspace):
    proposed(outbox.store)
    old = fussy(outbox, slack, "context", "section")
    for _ in range(3):
        old.speak()

    (card,) = workspace.messages()

    assert kinds(card) == []
    assert "1.  *Deploy* a · on approval" in card["text"]
    assert "To decide, open my home tab." in card["text"]


def test_what_a_workspace_refused_is_remembered_for_the_next_card_and_for_updates(outbox, slack, workspace):
    proposed(outbox.store)
    old = fussy(outbox, slack, "context")
    old.speak()
    old.speak()
    second = proposed(outbox.store)
    old.speak()
    first_try = [kinds(card) for card in workspace.messages()]
    approve(outbox.store, second)
    old.speak()

    assert first_try[0] == first_try[1] == ["section", "section", "section", "actions", "section"]
    assert outbox.store.plainness("T1") == 1
    assert "context" not in kinds(workspace.messages()[1])
    assert outbox.store.plainness("T2") == 0


def test_an_update_that_is_refused_is_said_more_plainly(outbox, slack, workspace):
    plan_id = proposed(outbox.store)
    outbox.speak()
    approve(outbox.store, plan_id)
    old = fussy(outbox, slack, "context")
    old.speak()
    old.speak()

    assert kinds(workspace.messages()[0]) == ["section", "section", "section", "actions", "section"]


def test_after_a_day_the_blocks_are_tried_again(outbox, clock):
    outbox.store.speak_plainer("T1", 2)
    clock.advance(24 * 3600 + 1)

    assert outbox.store.plainness("T1") == 0


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
    fussy = spoken_by(Plain(token=slack.bot_token, base_url=slack.api_url, retry_handlers=[]), outbox.store)
    for _ in range(3):
        fussy.speak()

    told = workspace.thread(outbox.store.view(plan_id).card)[-1]

    assert "it broke" in told["text"]
    assert [block["type"] for block in told["blocks"]] == ["section", "actions"]
    assert len(told["blocks"][0]["text"]["text"]) < 80


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
    tab = spoken_by(outbox.client, outbox.store, lambda user, channel: drawn.append(user) or HOME)
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
        outbox.store.tell("mute:1:U0BOB", user="U0BOB", text="Plan 1 waits for you.")
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


KINDS = ("deploy", "backup")
LONG = [step(f"s{n}", CONTRACTS[KINDS[n % 2]], parameters={"service": f"part {n}"}) for n in range(80)]


def long_plan(store):
    """A plan of which no card can show everything."""
    store.publish(CONTRACTS.values())
    plan_id = store.request("deploy a", team="T1", user="U0ANN", channel=CHANNEL)
    spec = plan_spec(*LONG)
    asked = replace(terms(), lengthy=lengthy(spec, lambda found: CONTRACTS[found.action], ("BOB",)))
    store.propose(plan_id, spec, asked, author="planner")
    return plan_id


def test_a_plan_without_room_has_its_file_in_the_thread_before_there_is_an_approve(outbox, workspace):
    plan_id = long_plan(outbox.store)
    outbox.speak()
    (early,) = workspace.messages()
    with pytest.raises(Conflict, match="too long for its card"):
        approve(outbox.store, plan_id)
    outbox.speak()
    outbox.speak()

    file, (card,) = workspace.person("U0ANN").file(f"plan-{plan_id}-revision-1.txt"), workspace.messages()

    assert "approve" not in buttons(early["blocks"])
    assert "Shown here: 5 of 80 steps." in early["text"]
    assert file["lines_more"] > 50
    assert buttons(card["blocks"])[0] == "approve"
    assert approve(outbox.store, plan_id)
    (event,) = [event for event in outbox.store.events(plan_id) if event.verb == "file"]
    assert event.data["digest"] == outbox.store.view(plan_id).digest
    assert len(event.data["content"]) == 64


def test_a_file_that_slack_does_not_take_is_said_and_tried_again(outbox, slack, workspace, clock):
    plan_id = long_plan(outbox.store)
    stuck = Stuck(token=slack.bot_token, base_url=slack.api_url, retry_handlers=[])
    troubled = replace(outbox, client=stuck)
    for _ in range(3):
        troubled.speak()
    (card,) = workspace.messages()
    with pytest.raises(Conflict, match="not in the thread yet"):
        approve(outbox.store, plan_id)
    stuck.stuck = False
    clock.advance(60)
    for _ in range(3):
        troubled.speak()

    assert "could not be posted yet (upload_failed); I try again." in card["text"]
    assert "approve" not in buttons(card["blocks"])
    assert buttons(workspace.messages()[0]["blocks"])[0] == "approve"
    assert approve(outbox.store, plan_id)


def test_a_file_that_somebody_else_has_posted_lets_nobody_approve(outbox, slack, workspace, clock):
    plan_id = long_plan(outbox.store)
    cut = Cut(token=slack.bot_token, base_url=slack.api_url, retry_handlers=[])
    for _ in range(4):
        replace(outbox, client=cut).speak()
        clock.advance(60)

    (event,) = [event for event in outbox.store.events(plan_id) if event.verb == "file"]
    assert cut.theirs
    assert event.data["file"] != "F0ANN"
    assert workspace.person("U0ANN").file(f"plan-{plan_id}-revision-1.txt")["lines_more"] > 50


def test_the_file_of_another_revision_lets_nobody_approve(outbox, clock):
    plan_id = long_plan(outbox.store)
    for _ in range(3):
        outbox.speak()
    spec = plan_spec(*LONG[1:])
    asked = replace(terms(), lengthy=True)
    outbox.store.amend(plan_id, spec, asked, author="U0ANN", after=1, changes=["less"])

    with pytest.raises(Conflict, match="too long for its card"):
        approve(outbox.store, plan_id)


def test_a_proposal_of_before_that_has_no_room_waits_for_its_file_too(outbox, workspace):
    store = outbox.store
    store.publish(CONTRACTS.values())
    plan_id = store.request("deploy a", team="T1", user="U0ANN", channel=CHANNEL)
    store.propose(plan_id, plan_spec(*LONG), terms(), author="planner")
    outbox.speak()

    assert store.view(plan_id).lengthy
    assert "approve" not in buttons(workspace.messages()[0]["blocks"])
    with pytest.raises(Conflict, match="too long for its card"):
        approve(store, plan_id)


def test_a_countdown_is_said_anew_as_it_goes_down(outbox, workspace, clock):
    store = outbox.store
    store.publish(CONTRACTS.values())
    plan_id = store.request("deploy a", team="T1", user="U0ANN", channel=CHANNEL)
    then = {"not_before": clock.now + timedelta(hours=2, minutes=19)}
    late = step("s1", CONTRACTS["deploy"], schedule=then)
    store.propose(plan_id, plan_spec(late), terms(), author="planner")
    approve(store, plan_id)
    outbox.speak()
    first = workspace.messages()[0]["text"]
    clock.advance(19 * 60)
    store.redraw_due()
    outbox.speak()
    clock.advance(60)
    store.redraw_due()

    assert "in 2 h 19 min" in first
    assert "in 2 h." in workspace.messages()[0]["text"]
    assert store.unsent() == []


def test_however_often_a_countdown_was_said_the_next_move_is_shown(outbox, workspace, clock):
    store = outbox.store
    store.publish(CONTRACTS.values())
    plan_id = store.request("deploy a", team="T1", user="U0ANN", channel=CHANNEL)
    late = step("s1", CONTRACTS["deploy"], schedule={"not_before": clock.now + timedelta(hours=30)})
    store.propose(plan_id, plan_spec(late), terms(), author="planner")
    approve(store, plan_id)
    outbox.speak()
    for _ in range(6):
        clock.now = store.card_of(plan_id).again_at
        store.redraw_due()
        outbox.speak()
    clock.advance(60)
    store.cancel(plan_id, user="U0ANN", reason="another day")
    outbox.speak()

    assert "another day" in workspace.messages()[0]["text"]


@pytest.mark.parametrize(("there", "sent"), [(True, 1), (False, 2)])
def test_a_half_sent_file_is_looked_for_and_sent_again_only_if_it_is_not_there(
    outbox, workspace, clock, monkeypatch, there, sent
):
    checks = [({"field": "failed", "op": "eq", "value": n},) for n in range(50)]
    steps = [step(f"s{n}", success_criteria=check) for n, check in enumerate(checks)]
    outbox.store.publish(CONTRACTS.values())
    plan_id = outbox.store.request("deploy a", team="T1", user="U0ANN", channel=CHANNEL)
    outbox.store.propose(plan_id, plan_spec(*steps), terms(), author="planner")
    outbox.speak()
    outbox.speak()
    with outbox.store.write() as t:  # as if killed between Slack's answer and our note of it
        t.connection.exec_driver_sql("UPDATE message SET shown = 0, sending = 1 WHERE kind = 'file'")
    if not there:  # what stands in the thread is a file of another name
        monkeypatch.setattr("bot.slack.plan_messages.content", lambda *given: ("other.txt", b"words"))
    clock.advance(60)

    outbox.speak()

    assert len(workspace.calls("files.completeUploadExternal")) == sent
    assert not [message for message in outbox.store.unsent() if message.kind == "file"]


def test_an_estimate_comes_from_what_a_step_took_there_lately_else_anywhere(outbox, clock):
    store = outbox.store
    for service, took in [("a", 200), ("b", 20)] * 3 + [("c", 7)]:
        plan_id = running(store, step("s1", DEPLOY, parameters={"service": service}))
        taken = take(store, plan_id, "s1")
        clock.advance(took)
        store.succeed(taken, ok(), actor="w1")

    found = {contract.action: contract for contract in store.contracts()}
    deploys = [found["deploy"].takes({"service": name}) for name in "abc"]

    assert deploys == [(200, "target"), (20, "target"), (20, "action")]
    assert found["backup"].takes({"service": "a"}) == (60, "promise")


def test_a_home_tab_that_lost_the_race_is_drawn_again(outbox, workspace, clock):
    drawn = []
    tab = spoken_by(outbox.client, outbox.store, lambda user, channel: drawn.append(user) or HOME)
    tab.store.open_home("U0ANN", "D0ANN")
    workspace.fault(stale_view=1)
    tab.speak()
    none = workspace.state()["homes"]
    clock.advance(11)
    tab.speak()

    assert (none, drawn) == ([], ["U0ANN", "U0ANN"])
    assert workspace.person("U0ANN").home()["blocks"][0]["type"] == "header"


def running(store: Store, *made: StepSpec) -> int:
    """An approved plan of these steps."""
    store.publish(CONTRACTS.values())
    plan_id = store.request("check it all", team="T1", user="U0ANN", channel=CHANNEL)
    store.propose(plan_id, plan_spec(*made), terms(), author="planner")
    approve(store, plan_id)
    return plan_id


def rounds(outbox: Outbox, clock: FakeClock, count: int) -> None:
    for _ in range(count):
        outbox.speak()
        clock.advance(1)


def lines(outbox: Outbox, workspace: WorkspaceClient, plan_id: int) -> list[int]:
    """How many steps each message of the thread tells of as done."""
    said = workspace.thread(outbox.store.view(plan_id).card)[1:]
    return [n for message in said if (n := readable(message).count(": it is done"))]


def test_sixty_look_ups_are_told_in_one_message_a_line_each_and_the_end_does_not_wait(
    outbox, workspace, clock
):
    store = outbox.store
    plan_id = running(store, *(step(f"s{n}") for n in range(60)))
    for number in range(60):
        succeed(store, plan_id, f"s{number}")
    rounds(outbox, clock, 4)
    said = [readable(message) for message in workspace.thread(store.view(plan_id).card)[1:]]

    assert lines(outbox, workspace, plan_id) == [60]
    assert any("60 steps: 60 done." in text for text in said)


def test_of_many_steps_each_has_its_line_changes_a_message_and_look_ups_one_that_grows(
    outbox, workspace, clock
):
    store = outbox.store
    kinds = [DEPLOY if n % 4 == 3 else READ for n in range(13)]
    plan_id = running(store, *(step(f"s{n}", made) for n, made in enumerate(kinds)))
    rounds(outbox, clock, 5)
    for number in range(13):
        succeed(store, plan_id, f"s{number}")
        rounds(outbox, clock, 1)
    rounds(outbox, clock, 6)
    told = workspace.thread(store.view(plan_id).card)
    grown = next(message for message in told if readable(message).count(": it is done") > 1)

    assert sorted(lines(outbox, workspace, plan_id)) == [1, 1, 1, 10]
    assert "edited" in grown
    assert store.unsent() == []


def test_of_few_steps_each_has_a_message_of_its_own_unless_the_channel_is_busy(outbox, workspace, clock):
    store = outbox.store
    quiet, busy = (running(store, *(step(f"s{n}") for n in range(4))) for _ in range(2))
    rounds(outbox, clock, 5)
    for number in range(3):
        succeed(store, quiet, f"s{number}")
        rounds(outbox, clock, 4)
    for number in range(30):
        store.say(f"noise:{number}", channel=CHANNEL, text="noise")
    for number in range(3):
        succeed(store, busy, f"s{number}")
    rounds(outbox, clock, 60)

    assert lines(outbox, workspace, quiet) == [1, 1, 1]
    assert lines(outbox, workspace, busy) == [3]


def test_a_growing_message_that_was_deleted_is_posted_again_with_all_its_lines(outbox, workspace, clock):
    store = outbox.store
    plan_id = running(store, *(step(f"s{n}") for n in range(13)))
    rounds(outbox, clock, 5)
    for number in range(3):
        succeed(store, plan_id, f"s{number}")
    rounds(outbox, clock, 5)
    (grown,) = {one.ts for one in store.lines(plan_id)}
    outbox.client.chat_delete(channel=CHANNEL, ts=grown)
    succeed(store, plan_id, "s3")
    rounds(outbox, clock, 8)

    assert lines(outbox, workspace, plan_id) == [4]
    assert store.unsent() == []


def test_a_revision_is_told_only_to_those_whose_approval_it_costs(outbox, workspace, clock):
    store = outbox.store
    store.publish(CONTRACTS.values())
    plan_id = store.request("deploy a", team="T1", user="U0ANN", channel=CHANNEL)
    store.propose(plan_id, plan_spec(), terms(needed=2), author="planner")
    rounds(outbox, clock, 4)
    made = {"author": "U0ANN", "changes": ["s1: later"]}
    store.amend(plan_id, plan_spec(), terms(needed=2), after=1, **made)
    rounds(outbox, clock, 4)
    silent = [*workspace.thread(store.view(plan_id).card)[1:]]
    approve(store, plan_id, "CAROL")
    store.amend(plan_id, plan_spec(), terms(needed=2), after=2, **made)
    rounds(outbox, clock, 4)
    said = [readable(message) for message in workspace.thread(store.view(plan_id).card)[1:]]

    assert silent == []
    assert "<@CAROL>, your approval no longer counts" in said[-1]


def test_those_who_can_approve_hear_when_there_is_something_to_press_and_a_crowd_in_the_thread(
    outbox, workspace, clock
):
    crowd = [f"U{number}" for number in range(6)]
    caller = replace(outbox, groups=Everybody(S0DBA=crowd), site="https://lab.slack.com/")
    store = outbox.store
    store.publish([CONTRACTS["deploy"].model_copy(update={"preview": True})])
    plan_id = store.request("deploy a", team="T1", user="U0ANN", channel=CHANNEL)
    store.propose(plan_id, plan_spec(), terms(approvers=("U0BOB", "S0DBA")), author="planner")
    caller.speak()
    early = messages(store, "tell")
    (wanted,) = store.previews_wanted([("ops", "deploy")])
    store.show(wanted, "moves 2 pods", "x", actor="w1")
    caller.speak()
    clock.advance(2)
    caller.speak()

    card, called = (
        workspace.messages(),
        [m for m in workspace.state()["messages"] if m["text"].startswith("<!subteam^S0DBA")],
    )
    assert early == [], "a card without Approve calls nobody"
    assert [m.user for m in messages(store, "tell")] == ["U0BOB"]
    assert len(card) == 1
    assert [m.get("thread_ts") for m in called] == [card[0]["ts"]]


def test_who_asked_by_a_message_sees_that_it_was_heard_until_there_is_a_plan(outbox, workspace):
    said = workspace.person("U0ANN").says("deploy a", channel=CHANNEL).payload["ts"]
    store = outbox.store
    plan_id = store.request("deploy a", team="T1", user="U0ANN", channel=CHANNEL, thread=said)
    store.react(CHANNEL, said, "eyes", plan_id=plan_id)
    outbox.speak()
    (thinking,) = workspace.messages()
    store.publish(CONTRACTS.values())
    store.propose(plan_id, plan_spec(), terms(), author="planner")
    outbox.speak()
    outbox.speak()
    shown = next(m for m in workspace.state()["messages"] if m["ts"] == said)

    assert [r["name"] for r in thinking["reactions"]] == ["eyes"], "and nothing else is seen of a wish"
    assert not shown.get("reactions")


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What Slack says of a channel is asked each time."""
    monkeypatch.setattr(people, "REFUSED", 0.0)


@pytest.mark.parametrize("mark", ["is_ext_shared", "is_pending_ext_shared"])
def test_no_plan_text_goes_into_a_channel_that_became_shared(outbox, workspace, clock, at_once, mark):
    plan_id = proposed(outbox.store)
    outbox.speak()
    assert "deploy" in str(workspace.messages(CHANNEL)).lower()
    workspace.change_channel(CHANNEL, **{mark: True})
    approve(outbox.store, plan_id)
    outbox.store.attach("log:1", plan_id=plan_id, channel=CHANNEL, text="x")
    other = proposed(outbox.store)
    for _ in range(9):
        clock.advance(10)
        outbox.speak()

    said = [*workspace.messages(CHANNEL), *workspace.thread(outbox.store.view(plan_id).card)]
    workspace.change_channel(CHANNEL, **{mark: False})
    assert "deploy" not in str(said).lower()
    assert not any(block["type"] == "actions" for message in said for block in message.get("blocks", ()))
    for number in (plan_id, other):
        assert f"I say nothing about plan {number} here" in str(said)
    assert outbox.store.unsent() == []


def test_a_channel_that_is_no_longer_shared_shows_the_plan_again(outbox, workspace, clock, at_once):
    workspace.change_channel(CHANNEL, is_ext_shared=True)
    plan_id = proposed(outbox.store)
    outbox.speak()
    workspace.change_channel(CHANNEL, is_ext_shared=False)
    approve(outbox.store, plan_id)
    clock.advance(10)
    outbox.speak()

    assert "deploy" in str(workspace.messages(CHANNEL)[0]).lower()


def test_while_slack_does_not_say_who_reads_a_channel_nothing_is_said_there(
    outbox, workspace, clock, at_once
):
    workspace.fault(api_down=1, method="conversations.info")
    proposed(outbox.store)
    outbox.speak()
    assert workspace.messages(CHANNEL) == []

    clock.advance(10)
    outbox.speak()
    assert len(workspace.messages(CHANNEL)) == 1


def test_words_that_were_changed_behind_our_back_are_not_drawn_an_alarm_is(outbox, workspace, clock):
    alarmed = replace(outbox, admins=("U0BOB",))
    plan_id = proposed(outbox.store)
    alarmed.speak()
    tamper(outbox.store, "UPDATE revision SET spec = replace(spec, 'Deploy a', 'Look at a')")
    approve(outbox.store, plan_id)
    for _ in range(5):
        clock.advance(10)
        alarmed.speak()

    (card,) = workspace.messages(CHANNEL)
    said = str([card, *workspace.thread(card["ts"])])
    assert "is not what was put on record" in said
    assert "Look at a" not in said
    assert not any(block["type"] == "actions" for block in card["blocks"])
    assert "is not what was put on record" in str(workspace.messages("D0BOB"))


@pytest.mark.language
@pytest.mark.parametrize("ends", [succeed, fail])
def test_a_question_is_answered_to_whoever_asked_and_to_nobody_else(outbox, workspace, ends):
    outbox.store.publish(CONTRACTS.values())
    read = plan_spec(step("look", failure_action="abort"))
    plan_id = outbox.store.request_planned(
        "is a up?", read, terms(0), team="T1", user="U0ANN", channel=CHANNEL, thread="", private=True
    )
    ends(outbox.store, plan_id, "look")
    outbox.speak()
    outbox.speak()

    (answer,) = workspace.person("U0ANN").ephemerals()
    assert answer.splitlines() in (["it is done", ALONE], ["it broke", ALONE])
    assert workspace.person("U0BOB").ephemerals() == []
    assert workspace.messages() == []
