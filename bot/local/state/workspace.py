"""The workspace's state with Slack's semantics: people, channels, messages, threads, ephemerals."""

import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from bot.local.shapes import (
    APP_ID,
    BOT_ID,
    SLACKBOT,
    STATUS,
    Channel,
    Group,
    Json,
    Member,
    Refused,
    dm_id,
)
from bot.local.state.ids import number_blocks
from bot.local.state.notices import notified
from bot.local.state.persistence import Changed, Memory

TOMBSTONE = "tombstone"


class Workspace:
    """Who is here and what was said."""

    def __init__(
        self,
        *,
        members: Iterable[Member],
        bot: Member,
        channels: Iterable[Channel],
        groups: Iterable[Group] = (),
        path: Path | None,
        changed: Changed,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.bot = bot
        self.members = {member.id: member for member in (*members, bot)}
        self.channels = {channel.id: channel for channel in channels}
        self.groups = {group.id: group for group in groups}
        self.direct = {dm_id(id): Channel(dm_id(id), "directmessage", user=id) for id in self._people()}
        self.memory = Memory(path, changed)
        self.messages = self.memory.records("message")
        self.ephemerals = self.memory.records("ephemeral")
        self.hooks = self.memory.records("hook")
        self.events = self.memory.records("event")
        self.notices = self.memory.records("notice")
        self._changed = changed
        self._clock = clock
        self._last = max((_micros(body["ts"]) for body in (*self.messages, *self.ephemerals)), default=0)

    def _people(self) -> list[str]:
        return [id for id, member in self.members.items() if not member.is_bot]

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

    def group(self, group_id: Any) -> Group:
        if group_id not in self.groups:
            raise Refused("no_such_subteam")
        return self.groups[group_id]

    def change_group(self, group_id: str, fields: Json) -> None:
        self.groups[group_id] = replace(self.group(group_id), **fields)
        self._changed("group", group_id, vars(self.groups[group_id]))

    def channel(self, channel_id: Any) -> Channel:
        found = self.channels.get(channel_id) or self.direct.get(channel_id)
        if found is None:
            raise Refused("channel_not_found")
        return found

    def change_channel(self, channel_id: str, fields: Json) -> None:
        """Archive it, share it, throw the app out: whatever an admin can do."""
        if channel_id not in self.channels:
            raise Refused("channel_not_found")
        self.channels[channel_id] = replace(self.channels[channel_id], **fields)
        self._changed("channel", channel_id, vars(self.channels[channel_id]))

    def joined(self, channel_id: Any) -> Channel:
        """A channel that the app may look into."""
        channel = self.channel(channel_id)
        if not channel.has_bot:
            raise Refused("channel_not_found" if channel.is_private else "not_in_channel")
        return channel

    def open_to_app(self, channel_id: Any, *, archived: str = "is_archived") -> Channel:
        """A channel that the app may write into."""
        channel = self.joined(channel_id)
        if channel.is_archived:
            raise Refused(archived)
        return channel

    def message(self, channel_id: str, ts: str) -> Json:
        message = self.messages.get(f"{channel_id}:{ts}")
        if message is None:
            raise Refused("message_not_found")
        return message

    def post(self, channel: Channel, user: Member, *, thread_ts: str = "", **parts: Any) -> Json:
        """Add a message, in the channel or in the thread of `thread_ts`."""
        root = self._root(channel, thread_ts) if thread_ts else None
        if root and user.is_bot:
            root = self.show_status(channel, root["ts"], "")
        message = self._new_message(channel, user) | {name: part for name, part in parts.items() if part}
        if root:
            message |= {"thread_ts": root["ts"], "parent_user_id": root["user"]}
            self._count_reply(channel, root, message)
        self._notify(channel, message)
        return self.messages.keep(f"{channel.id}:{message['ts']}", number_blocks(message))

    def _notify(self, channel: Channel, message: Json) -> None:
        root = message.get("thread_ts", "")
        told = notified(
            message,
            channel,
            people=self._people(),
            groups=self.groups,
            followers=self._followers(channel, root),
        )
        for user, why in told.items():
            notice = {"user": user, "channel": channel.id, "ts": message["ts"], "thread_ts": root, "why": why}
            self.notices.keep(f"{user}:{channel.id}:{message['ts']}", notice)

    def _followers(self, channel: Channel, root: str) -> set[str]:
        """Who wrote in a thread or was called into it hears of what is said there."""
        if not root:
            return set()
        wrote = {message["user"] for message in self.replies(channel, root)}
        here = [one for one in self.notices if one["channel"] == channel.id and one["why"] == "mention"]
        return wrote | {one["user"] for one in here if root in (one["ts"], one["thread_ts"])}

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

    def show_status(self, channel: Channel, thread_ts: str, text: str) -> Json:
        """What the app does just now, at the root of a thread; what it says there takes it away."""
        if self.messages.get(f"{channel.id}:{thread_ts}") is None:
            raise Refused("invalid_thread_ts")
        root = self._root(channel, thread_ts)
        rest = {name: part for name, part in root.items() if name != STATUS}
        shown = rest | ({STATUS: text} if text else {})
        return root if shown == root else self.messages.keep(f"{channel.id}:{root['ts']}", shown)

    def react(self, channel: Channel, ts: str, user: Member, name: str) -> None:
        message = self.message(channel.id, ts)
        before = {reaction["name"]: reaction["users"] for reaction in message.get("reactions", [])}
        if user.id in before.get(name, []):
            raise Refused("already_reacted")
        self._show_reactions(message, before | {name: [*before.get(name, []), user.id]})

    def unreact(self, channel: Channel, ts: str, user: Member, name: str) -> None:
        message = self.message(channel.id, ts)
        before = {reaction["name"]: reaction["users"] for reaction in message.get("reactions", [])}
        if user.id not in before.get(name, []):
            raise Refused("no_reaction")
        self._show_reactions(message, before | {name: [one for one in before[name] if one != user.id]})

    def _show_reactions(self, message: Json, by_name: dict[str, list[str]]) -> None:
        left = {name: users for name, users in by_name.items() if users}
        shown = [{"name": name, "users": users, "count": len(users)} for name, users in left.items()]
        rest = {name: part for name, part in message.items() if name != "reactions"}
        key = f"{message['channel']}:{message['ts']}"
        self.messages.keep(key, rest | ({"reactions": shown} if shown else {}))

    def remove(self, channel: Channel, ts: str) -> None:
        """A message goes; where others have replied to it, a stone with nothing on it is left."""
        message = self.messages.get(f"{channel.id}:{ts}")
        if message is None:
            return
        if message.get("reply_count"):
            self.messages.keep(f"{channel.id}:{ts}", _stone(message))
            return
        self.messages.drop(f"{channel.id}:{ts}")
        self._count_again(channel, message.get("thread_ts", ts))

    def _count_again(self, channel: Channel, root_ts: str) -> None:
        root = self.messages.get(f"{channel.id}:{root_ts}")
        if root is None:
            return
        counts = ("thread_ts", "reply_count", "reply_users", "reply_users_count", "latest_reply")
        self.messages.keep(f"{channel.id}:{root_ts}", {k: v for k, v in root.items() if k not in counts})
        for reply in self.replies(channel, root_ts):
            if reply["ts"] != root_ts:
                self._count_reply(channel, self.message(channel.id, root_ts), reply)

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
        """Forget everything that was said."""
        self.messages.clear()
        self.ephemerals.clear()
        self.notices.clear()

    def history(self, channel: Channel) -> list[Json]:
        """What stands in the channel itself, newest first."""
        shown = [m for m in self.messages if m["channel"] == channel.id and _in_channel(m)]
        return sorted(shown, key=lambda message: _micros(message["ts"]), reverse=True)

    def replies(self, channel: Channel, ts: str) -> list[Json]:
        """A thread: its root first, then the replies in order."""
        root = self._root(channel, ts)
        thread = [m for m in self.messages if m["channel"] == channel.id and m.get("thread_ts") == root["ts"]]
        return sorted(thread, key=lambda message: _micros(message["ts"])) or [root]


def _stone(message: Json) -> Json:
    kept = ("type", "ts", "channel", "team", "thread_ts", "reply_count", "reply_users", "reply_users_count",
            "latest_reply")  # fmt: skip
    rest = {name: message[name] for name in kept if name in message}
    words = {"subtype": TOMBSTONE, "text": "This message was deleted.", "user": SLACKBOT, "hidden": True}
    return rest | words


def _micros(ts: str) -> int:
    seconds, _, micros = ts.partition(".")
    return int(seconds) * 1_000_000 + int(micros or 0)


def _in_channel(message: Json) -> bool:
    alone = message.get("thread_ts", message["ts"]) == message["ts"]
    return alone or message.get("subtype") == "thread_broadcast"
