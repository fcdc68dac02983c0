"""The workspace's state with Slack's semantics: messages, threads, ephemerals, views, response urls."""

import secrets
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from bot.local.memory import Changed, Memory
from bot.local.shapes import APP_ID, BOT_ID, TEAM_ID, Channel, Json, Member, Refused


class Workspace:
    """Who is here, what was said, what is open."""

    def __init__(
        self,
        *,
        members: Iterable[Member],
        bot: Member,
        channels: Iterable[Channel],
        path: Path | None,
        changed: Changed,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.bot = bot
        self.members = {member.id: member for member in (*members, bot)}
        self.channels = {channel.id: channel for channel in channels}
        self.memory = Memory(path, changed)
        self.messages = self.memory.shelf("message")
        self.ephemerals = self.memory.shelf("ephemeral")
        self.views = self.memory.shelf("view")
        self.hooks = self.memory.shelf("hook")
        self.events = self.memory.shelf("event")
        self._changed = changed
        self._clock = clock
        self._last = max((_micros(body["ts"]) for body in (*self.messages, *self.ephemerals)), default=0)

    def next_ts(self) -> str:
        """The time now as Slack writes it; unique and increasing even when the clock steps back."""
        self._last = max(int(self._clock() * 1_000_000), self._last + 1)
        return f"{self._last // 1_000_000}.{self._last % 1_000_000:06d}"

    def member(self, user_id: Any) -> Member:
        if user_id not in self.members:
            raise Refused("user_not_found")
        return self.members[user_id]

    def change_member(self, user_id: str, fields: Json) -> None:
        self.members[user_id] = replace(self.member(user_id), **fields)
        self._changed("member", user_id, vars(self.members[user_id]))

    def channel(self, channel_id: Any) -> Channel:
        if channel_id not in self.channels:
            raise Refused("channel_not_found")
        return self.channels[channel_id]

    def message(self, channel_id: str, ts: str) -> Json:
        message = self.messages.get(f"{channel_id}:{ts}")
        if message is None:
            raise Refused("message_not_found")
        return message

    def post(self, channel: Channel, user: Member, *, thread_ts: str = "", **parts: Any) -> Json:
        """Add a message, in the channel or in the thread of `thread_ts`."""
        root = self._root(channel, thread_ts) if thread_ts else None
        message = self._new_message(channel, user) | {name: part for name, part in parts.items() if part}
        if root:
            message |= {"thread_ts": root["ts"], "parent_user_id": root["user"]}
            self._count_reply(channel, root, message)
        return self.messages.keep(f"{channel.id}:{message['ts']}", number_blocks(message))

    def _new_message(self, channel: Channel, user: Member) -> Json:
        app = {"bot_id": BOT_ID, "app_id": APP_ID} if user.is_bot else {}
        base = {"type": "message", "user": user.id, "team": user.team_id, "channel": channel.id, "text": ""}
        return base | app | {"ts": self.next_ts()}

    def _root(self, channel: Channel, thread_ts: str) -> Json:
        message = self.messages.get(f"{channel.id}:{thread_ts}")
        if message is None:
            raise Refused("thread_not_found")
        return self.message(channel.id, str(message.get("thread_ts", message["ts"])))

    def _count_reply(self, channel: Channel, root: Json, reply: Json) -> None:
        users = list(dict.fromkeys([*root.get("reply_users", []), reply["user"]]))
        counted = {
            "thread_ts": root["ts"],
            "reply_count": root.get("reply_count", 0) + 1,
            "reply_users": users,
            "reply_users_count": len(users),
            "latest_reply": reply["ts"],
        }
        self.messages.keep(f"{channel.id}:{root['ts']}", root | counted)

    def update(self, channel: Channel, ts: str, **parts: Any) -> Json:
        """Change a message of the app; parts that are None stay as they are, empty ones go."""
        message = self.message(channel.id, ts)
        if message["user"] != self.bot.id:
            raise Refused("cant_update_message")
        changed = message | {name: part for name, part in parts.items() if part is not None}
        changed["edited"] = {"user": self.bot.id, "ts": self.next_ts()}
        kept = {name: part for name, part in changed.items() if part or name == "text"}
        return self.messages.keep(f"{channel.id}:{ts}", number_blocks(kept))

    def remove(self, channel: Channel, ts: str) -> None:
        self.messages.drop(f"{channel.id}:{ts}")

    def whisper(self, channel: Channel, user: Member, *, sender: str, **parts: Any) -> Json:
        """Show something to one person only."""
        ts = self.next_ts()
        body = {
            "ts": ts,
            "channel": channel.id,
            "to": user.id,
            "user": sender,
            "text": "",
            "is_ephemeral": True,
        }
        return self.ephemerals.keep(ts, number_blocks(body | {k: part for k, part in parts.items() if part}))

    def clear(self) -> None:
        """Forget everything that was said and is open."""
        for shelf in (self.messages, self.ephemerals, self.views):
            for id, _ in shelf.items():
                shelf.drop(id)

    def history(self, channel: Channel) -> list[Json]:
        """What stands in the channel itself, newest first."""
        shown = [m for m in self.messages if m["channel"] == channel.id and _in_channel(m)]
        return sorted(shown, key=lambda message: _micros(message["ts"]), reverse=True)

    def replies(self, channel: Channel, ts: str) -> list[Json]:
        """A thread: its root first, then the replies in order."""
        root = self._root(channel, ts)
        thread = [m for m in self.messages if m["channel"] == channel.id and m.get("thread_ts") == root["ts"]]
        return sorted(thread, key=lambda message: _micros(message["ts"])) or [root]

    def open_view(self, user: Member, view: Json, *, under: Json | None = None) -> Json:
        """Open a modal for one person: alone, or on top of the view `under`."""
        if under is None:
            for old in self.stack(user):
                self.views.drop(old["id"])
        if len(self.stack(user)) >= 3:
            raise Refused("push_limit_reached")
        id = "V" + secrets.token_hex(5).upper()
        frame = {
            "id": id,
            "team_id": TEAM_ID,
            "app_id": APP_ID,
            "bot_id": BOT_ID,
            "app_installed_team_id": TEAM_ID,
            "root_view_id": under["root_view_id"] if under else id,
            "previous_view_id": under["id"] if under else None,
            "user": user.id,
        }
        return self.views.keep(id, frame | self._view_body(view))

    def update_view(self, view_id: str, view: Json) -> Json:
        old = self.view(view_id)
        frame = {name: old[name] for name in _FRAME}
        return self.views.keep(view_id, frame | self._view_body(view))

    def _view_body(self, view: Json) -> Json:
        blank = {"submit": None, "close": None, "private_metadata": "", "callback_id": "", "external_id": ""}
        flags = {"clear_on_close": False, "notify_on_close": False, "state": {"values": {}}}
        return number_blocks(blank | flags | view) | {"hash": f"{self.next_ts()}.{secrets.token_hex(4)}"}

    def view(self, view_id: str | None, external_id: str | None = None) -> Json:
        for view in self.views:
            if view["id"] == view_id or (external_id and view["external_id"] == external_id):
                return view
        raise Refused("not_found")

    def stack(self, user: Member) -> list[Json]:
        """The person's open views, the visible one last."""
        return [view for view in self.views if view["user"] == user.id]


_FRAME = (
    "id",
    "team_id",
    "app_id",
    "bot_id",
    "app_installed_team_id",
    "root_view_id",
    "previous_view_id",
    "user",
)


def _micros(ts: str) -> int:
    seconds, _, micros = ts.partition(".")
    return int(seconds) * 1_000_000 + int(micros or 0)


def _in_channel(message: Json) -> bool:
    return message.get("thread_ts", message["ts"]) == message["ts"] or "subtype" in message


def number_blocks(body: Json) -> Json:
    """Give every block and element the id that Slack makes up when the app gave none."""
    if "blocks" not in body:
        return body
    return body | {"blocks": [_number_block(block) for block in body["blocks"]]}


def _number_block(given: Json) -> Json:
    block: Json = {"block_id": secrets.token_urlsafe(4)} | given
    for name in ("elements", "child_blocks"):
        if name in block and block["type"] in ("actions", "container"):
            number = _number_block if name == "child_blocks" else _number_element
            block[name] = [number(part) for part in block[name]]
    for name in ("accessory", "element"):
        if name in block:
            block[name] = _number_element(block[name])
    return block


def _number_element(element: Json) -> Json:
    return {"action_id": secrets.token_urlsafe(4)} | element
