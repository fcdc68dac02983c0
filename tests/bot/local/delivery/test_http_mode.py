"""HTTP mode and scripted faults of the local workspace, with a real Bolt app that checks signatures."""

import http.server
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from slack_bolt import App, BoltRequest
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from bot.local.client.person import Person, WorkspaceClient
from bot.local.server import LocalSlack
from bot.local.shapes import Refused, Shortcut
from tests.support.local_kit import ANN, Json, ListeningBot, connected, until

FORM = {
    "type": "modal",
    "callback_id": "form",
    "title": {"type": "plain_text", "text": "Form"},
    "blocks": [{"type": "divider"}],
    "submit": {"type": "plain_text", "text": "Go"},
}


class Site:
    """A Request URL: Bolt behind a plain web server."""

    def __init__(self, slack: LocalSlack, secret: str) -> None:
        self.client = WebClient(slack.bot_token, base_url=slack.api_url)
        self.app = App(client=self.client, signing_secret=secret)
        self.heard: list[BoltRequest] = []
        self.broken = 0
        self.app.command("/plan")(self.on_plan)
        self.app.shortcut("plan_this")(lambda ack: ack())
        self.app.view("form")(lambda ack: ack(response_action="clear"))
        self.app.event("message")(lambda: None)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self.server.server_port}/slack/events"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def on_plan(self, ack: Any, body: Json, client: WebClient) -> None:
        ack(f"Planning: {body['text']}")
        client.views_open(trigger_id=body["trigger_id"], view=FORM)

    def events(self) -> list[BoltRequest]:
        """Messages that people wrote, not the app."""
        events = [(request, request.body.get("event", {})) for request in self.heard]
        return [request for request, event in events if event and "bot_id" not in event]

    def _handler(site: "Site") -> type[http.server.BaseHTTPRequestHandler]:  # noqa: N805 - `self` is the handler
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                request = BoltRequest(body=body, headers=dict(self.headers.items()))
                site.heard.append(request)
                site.broken -= 1 if (broken := site.broken > 0) else 0
                answer = site.app.dispatch(request)
                text = answer.body.encode()
                self.send_response(500 if broken else answer.status)
                self.send_header("Content-Type", answer.first_headers().get("content-type", "text/plain"))
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, format: str, *args: Any) -> None: ...

        return Handler

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture(scope="module")
def slack() -> Iterator[LocalSlack]:
    shortcuts = [Shortcut("plan_this", "Plan this")]
    with LocalSlack(members=[ANN], shortcuts=shortcuts, event_spacing=(0.01, 0.01)) as running:
        yield running


@pytest.fixture
def site(slack: LocalSlack) -> Iterator[Site]:
    site = Site(slack, slack.signing_secret)
    slack.client().clear()
    slack.client().deliver_to(site.url)
    yield site
    slack.client().deliver_to("")
    site.close()


def test_commands_clicks_and_forms_arrive_as_signed_posts(site: Site, ann: Person) -> None:
    delivery = ann.says("/plan deploy auth-service")

    assert delivery.acked
    assert ann.ephemerals() == ["Planning: deploy auth-service"]
    ann.view()
    assert ann.fills({}).payload == {"response_action": "clear"}
    assert ann.workspace.state()["views"] == []
    ts = ann.says("the disk is full").payload["ts"]
    assert ann.uses("plan_this", message=ts).acked
    assert all("x-slack-signature" in request.headers for request in site.heard)


def test_an_event_that_is_answered_with_an_error_comes_again_with_its_number(site: Site, ann: Person) -> None:
    site.broken = 2
    ann.says("hello")
    until(lambda: len(site.events()) == 3)
    numbers = [request.headers.get("x-slack-retry-num") for request in site.events()]
    reasons = [request.headers.get("x-slack-retry-reason") for request in site.events()]

    assert numbers == [None, ["1"], ["2"]]
    assert reasons[1:] == [["http_error"], ["http_error"]]
    assert len({request.body["event_id"] for request in site.events()}) == 1


def test_an_address_with_another_secret_is_refused(slack: LocalSlack, workspace: WorkspaceClient) -> None:
    site = Site(slack, "another secret")

    with pytest.raises(Refused, match="url_verification_failed"):
        workspace.deliver_to(site.url)
    with pytest.raises(Refused, match="url_verification_failed"):
        workspace.deliver_to("http://127.0.0.1:9/slack/events")
    with pytest.raises(Refused, match="this machine only"):
        workspace.deliver_to("http://192.0.2.1/slack/events")
    site.close()


