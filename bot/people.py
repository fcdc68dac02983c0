"""Who somebody is, asked of Slack and remembered for a minute at most. What cannot be asked is refused."""

import time
from threading import Lock
from typing import Any

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from bot.policy import Actor
from storage.errors import SignoffError

REMEMBER = 60.0
REFUSED = 5.0  # a refusal may be remembered even where a yes must be fresh: it grants nothing


class Unsure(SignoffError):
    """Slack did not say who somebody is: nothing is done for them, now."""


class People:
    """Fresh facts about members of one workspace."""

    def __init__(self, client: WebClient, team: str) -> None:
        self._client, self._team = client, team
        self._known: dict[str, tuple[float, Actor]] = {}
        self._lock = Lock()

    def actor(self, user: str, *, fresh: bool = False) -> Actor:
        """The person as Slack knows them now, barred with the reason if they may do nothing."""
        with self._lock:
            at, known = self._known.get(user, (0.0, None))
        lasts = REFUSED if known and known.barred else 0.0 if fresh else REMEMBER
        if known and time.monotonic() - at < lasts:
            return known
        found = self._look_up(user)
        with self._lock:
            self._known[user] = (time.monotonic(), found)
        return found

    def _look_up(self, user: str) -> Actor:
        try:
            facts = self._client.users_info(user=user)["user"]
        except (SlackApiError, OSError) as error:
            code = error.response.get("error") if isinstance(error, SlackApiError) else type(error).__name__
            raise Unsure(f"I could not check who you are ({code}), so nothing was done.") from None
        return Actor(facts.get("team_id", ""), user, barred(facts, self._team))


def barred(facts: dict[str, Any], team: str) -> str:
    """Why this member may do nothing here, or ""."""
    if facts.get("deleted"):
        return "This account is deactivated."
    if facts.get("is_bot") or facts.get("id") == "USLACKBOT":
        return "Bots may not ask for or decide plans."
    if facts.get("is_restricted") or facts.get("is_ultra_restricted"):
        return "Guests may not ask for or decide plans."
    if facts.get("team_id") != team or facts.get("is_stranger"):
        return "Only members of this workspace may ask for or decide plans."
    return ""
