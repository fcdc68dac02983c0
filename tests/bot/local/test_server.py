"""The local workspace by itself: Web API errors, what a restart keeps, and who is let in."""

import json
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from bot.local.server import LocalSlack
from bot.local.shapes import Channel, Control, Member
from tests.support.local_kit import ANN, refused

EVE = Member("U0EVE", "eve", "Eve Out", team_id="T0OTHER", is_restricted=True)
CHANNEL = "C0OPS"


@pytest.fixture
def slack() -> Iterator[LocalSlack]:
    with LocalSlack(
        members=[ANN, EVE], channels=[Channel(CHANNEL, "ops"), Channel("C0DEV", "dev")]
    ) as running:
        yield running


def test_the_methods_are_those_the_bot_uses(slack: LocalSlack, api: WebClient) -> None:
    assert api.auth_test()["bot_id"] == "B0LOCAL"
    assert refused(lambda: api.users_list()) == "unknown_method"


def test_tokens_are_told_apart(slack: LocalSlack) -> None:
    def ask(token: str | None, method: str) -> str:
        return refused(lambda: WebClient(token, base_url=slack.api_url).api_call(method))

    assert ask(None, "auth.test") == "not_authed"
    assert ask("xoxb-made-up", "auth.test") == "invalid_auth"
    assert ask(slack.app_token, "auth.test") == "not_allowed_token_type"
    assert ask(slack.bot_token, "apps.connections.open") == "not_allowed_token_type"


def test_forms_carry_structures_as_json(slack: LocalSlack, api: WebClient) -> None:
    blocks = json.dumps([{"type": "header", "text": {"type": "plain_text", "text": "Hello"}}])
    api.api_call("chat.postMessage", data={"channel": CHANNEL, "text": "Hello", "blocks": blocks})

    assert slack.client().messages()[0]["blocks"][0]["text"]["text"] == "Hello"


def test_errors_have_slacks_names(slack: LocalSlack, api: WebClient) -> None:
    ann = slack.client().person("U0ANN")
    hers = ann.says("hello").payload["ts"]
    post, update = api.chat_postMessage, api.chat_update

    assert refused(lambda: post(channel="C0NONE", text="x")) == "channel_not_found"
    assert refused(lambda: api.api_call("chat.postMessage", json={"channel": CHANNEL})) == "no_text"
    assert refused(lambda: post(channel=CHANNEL, text="x", thread_ts="1.000001")) == "thread_not_found"
    assert refused(lambda: update(channel=CHANNEL, ts="1.000001", text="x")) == "message_not_found"
    assert refused(lambda: update(channel=CHANNEL, ts=hers, text="x")) == "cant_update_message"
    assert refused(lambda: update(channel="C0DEV", ts=hers, text="x")) == "message_not_found"
    assert refused(lambda: api.users_info(user="U0NOBODY")) == "user_not_found"
    assert refused(lambda: api.conversations_replies(channel=CHANNEL, ts="1.000001")) == "thread_not_found"


def test_an_update_without_blocks_keeps_them_and_an_empty_list_removes_them(api: WebClient) -> None:
    header = {"type": "header", "text": {"type": "plain_text", "text": "Hello"}}
    ts = api.chat_postMessage(channel=CHANNEL, text="a", blocks=[header])["ts"]
    kept = api.chat_update(channel=CHANNEL, ts=ts, text="b")["message"]
    removed = api.chat_update(channel=CHANNEL, ts=ts, text="c", blocks=[])["message"]

    assert kept["blocks"][0]["text"] == header["text"]
    assert kept["blocks"][0]["block_id"]
    assert "blocks" not in removed


def test_metadata_finds_a_message_again(api: WebClient) -> None:
    metadata = {"event_type": "signoff", "event_payload": {"row": 7}}
    root = api.chat_postMessage(channel=CHANNEL, text="root", metadata=metadata)["ts"]
    api.chat_postMessage(channel=CHANNEL, text="reply", thread_ts=root, metadata=metadata)

    history = api.conversations_history(channel=CHANNEL, include_all_metadata=True)["messages"]
    replies = api.conversations_replies(channel=CHANNEL, ts=root, include_all_metadata=True)["messages"]
    plain = api.conversations_history(channel=CHANNEL)["messages"]
    assert [message["metadata"] for message in history] == [metadata]
    assert [message["metadata"] for message in replies] == [metadata, metadata]
    assert "metadata" not in plain[0]


def test_history_is_paged_newest_first(api: WebClient) -> None:
    stamps = [api.chat_postMessage(channel=CHANNEL, text=str(n))["ts"] for n in range(3)]
    first = api.conversations_history(channel=CHANNEL, limit=2)
    cursor = first["response_metadata"]["next_cursor"]
    second = api.conversations_history(channel=CHANNEL, limit=2, cursor=cursor)
    newer = api.conversations_history(channel=CHANNEL, oldest=stamps[1])["messages"]

    assert [message["text"] for message in first["messages"]] == ["2", "1"]
    assert [message["text"] for message in second["messages"]] == ["0"]
    assert [message["text"] for message in newer] == ["2"]


