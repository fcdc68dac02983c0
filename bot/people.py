"""Who somebody is, asked of Slack and remembered for a minute at most. What cannot be asked is refused."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from http.client import HTTPException
from threading import Lock
from types import MappingProxyType
from typing import Any, TypeVar

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError, SlackRequestError

from bot.policy.authorize import Actor
from storage.config import is_group
from storage.errors import SignoffError

REMEMBER = 60.0
REFUSED = 5.0  # a refusal may be remembered even where a yes must be fresh: it grants nothing
GROUP = 3.0  # seconds between two looks at groups: Slack answers twenty a minute
PLACE = 1.2  # and between two at one channel: Slack answers fifty a minute
PAGES = 50  # of a person's private channels; further ones they do not see
SHARED = ("is_ext_shared", "is_pending_ext_shared", "pending_shared", "pending_connected_team_ids")
T = TypeVar("T")


class Unidentified(SignoffError):
    """Slack did not say who somebody is: nothing is done for them, now."""


@dataclass(frozen=True)
class Home:
    """The workspace that our token is for, and our app there, as Slack says."""

    team: str
    enterprise: str = ""
    app: str = ""
    url: str = ""  # its address, for links
    user: str = ""  # who we are there, to hear nothing of our own
    bot: str = ""

    def sent(self, team: str, enterprise: str, app: str) -> bool:
        """Whether a delivery with these marks is meant for us, and comes from here."""
        return bool(team and app) and (team, enterprise, app) == (self.team, self.enterprise, self.app)


class People:
    """Fresh facts about one workspace: its members, the groups that policy names, its channels."""

    def __init__(
        self, client: WebClient, home: Home, *, groups: Sequence[str] = (),
        duties: Mapping[str, Callable[[], frozenset[str]]] = MappingProxyType({}), lasts: float = REMEMBER,
        steady: Callable[[], float] = lambda: time.monotonic(),
    ) -> None:  # fmt: skip
        self._client, self.home, self._groups, self._lasts = client, home, groups, lasts
        self.duties = duties  # schedules elsewhere, by the id of their group
        self._known: dict[str, tuple[float, Any]] = {}
        self._lock, self.steady = Lock(), steady

    def actor(self, user: str, *, fresh: bool = False) -> Actor:
        """The person as Slack knows them now, barred with the reason if they may do nothing."""

        def lasts(known: Actor) -> float:
            return REFUSED if known.barred else 0.0 if fresh else self._lasts

        found = self._remembered(user, lasts, lambda: self._look_up(user))
        if found.barred or not self._groups:
            return found
        held, unsure = set[str](), list[str]()
        for group in self._groups:
            try:
                held |= {group} if user in self.members(group, fresh=fresh) else set()
            except Unidentified as error:
                if group not in self.duties:
                    raise
                unsure.append(str(error))  # it gives no right; whoever has one without it keeps it
        return replace(found, groups=frozenset(held), unsure=" ".join(unsure))

    def members(self, group: str, *, fresh: bool = False) -> frozenset[str]:
        """Who is in a user group, a minute ago at most; `fresh`: as lately as Slack may be asked for all."""
        lasts = GROUP * len(self._groups) if fresh else REMEMBER
        return self._remembered(group, lambda _: lasts, lambda: self._listed(group))

    def expanded(self, ids: Sequence[str]) -> tuple[str, ...]:
        """The people behind user ids and group ids, each once."""
        people = (user for id_ in ids for user in (sorted(self.members(id_)) if is_group(id_) else (id_,)))
        return (*dict.fromkeys(people),)

    def outside(self, channel: str, *, fresh: bool = False) -> bool:
        """Whether other organisations are in this channel (Slack Connect), or invited to it.

        In direct messages with us nobody is.
        """
        return not channel.startswith("D") and self._place(channel, fresh=fresh).shared

    def reads(self, user: str, channel: str) -> bool:
        """Whether a member could read this channel. Of direct messages, and where Slack does not say: no."""
        if channel.startswith("D"):
            return False
        try:
            return self._place(channel).public or channel in self._private(user)
        except Unidentified:
            return False

    def public(self, channel: str) -> bool:
        """Whether every member could read this channel. Where Slack does not say: no."""
        if channel.startswith("D"):
            return False
        try:
            return self._place(channel).public
        except Unidentified:
            return False

    def called(self, user: str) -> str:
        """Somebody's name, as Slack shows it; their id where it does not say."""

        def ask() -> str:
            facts = _answered(lambda: self._client.users_info(user=user), "who somebody is")["user"]
            shown = (
                facts.get("profile", {}).get("display_name") or facts.get("real_name") or facts.get("name")
            )
            return str(shown or user)

        try:
            return self._remembered(f"name:{user}", lambda _: REMEMBER, ask)
        except Unidentified:
            return user

    def said_in(self, channel: str, thread: str) -> list[dict[str, Any]]:
        """The messages of a thread, oldest first. Unidentified where Slack does not say."""

        def ask() -> Any:
            return self._client.conversations_replies(channel=channel, ts=thread, limit=200)

        return [*_answered(ask, "what was said there")["messages"]]

    def _private(self, user: str) -> frozenset[str]:
        return self._remembered(f"rooms:{user}", lambda _: REMEMBER, lambda: self._rooms(user))

    def _place(self, channel: str, *, fresh: bool = False) -> "Place":
        def lasts(known: Place) -> float:
            return REFUSED if known.shared or not fresh else PLACE

        return self._remembered(channel, lasts, lambda: self._looked_at(channel))

    def _remembered(self, key: str, lasts: Callable[[T], float], ask: Callable[[], T]) -> T:
        with self._lock:
            at, kept = self._known.get(key, (0.0, None))
        known: T | None = kept  # one key, one kind of answer
        if known is not None and self.steady() - at < lasts(known):
            return known
        found = ask()
        with self._lock:
            self._known[key] = (self.steady(), found)
        return found

    def _look_up(self, user: str) -> Actor:
        if not self.home.team:
            raise Unidentified("I could not reach Slack yet to check who you are, so nothing was done.")
        facts = _answered(lambda: self._client.users_info(user=user), "who you are")["user"]
        team, why = facts.get("team_id", ""), barred(facts, self.home)
        return Actor(team, user, why, person=person(facts))

    def on_duty(self, group: str, user: str) -> dict[str, Any]:
        """What the provider of a schedule has said of somebody; nothing where it has not."""
        said: dict[str, Any] = getattr(self.duties.get(group), "answer", {}).get(user, {})
        return said

    def by_email(self, address: str) -> str:
        """The member with this address; "" where Slack knows none."""
        try:
            facts = self._client.users_lookupByEmail(email=address)
        except (SlackApiError, SlackRequestError, OSError, HTTPException):
            return ""
        return str(facts["user"]["id"])

    def _listed(self, group: str) -> frozenset[str]:
        if group in self.duties:
            return self.duties[group]()
        what = f"who is in the group {group}"
        return frozenset(
            _answered(lambda: self._client.usergroups_users_list(usergroup=group), what)["users"]
        )

    def _looked_at(self, channel: str) -> "Place":
        what = "who reads this channel"
        facts = _answered(lambda: self._client.conversations_info(channel=channel), what)["channel"]
        return Place(shared=is_shared(facts), public=is_public(facts))

    def _page(self, user: str, cursor: str) -> Any:
        page: dict[str, Any] = {"types": "private_channel", "limit": 200, "cursor": cursor}
        return _answered(lambda: self._client.users_conversations(user=user, **page), "what you can read")

    def _rooms(self, user: str) -> frozenset[str]:
        """The private channels that we are in, and this person, too."""
        rooms, cursor = set[str](), ""
        for _ in range(PAGES):
            found = self._page(user, cursor)
            rooms |= {room["id"] for room in found["channels"]}
            cursor = (found.get("response_metadata") or {}).get("next_cursor", "")
            if not cursor:
                break
        return frozenset(rooms)


