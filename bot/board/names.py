"""Names of people, groups and channels, asked of Slack and remembered for ten minutes; else their ids."""

import time
from collections.abc import Callable
from http.client import HTTPException
from threading import Lock
from typing import Any

from slack_sdk import WebClient
from slack_sdk.errors import SlackClientError

from storage.config import is_group

REMEMBER = 600.0
AGAIN = 30.0  # seconds after which a name that Slack did not tell is asked for again
MOST = 40  # questions at a stretch: the rest is told by id, and next time
SPACE = 10.0  # seconds of a stretch


class Names:
    """What people call what rows know by id."""

    def __init__(self, client: WebClient) -> None:
        self._client, self._lock = client, Lock()
        self._known: dict[str, tuple[float, str]] = {}
        self._asked: list[float] = []

    def who(self, id_: str) -> str:
        """A person, a group, or one of our own parts."""
        if is_group(id_) and id_.isupper():
            return self._remembered(id_, self._group)
        if id_[:1] not in {"U", "W"} or not id_.isupper():
            return id_
        return self._remembered(id_, self._person)

    def where(self, id_: str) -> str:
        """A channel."""
        if id_.startswith("D"):
            return "direct messages"
        return self._remembered(id_, self._channel)

    def _remembered(self, id_: str, ask: Callable[[str], str]) -> str:
        now = time.monotonic()
        with self._lock:
            until, name = self._known.get(id_, (0.0, id_))
            self._asked = [at for at in self._asked if now - at < SPACE]
            if now < until or len(self._asked) >= MOST:
                return name
            self._asked.append(now)
        try:
            found, lasts = ask(id_), REMEMBER
        except (SlackClientError, OSError, HTTPException, KeyError):
            found, lasts = name, AGAIN
        with self._lock:
            self._known[id_] = (now + lasts, found)
        return found

    def _person(self, id_: str) -> str:
        facts: dict[str, Any] = self._client.users_info(user=id_)["user"]
        profile = facts.get("profile") or {}
        return str(profile.get("display_name") or facts.get("name") or id_)

    def _channel(self, id_: str) -> str:
        return f"#{self._client.conversations_info(channel=id_)['channel']['name']}"

    def _group(self, id_: str) -> str:
        found = self._client.usergroups_list()["usergroups"]
        return next((f"@{group['handle']}" for group in found if group["id"] == id_), id_)