def test_a_guest_of_another_team_is_described_as_such(slack: LocalSlack, api: WebClient) -> None:
    slack.client().change_member("U0ANN", deleted=True)
    ann, eve = api.users_info(user="U0ANN")["user"], api.users_info(user="U0EVE")["user"]

    assert ann["deleted"] is True
    assert (eve["team_id"], eve["is_restricted"], eve["is_stranger"]) == ("T0OTHER", True, True)


def test_a_broken_api_answers_500(slack: LocalSlack, api: WebClient) -> None:
    slack.client().fault(api_down=1)

    with pytest.raises(SlackApiError):
        api.auth_test()
    assert api.auth_test()["ok"]


def test_a_restart_keeps_what_was_said(tmp_path: Path) -> None:
    path = tmp_path / "slack.db"
    with LocalSlack(members=[ANN], path=path, clock=lambda: 2000.0) as first:
        ann = first.client().person("U0ANN")
        root = ann.says("hello").payload["ts"]
        ann.says("more", thread=root)
    with LocalSlack(members=[ANN], path=path, clock=lambda: 1000.0) as second:
        again = second.client()
        later = again.person("U0ANN").says("later").payload["ts"]

        assert [message["text"] for message in again.thread(root)] == ["hello", "more"]
        assert float(later) > float(again.thread(root)[1]["ts"])


KILLED = """
import sys, time
from pathlib import Path
from bot.local.server import LocalSlack
from bot.local.shapes import Member
slack = LocalSlack(members=[Member("U0ANN", "ann", "Ann Lee")], path=Path(sys.argv[1])).start()
ann = slack.client().person("U0ANN")
root = ann.says("hello").payload["ts"]
ann.says("@Signoff are you there?", thread=root)
print(root, flush=True)
time.sleep(60)
"""


@pytest.mark.crash
def test_a_kill_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "slack.db"
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout
        root = child.stdout.readline().strip()
        child.kill()
    with LocalSlack(members=[ANN], path=path) as slack:
        texts = [message["text"] for message in slack.client().thread(root)]

    assert texts == ["hello", "<@U0SIGNOFF> are you there?"]


def test_a_taken_port_is_the_callers_to_mend(slack: LocalSlack) -> None:
    with pytest.raises(OSError, match="in use"):
        LocalSlack(members=[ANN], port=slack.port).start()


def status(url: str, **headers: str) -> int:
    try:
        request = urllib.request.Request(url, headers=headers)  # noqa: S310 - our own address
        with urllib.request.urlopen(request, timeout=5) as answer:  # noqa: S310
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def test_only_this_machine_with_the_token_is_let_in(slack: LocalSlack) -> None:
    state, bearer = f"{slack.url}/control/state", f"Bearer {slack.token}"

    assert status(state, Authorization=bearer) == 200
    assert status(state) == 403
    assert status(state, Authorization="Bearer wrong") == 403
    assert status(state, Authorization=bearer, Host="evil.example") == 403
    assert status(state, Authorization=bearer, Host="127.0.0.1:1") == 403
    assert status(state, Authorization=bearer, Origin="http://evil.example") == 403
    assert status(state, Authorization=bearer, Origin=slack.url) == 200
    assert status(f"{slack.url}/api/auth.test", Host="evil.example") == 403
    assert status(f"{slack.url}/link/?ticket=made-up") == 403
    assert status(f"{slack.url}/page/..%2fserver.py", Authorization=bearer) == 404
    assert status(f"{slack.url}/") == 403


def test_the_page_trades_its_token_for_a_cookie(slack: LocalSlack) -> None:
    opener = urllib.request.build_opener(_Stay())
    with pytest.raises(urllib.error.HTTPError) as caught, opener.open(slack.page_url):
        pass
    caught.value.close()
    cookie = caught.value.headers["Set-Cookie"]

    assert (caught.value.code, caught.value.headers["Location"]) == (302, "/")
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert status(slack.url + "/", Cookie=cookie.partition(";")[0]) == 200


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: Any) -> None:
        return None


def test_a_control_is_run_off_the_servers_thread_and_answers_with_a_sentence() -> None:
    ran: list[tuple[bool, str]] = []

    def run(on: bool) -> str:
        ran.append((on, threading.current_thread().name))
        return "The tests fail now."

    switch = Control("failing", "Failing tests", "switch", run=run, state=lambda: {"on": bool(ran)})
    with LocalSlack(members=[ANN], controls=[switch]) as slack:
        said = slack.client().run("failing", on=True)
        controls = slack.client().state()["controls"]

    assert said == "The tests fail now."
    assert ran[0][0] is True
    assert ran[0][1] != "local-slack"
    assert controls[0]["on"] is True


def modal() -> dict[str, Any]:
    return {"type": "modal", "title": {"type": "plain_text", "text": "Hello"}, "blocks": []}
