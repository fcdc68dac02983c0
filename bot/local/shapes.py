"""The values a local workspace is made of: who is in it, where they talk, what the demo offers."""

from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Json = dict[str, Any]

TEAM_ID = "T0LOCAL"
APP_ID = "A0LOCAL"
BOT_ID = "B0LOCAL"
SLACKBOT = "USLACKBOT"
STATUS = "app_status"  # what the app does in a thread, kept at its root; no API hands it out
SITE = "https://local.slack.com/"


class Refused(Exception):
    """Slack says no: its error code, where in the request the fault is, and what else it says."""

    def __init__(self, code: str, *messages: str, **more: str) -> None:
        super().__init__(code, *messages)
        self.code = code
        self.messages = messages
        self.more = more


@dataclass(frozen=True)
class Member:
    """A person, or the app's own user."""

    id: str
    name: str
    real_name: str
    is_admin: bool = False
    is_restricted: bool = False
    is_ultra_restricted: bool = False
    is_bot: bool = False
    deleted: bool = False
    team_id: str = TEAM_ID
    tz: str = "America/New_York"


@dataclass(frozen=True)
class Channel:
    """A channel; with `user`, the app's direct messages with that person."""

    id: str
    name: str
    topic: str = ""
    is_private: bool = False
    is_ext_shared: bool = False
    is_pending_ext_shared: bool = False  # another organisation is invited
    is_archived: bool = False
    has_bot: bool = True
    user: str = ""
    members: tuple[str, ...] | None = None  # who has joined; None: everybody

    def has(self, user: str) -> bool:
        """Whether this person has joined it."""
        return self.user == user if self.user else self.members is None or user in self.members

    @property
    def kind(self) -> str:
        """What Slack calls `channel_type`."""
        return "im" if self.user else "group" if self.is_private else "channel"


@dataclass(frozen=True)
class Group:
    """A user group: `@on-call`."""

    id: str
    handle: str
    name: str
    users: tuple[str, ...] = ()


@dataclass(frozen=True)
class Shortcut:
    """A message shortcut of the app, offered in a message's menu."""

    callback_id: str
    name: str


def dm_id(user_id: str) -> str:
    """The id of the app's direct messages with this person."""
    return f"D{user_id[1:]}"


def _nothing(on: bool) -> str:
    return ""


def _steady() -> Json:
    return {}


@dataclass(frozen=True)
class Control:
    """A demo control. `run` answers with a sentence; `state` may override label, help, on, url, disabled.

    `opens` is asked for an address when a link of that kind is followed, for the member who acts.
    """

    id: str
    label: str
    kind: Literal["button", "switch", "link", "opens"]
    help: str = ""
    run: Callable[[bool], Awaitable[str] | str] = _nothing
    state: Callable[[], Json] = _steady
    lead: bool = False  # offered at the top of the page, too
    opens: Callable[[str], Awaitable[str] | str] = str


@dataclass(frozen=True)
class Delivery:
    """What became of one act: whether the app acked it, how fast, and what it answered."""

    acked: bool
    ms: float = 0.0
    error: str = ""
    errors: dict[str, str] = field(default_factory=dict)
    payload: Json = field(default_factory=dict)

    def to_json(self) -> Json:
        return asdict(self)


DEFAULT_BOT = Member("U0SIGNOFF", "signoff", "Signoff", is_bot=True)
DEFAULT_CHANNEL = Channel("C0OPS", "ops", "Changes to production")