def test_a_request_url_may_be_known_from_the_start(slack: LocalSlack) -> None:
    token = slack.token
    site = Site(slack, slack.signing_secret)
    with LocalSlack(members=[ANN], token=token, request_url=site.url) as other:
        other.client().wait_for_bot()
        other.client().person("U0ANN").says("hello")
        until(lambda: site.events())
    site.close()

    assert site.events()[0].body["event"]["text"] == "hello"


def test_a_command_fails_visibly_when_the_address_is_broken(site: Site, ann: Person) -> None:
    site.broken = 1
    delivery = ann.says("/plan deploy auth-service")

    assert (delivery.acked, delivery.error) == (False, "dispatch_failed")
    assert ann.ephemerals()[-1] == '/plan failed with the error "dispatch_failed"'


def said(site: Site) -> list[str]:
    return [request.body["event"]["text"] for request in site.events()]


def test_a_lost_ack_and_a_duplicate_strike_http_too(site: Site, ann: Person) -> None:
    ann.workspace.fault(lost_ack=1)
    ann.says("again")
    until(lambda: said(site).count("again") >= 2)
    ann.workspace.fault(duplicate=1)  # now: an ack is lost after the post, and could have been this one's
    ann.says("twice")
    until(lambda: said(site).count("twice") >= 2)  # a slow answer is delivered once more


def test_a_held_event_arrives_after_its_successor(site: Site, ann: Person) -> None:
    ann.workspace.fault(reorder=1)
    ann.says("first")
    ann.says("second")
    until(lambda: len(site.events()) == 2)

    assert [request.body["event"]["text"] for request in site.events()] == ["second", "first"]


def code(call: Callable[[], object]) -> int:
    try:
        call()
    except SlackApiError as error:
        return int(error.response.status_code)
    return 200


def test_a_rate_limit_strikes_one_method_for_some_time(site: Site, workspace: WorkspaceClient) -> None:
    workspace.fault(rate_limit=0, seconds=60, method="chat.update", retry_after=7)
    ts = site.client.chat_postMessage(channel="C0OPS", text="x")["ts"]

    with pytest.raises(SlackApiError) as caught:
        site.client.chat_update(channel="C0OPS", ts=ts, text="y")
    assert caught.value.response.headers["Retry-After"] == "7"
    assert code(lambda: site.client.chat_update(channel="C0OPS", ts=ts, text="y")) == 429
    workspace.fault(rate_limit=0)
    assert code(lambda: site.client.chat_update(channel="C0OPS", ts=ts, text="y")) == 200
    assert [call["status"] for call in workspace.calls("chat.update")] == [429, 429, 200]


def test_a_lost_reply_leaves_the_message_behind(site: Site, workspace: WorkspaceClient) -> None:
    workspace.fault(lost_reply=1, method="chat.postMessage")
    client = WebClient(site.client.token, base_url=site.client.base_url, retry_handlers=[])

    with pytest.raises(OSError):  # noqa: PT011 - which of them, the socket decides
        client.chat_postMessage(channel="C0OPS", text="posted all the same")
    assert [message["text"] for message in workspace.messages()] == ["posted all the same"]


def test_a_slow_api_answers_late(site: Site, workspace: WorkspaceClient) -> None:
    workspace.fault(slow_api=1, delay=0.2)
    began = time.monotonic()
    site.client.auth_test()

    assert time.monotonic() - began >= 0.2


def test_an_unknown_fault_is_named(workspace: WorkspaceClient) -> None:
    with pytest.raises(Refused, match="there is no fault earthquake"):
        workspace.fault(earthquake=1)


def test_socket_mode_reorders_events_too(slack: LocalSlack, workspace: WorkspaceClient) -> None:
    bot = ListeningBot(slack)
    bot.app.event("message")(lambda: None)
    with connected(slack, bot.app):
        workspace.fault(reorder=1)
        for text in ("first", "second"):
            workspace.person("U0ANN").says(text)
        until(lambda: len(bot.heard) == 2)

    assert [body["event"]["text"] for body in bot.heard] == ["second", "first"]
