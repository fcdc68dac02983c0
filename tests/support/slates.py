"""A Slack without a network: it keeps what it is told, and refuses what a test wants refused."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.web import SlackResponse


@dataclass
class Posted:
    """One call, as it came."""

    at: float
    method: str
    channel: str
    text: str
    key: str
    blocks: list[dict[str, Any]] = field(default_factory=list)


class SlateClient(WebClient):
    """`refuse` may raise for a call; `now` says when it came."""

    def __init__(self, now: Callable[[], float] = lambda: 0.0) -> None:
        super().__init__(token="xoxb-slate", retry_handlers=[])
        self.said: list[Posted] = []
        self.tried: list[Posted] = []
        self.refuse: Callable[[Posted], None] = lambda _: None
        self._now, self._numbers = now, count(1)

    def api_call(self, api_method: str, **given: Any) -> Any:
        told = given.get("json") or given.get("params") or {}
        key = ((told.get("metadata") or {}).get("event_payload") or {}).get("key", "")
        where = str(told.get("channel") or told.get("user_id") or told.get("users") or "")
        call = Posted(
            self._now(), api_method, where, str(told.get("text", "")), key, told.get("blocks") or []
        )
        self.tried.append(call)
        self.refuse(call)
        self.said.append(call)
        if api_method == "conversations.open":
            return {"ok": True, "channel": {"id": f"D{where}"}}
        return {"ok": True, "ts": f"1.{next(self._numbers):06}", "messages": []}

    def texts(self) -> list[str]:
        return [one.text for one in self.said if one.method == "chat.postMessage"]


def refusal(code: str, status: int = 200, **headers: str) -> SlackApiError:
    """What the SDK raises when Slack answers with this code."""
    answer = SlackResponse(
        client=None, http_verb="POST", api_url="", req_args={}, data={"ok": False, "error": code},
        headers=headers, status_code=status,
    )  # fmt: skip
    return SlackApiError(code, answer)
