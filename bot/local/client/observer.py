"""The local workspace seen from outside by a script: look, wait for a change, act. Waits, never sleeps."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import urlencode

from bot.local.client.text import readable
from bot.local.shapes import Json, Refused

Found = TypeVar("Found")


class Observer:
    """Asks the workspace's control API. Every wait is bounded by `patience` seconds."""

    def __init__(self, url: str, token: str, *, patience: float = 10.0) -> None:
        self._url = url
        self._token = token
        self._patience = patience
        # Loopback must not go through a proxy named in the environment.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def state(self, *, after: int = -1, wait: float = 0) -> Json:
        """Everything there is to see; with `after`, once it is newer than that version."""
        state: Json = self._get("state", after=after, wait=wait)
        return state

    def messages(self, channel: str = "") -> list[Json]:
        """What stands in the channel itself, oldest first."""
        messages: list[Json] = self._get("messages", channel=channel)
        return messages

    def thread(self, ts: str, channel: str = "") -> list[Json]:
        """A thread, its root first."""
        messages: list[Json] = self._get("messages", channel=channel, thread_ts=ts)
        return messages

    def calls(self, method: str = "") -> list[Json]:
        """Web API calls in order: method, at, channel, status, error, ts."""
        calls: list[Json] = self._get("calls", method=method)
        return calls

    def download(self, file: Json) -> bytes:
        """The bytes of a file as it stands in a message."""
        return self._read(f"/files/{file['id']}/{file['id']}", None)

    def wait(self, look: Callable[[Json], Found | None], what: str) -> Found:
        """Look at the state after every change until something true comes of it."""
        until = time.monotonic() + self._patience
        version = -1
        while (left := until - time.monotonic()) > 0:
            state = self.state(after=version, wait=left)
            version = state["version"]
            found = look(state)
            if found:
                return found
        raise AssertionError(f"waited {self._patience:g} s for {what}\n\n{self.dump()}")

    def dump(self) -> str:
        return describe(self.state())

    def act(self, name: str, **given: Any) -> Json:
        answer: Json = json.loads(self._read(f"/control/{name}", json.dumps(given).encode()))
        return answer

    def _get(self, name: str, **query: Any) -> Any:
        return json.loads(self._read(f"/control/{name}?{urlencode(query)}", None))

    def _read(self, path: str, body: bytes | None) -> bytes:
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        request = urllib.request.Request(self._url + path, body, headers)  # noqa: S310 - our own address
        try:
            with self._opener.open(request, timeout=60) as answer:
                return bytes(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                raise _refusal(error) from None


def _refusal(error: urllib.error.HTTPError) -> Refused:
    text = error.read().decode()
    try:
        body = json.loads(text)
    except ValueError:
        return Refused(f"http_{error.code}", text)
    return Refused(body["error"], *body["messages"])


def describe(state: Json) -> str:
    """Channels, threads, whispers and open views as text."""
    names = {member["id"]: member["real_name"] for member in state["members"]}
    lines = [f"links of the app: {state['links']}"]
    for body in sorted(state["messages"], key=lambda body: (body.get("thread_ts", body["ts"]), body["ts"])):
        indent = "" if body.get("thread_ts", body["ts"]) == body["ts"] else "    ↳ "
        lines += _told(indent, f"[{body['ts']}] {names.get(body['user'], body['user'])}", readable(body))
    for body in state["ephemerals"]:
        lines += _told("", f"[{body['ts']}] only {names.get(body['to'], body['to'])} sees", readable(body))
    for view in [*state["views"], *state["homes"]]:
        lines += _told("", f"[{view['id']}] {names.get(view['user'])} has open", readable(view))
    return "\n".join(lines)


def _told(indent: str, head: str, text: str) -> list[str]:
    return [f"{indent}{head}:", *(f"{indent}    {line}" for line in text.splitlines())]
