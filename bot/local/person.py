"""A person at the local workspace, driven by a script: says, clicks, fills, sees. Waits, never sleeps."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlencode

from bot.local import fields
from bot.local.reading import readable
from bot.local.shapes import Delivery, Json, Refused

Found = TypeVar("Found")


@dataclass(frozen=True)
class Button:
    """A button as it stood when somebody looked; it can be clicked after the message was redrawn."""

    message_ts: str
    channel: str
    block_id: str
    element: Json


class WorkspaceClient:
    """The workspace seen from outside. Every wait is bounded by `patience` seconds."""

    def __init__(self, url: str, token: str, *, patience: float = 10.0) -> None:
        self._url = url
        self._token = token
        self._patience = patience
        # Loopback must not go through a proxy named in the environment.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def person(self, user_id: str) -> "Person":
        return Person(self, user_id)

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

    def fault(self, *, retry_after: int = 1, **times: int) -> None:
        """Let named faults strike the next n times: `fault(rate_limit=2)`."""
        self.act("fault", retry_after=retry_after, **times)

    def disconnect(self, *, politely: bool = True) -> None:
        self.act("disconnect", politely=politely)

    def change_member(self, user_id: str, **changes: Any) -> None:
        """What an admin does: `change_member("U0BOB", deleted=True)`."""
        self.act("member", id=user_id, **changes)

    def clear(self) -> None:
        """An empty channel without faults, for the next story."""
        self.act("clear")

    def run(self, control: str, *, on: bool = True) -> str:
        """Use a demo control; its sentence."""
        return str(self.act("run", id=control, on=on)["text"])

    def wait_for_bot(self, links: int = 1) -> None:
        self.wait(lambda state: state["links"] >= links, f"{links} link(s) of the app")

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
        answer: Json = self._open(f"/control/{name}", json.dumps(given).encode())
        return answer

    def _get(self, name: str, **query: Any) -> Any:
        return self._open(f"/control/{name}?{urlencode(query)}", None)

    def _open(self, path: str, body: bytes | None) -> Any:
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        request = urllib.request.Request(self._url + path, body, headers)  # noqa: S310 - our own address
        try:
            with self._opener.open(request, timeout=60) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                raise _refusal(error) from None


class Person:
    """One member, by id."""

    def __init__(self, workspace: WorkspaceClient, id: str) -> None:
        self.id = id
        self._workspace = workspace

    def says(self, text: str, *, thread: str = "", channel: str = "") -> Delivery:
        """Type into the composer; for a plain message `payload["ts"]` is where it stands."""
        return self._does("say", text=text, thread_ts=thread, channel=channel)

    def button(self, action_id: str, *, message: str = "", block_id: str | None = None) -> Button:
        """The newest button of that name this person can see, waited for."""

        def look(state: Json) -> Button | None:
            for body in _visible(state, self.id):
                found = fields.find(body.get("blocks", []), action_id, block_id)
                if found and message in ("", body["ts"]):
                    return Button(body["ts"], body["channel"], found[0]["block_id"], found[1])
            return None

        return self._workspace.wait(look, f"a button {action_id}")

    def clicks(
        self,
        action: str | Button,
        *,
        message: str = "",
        block_id: str | None = None,
        value: Any = None,
        values: Json | None = None,
        confirm: bool = True,
    ) -> Delivery:
        """Click a button (or use another element of a message, with `value`) and wait for the ack."""
        button = (
            action if isinstance(action, Button) else self.button(action, message=message, block_id=block_id)
        )
        return self._does(
            "click",
            message_ts=button.message_ts,
            channel=button.channel,
            block_id=button.block_id,
            element=button.element,
            value=value,
            values=values,
            confirm=confirm,
        )

    def view(self) -> Json:
        """The modal in front of this person, waited for."""

        def look(state: Json) -> Json | None:
            mine: list[Json] = [view for view in state["views"] if view["user"] == self.id]
            return mine[-1] if mine else None

        return self._workspace.wait(look, f"a view open for {self.id}")

    def clicks_in_view(self, action_id: str, *, value: Any = None, values: Json | None = None) -> Delivery:
        view = self.view()
        return self._does(
            "click", view_id=view["id"], action_id=action_id, value=value, values=values, confirm=True
        )

    def fills(self, values: Json) -> Delivery:
        """Fill the open modal by block id and submit it; `errors` stand at the fields."""
        return self._does("submit", view_id=self.view()["id"], values=values)

    def closes(self) -> Delivery:
        return self._does("close", view_id=self.view()["id"])

    def uses(self, callback_id: str, *, message: str, channel: str = "") -> Delivery:
        """Choose a message shortcut."""
        return self._does("shortcut", callback_id=callback_id, message_ts=message, channel=channel)

    def sees(self, text: str, *, thread: str = "") -> Json:
        """Wait until the text stands somewhere this person can see; the message (or view) that has it."""

        def look(state: Json) -> Json | None:
            mine: list[Json] = [view for view in state["views"] if view["user"] == self.id]
            for body in [*_visible(state, self.id), *mine]:
                if text in readable(body) and thread in ("", body.get("thread_ts")):
                    return body
            return None

        return self._workspace.wait(look, f"{self.id} to see {text!r}")

    def ephemerals(self) -> list[str]:
        """What only this person saw, oldest first."""
        return [readable(body) for body in self._workspace.state()["ephemerals"] if body["to"] == self.id]

    def _does(self, act: str, **given: Any) -> Delivery:
        return Delivery(**self._workspace.act(act, user=self.id, **given))


def _refusal(error: urllib.error.HTTPError) -> Refused:
    text = error.read().decode()
    try:
        body = json.loads(text)
    except ValueError:
        return Refused(f"http_{error.code}", text)
    return Refused(body["error"], *body["messages"])


def _visible(state: Json, user_id: str) -> list[Json]:
    """Messages of everybody and whispers to this person, newest first."""
    mine = [body for body in state["ephemerals"] if body["to"] == user_id]
    return sorted([*state["messages"], *mine], key=lambda body: float(body["ts"]), reverse=True)


def describe(state: Json) -> str:
    """Channels, threads, whispers and open views as text."""
    names = {member["id"]: member["real_name"] for member in state["members"]}
    lines = [f"links of the app: {state['links']}"]
    for body in sorted(state["messages"], key=lambda body: (body.get("thread_ts", body["ts"]), body["ts"])):
        indent = "" if body.get("thread_ts", body["ts"]) == body["ts"] else "    ↳ "
        lines += _told(indent, f"[{body['ts']}] {names.get(body['user'], body['user'])}", readable(body))
    for body in state["ephemerals"]:
        lines += _told("", f"[{body['ts']}] only {names.get(body['to'], body['to'])} sees", readable(body))
    for view in state["views"]:
        lines += _told("", f"[{view['id']}] {names.get(view['user'])} has open", readable(view))
    return "\n".join(lines)


def _told(indent: str, head: str, text: str) -> list[str]:
    return [f"{indent}{head}:", *(f"{indent}    {line}" for line in text.splitlines())]
