"""An app at the local workspace, and blocks, pictures and patience for the tests of it."""

import struct
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from slack_bolt import App
from slack_bolt.adapter.socket_mode import SocketModeHandler
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from bot.local.server import LocalSlack
from bot.local.shapes import Member

Json = dict[str, Any]
ANN = Member("U0ANN", "ann", "Ann Lee")
BOB = Member("U0BOB", "bob", "Bob Ray")


class ListeningBot:
    """A Bolt app for this workspace, and a record of what it heard. Each test says how it answers."""

    def __init__(self, slack: LocalSlack) -> None:
        self.slack = slack
        self.client = WebClient(slack.bot_token, base_url=slack.api_url)
        self.app = App(client=self.client)
        self.heard: list[Json] = []
        self.app.middleware(self.record)

    def record(self, body: Json, next: Callable[[], None]) -> None:
        event = body.get("event", {})
        if "bot_id" not in event and "bot_id" not in event.get("message", {}):  # not what it wrote itself
            self.heard.append(body)
        next()

    def forget(self) -> None:
        """As good as new, for the next test."""
        self.heard.clear()

    def events(self, kind: str) -> list[Json]:
        return [body for body in self.heard if body.get("event", {}).get("type") == kind]

    def sent(self, kind: str) -> list[Json]:
        """What came of clicks, forms and commands; a slash command has no type of its own."""
        return [body for body in self.heard if body.get("type", "slash") == kind]


@contextmanager
def connected(slack: LocalSlack, app: App) -> Iterator[None]:
    """The app, at this workspace over Socket Mode."""
    handler = SocketModeHandler(app, slack.app_token)
    handler.connect()
    try:
        slack.client().wait_for_bot()
        yield
    finally:
        handler.close()


@contextmanager
def answering(slack: LocalSlack, listen: Callable[[App], None]) -> Iterator[LocalSlack]:
    """The workspace with an app in it; `listen` says how it answers."""
    with slack:
        bot = ListeningBot(slack)
        listen(bot.app)
        with connected(slack, bot.app):
            yield slack


def plain(text: str) -> Json:
    return {"type": "plain_text", "text": text}


def button(action_id: str) -> Json:
    return {"type": "button", "action_id": action_id, "value": "v1", "text": plain(action_id)}


def actions(*names: str) -> Json:
    return {"type": "actions", "block_id": "buttons", "elements": [button(name) for name in names]}


def modal(title: str, *blocks: Json, **parts: Any) -> Json:
    frame = {"type": "modal", "callback_id": "form", "title": plain(title), "submit": plain("Go")}
    return frame | {"blocks": list(blocks)} | parts


def field(block_id: str, element: Json, **parts: Any) -> Json:
    named = {"action_id": "value"} | element
    return {"type": "input", "block_id": block_id, "label": plain(block_id), "element": named} | parts


def home(*blocks: Json) -> Json:
    return {"type": "home", "blocks": list(blocks)}


def picture(width: int = 4, height: int = 3) -> bytes:
    """A real PNG."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = zlib.compress(b"\0".join([b""] + [b"\x99" * width] * height))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def until(holds: Callable[[], object]) -> None:
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.005)


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(SlackApiError) as caught:
        call()
    return str(caught.value.response["error"])
