"""The same desk from afar: a pipeline, or somebody's MCP client on a laptop, with an address and a token."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

import urllib3

from bot.machines.api import PREFIX
from bot.machines.desk import LONGEST_WAIT
from bot.machines.wire import Asked, Listed, Status
from storage.errors import BadConfig, SignoffError

PATIENCE = 15.0
TRIES = 5  # for what was not answered: the key makes it one ask
LARGEST = 2_000_000


class Refused(SignoffError):
    """Signoff said no, and why."""


@dataclass(frozen=True)
class Client:
    """Speaks HTTP to one Signoff."""

    url: str
    token: str
    sleep: Callable[[float], None] = time.sleep

    def __post_init__(self) -> None:
        if not self.url:
            raise BadConfig("SIGNOFF_URL is not set: where Signoff is, as in https://signoff.example.com.")
        parts = urlsplit(self.url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise BadConfig(f"SIGNOFF_URL={self.url} is no address, as in https://signoff.example.com.")
        if not self.token.strip():
            raise BadConfig("SIGNOFF_TOKEN is not set. `signoff token new` on the server makes one.")

    def propose(self, asked: Asked, key: str) -> Status:
        body = asked.model_dump(mode="json", exclude_defaults=True)
        return Status.model_validate(self._call("POST", "/plans", body, {"Idempotency-Key": key}))

    def status(self, plan: int, wait: float = 0, seen: str = "") -> Status:
        asked = urlencode({"wait": int(min(wait, LONGEST_WAIT)), "seen": seen})
        return Status.model_validate(self._call("GET", f"/plans/{plan}?{asked}", patience=wait + PATIENCE))

    def cancel(self, plan: int, reason: str) -> Status:
        return Status.model_validate(self._call("DELETE", f"/plans/{plan}", {"reason": reason}))

    def runbooks(self) -> list[Listed]:
        return [Listed.model_validate(one) for one in self._call("GET", "/runbooks")["runbooks"]]

    def _call(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None,
        patience: float = PATIENCE,
    ) -> Any:  # fmt: skip
        """Once answered; what was not heard is said again, and is the same ask by its key."""
        for tried in range(1, TRIES + 1):
            try:
                answer = self._send(method, path, body, headers or {}, patience)
            except urllib3.exceptions.HTTPError as error:
                why = f"{self.url} does not answer: {type(error).__name__}"
            else:
                if answer.status not in {429, 503}:
                    return _read(answer)
                why = _told(answer)
            if tried < TRIES:
                self.sleep(min(2.0**tried, 20.0))
        raise SignoffError(why)

    def _send(self, method: str, path: str, body: Any, headers: dict[str, str], patience: float) -> Any:
        own = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        raw = json.dumps(body).encode() if body is not None else None
        return urllib3.request(
            method, f"{self.url.rstrip('/')}{PREFIX}{path}", body=raw, headers=own | headers,
            timeout=patience, redirect=False, retries=False,
        )  # fmt: skip


def _read(answer: Any) -> Any:
    if answer.status >= 300:
        raise Refused(_told(answer))
    return json.loads(answer.data[:LARGEST])


def _told(answer: Any) -> str:
    """The problems as sentences."""
    try:
        found = json.loads(answer.data[:LARGEST])["problems"]
        return "\n".join(
            f"{one['path']}: {one['message']}" if one["path"] else one["message"] for one in found
        )
    except (ValueError, KeyError, TypeError):
        return f"Signoff answered {answer.status}."
