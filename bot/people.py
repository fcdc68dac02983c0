"""Who somebody is, asked of Slack and remembered for a minute at most. What cannot be asked is refused."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from http.client import HTTPException
from threading import Lock
from typing import Any, TypeVar

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError, SlackRequestError

from bot.policy.authorize import Actor
from storage.config import is_group
from storage.errors import SignoffError

REMEMBER = 60.0
REFUSED = 5.0  # a refusal may be remembered even where a yes must be fresh: it grants nothing
GROUP = 3.0  # seconds between two looks at groups: Slack answers twenty a minute
T = TypeVar("T")


class Unidentified(SignoffError):
    """Slack did not say who somebody is: nothing is done for them, now."""


class People:
    """Fresh facts about one workspace: its members, the groups that policy names, its channels."""

    def __init__(
        self, client: WebClient, team: str, *, enterprise: str = "", groups: Sequence[str] = ()
    ) -> None:
        self._client, self._team, self._enterprise, self._groups = client, team, enterprise, groups
        self._known: dict[str, tuple[float, Any]] = {}
        self._lock = Lock()

    def actor(self, user: str, *, fresh: bool = False) -> Actor:
        """The person as Slack knows them now, barred with the reason if they may do nothing."""

        def lasts(known: Actor) -> float:
            return REFUSED if known.barred else 0.0 if fresh else REMEMBER

        found = self._remembered(user, lasts, lambda: self._look_up(user))
        if found.barred or not self._groups:
            return found
        held = (group for group in self._groups if user in self.members(group, fresh=fresh))
        return replace(found, groups=frozenset(held))

    def members(self, group: str, *, fresh: bool = False) -> frozenset[str]:
        """Who is in a user group, a minute ago at most; `fresh`: as lately as Slack may be asked for all."""
        lasts = GROUP * len(self._groups) if fresh else REMEMBER
        return self._remembered(group, lambda _: lasts, lambda: self._listed(group))

    def expanded(self, ids: Sequence[str]) -> tuple[str, ...]:
        """The people behind user ids and group ids, each once."""
        people = (user for id_ in ids for user in (sorted(self.members(id_)) if is_group(id_) else (id_,)))
        return (*dict.fromkeys(people),)

    def outside(self, channel: str) -> bool:
        """Whether other organisations are in this channel (Slack Connect); in direct messages nobody is."""
        if channel.startswith("D"):
            return False
        return self._remembered(channel, lambda _: REFUSED, lambda: self._shared(channel))

    def _remembered(self, key: str, lasts: Callable[[T], float], ask: Callable[[], T]) -> T:
        with self._lock:
            at, kept = self._known.get(key, (0.0, None))
        known: T | None = kept  # one key, one kind of answer
        if known is not None and time.monotonic() - at < lasts(known):
            return known
        found = ask()
        with self._lock:
            self._known[key] = (time.monotonic(), found)
        return found

    def _look_up(self, user: str) -> Actor:
        facts = _answered(lambda: self._client.users_info(user=user), "who you are")["user"]
        return Actor(facts.get("team_id", ""), user, barred(facts, self._team, self._enterprise))

    def _listed(self, group: str) -> frozenset[str]:
        what = f"who is in the group {group}"
        return frozenset(
            _answered(lambda: self._client.usergroups_users_list(usergroup=group), what)["users"]
        )

    def _shared(self, channel: str) -> bool:
        found = _answered(lambda: self._client.conversations_info(channel=channel), "who reads this channel")
        return bool(found["channel"].get("is_ext_shared"))


def _answered(ask: Callable[[], Any], what: str) -> Any:
    try:
        return ask()
    except (SlackApiError, SlackRequestError, OSError, HTTPException) as error:
        data = error.response.data if isinstance(error, SlackApiError) else None
        code = data.get("error") if isinstance(data, dict) else type(error).__name__
        raise Unidentified(f"I could not check {what} ({code}), so nothing was done.") from None


def barred(facts: dict[str, Any], team: str, enterprise: str = "") -> str:
    """Why this member may do nothing here, or ""."""
    if facts.get("deleted"):
        return "This account is deactivated."
    if facts.get("is_bot") or facts.get("id") == "USLACKBOT":
        return "Bots may not ask for or decide plans."
    if facts.get("is_restricted") or facts.get("is_ultra_restricted"):
        return "Guests may not ask for or decide plans."
    home = (facts.get("enterprise_user") or {}).get("enterprise_id", "")
    if facts.get("team_id") != team or facts.get("is_stranger") or home != enterprise:
        return "Only members of this workspace may ask for or decide plans."
    return ""