@dataclass(frozen=True)
class Place:
    """A channel, by who can read it."""

    shared: bool  # with another organisation, now or as soon as an invitation is accepted
    public: bool  # every member of the workspace can read it


def is_shared(facts: dict[str, Any]) -> bool:
    """By Slack's marks of a channel. What is shared, and not within the organisation, is shared outside."""
    beyond = facts.get("is_shared") and not facts.get("is_org_shared")
    return bool(beyond) or any(facts.get(mark) for mark in SHARED)


def is_public(facts: dict[str, Any]) -> bool:
    """What does not say that it is public is not."""
    closed = any(facts.get(mark) for mark in ("is_im", "is_mpim", "is_group"))
    return facts.get("is_private") is False and not closed


def _answered(ask: Callable[[], Any], what: str) -> Any:
    try:
        return ask()
    except (SlackApiError, SlackRequestError, OSError, HTTPException) as error:
        data = error.response.data if isinstance(error, SlackApiError) else None
        code = data.get("error") if isinstance(data, dict) else type(error).__name__
        raise Unidentified(f"I could not check {what} ({code}), so nothing was done.") from error


def person(facts: dict[str, Any]) -> str:
    """Who is behind an account, as far as Slack tells: the organisation's one identity, or the address."""
    whole = (facts.get("enterprise_user") or {}).get("id") or ""
    address = (facts.get("profile") or {}).get("email") or ""
    return str(whole or address).strip().casefold()


def barred(facts: dict[str, Any], here: Home) -> str:
    """Why this member may do nothing here, or ""."""
    if facts.get("deleted"):
        return "This account is deactivated."
    if facts.get("is_bot") or facts.get("id") == "USLACKBOT":
        return "Bots may not ask for or decide plans."
    if facts.get("is_restricted") or facts.get("is_ultra_restricted"):
        return "Guests may not ask for or decide plans."
    home = (facts.get("enterprise_user") or {}).get("enterprise_id", "")
    if facts.get("team_id") != here.team or facts.get("is_stranger") or home != here.enterprise:
        return "Only members of this workspace may ask for or decide plans."
    return ""
