"""The Web API methods the bot uses, with Slack's answers and error codes. Any other is unknown."""

import json
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from bot.local import limits, payloads
from bot.local.faults import Faults
from bot.local.shapes import BOT_ID, TEAM_ID, Json, Member, Refused
from bot.local.triggers import Triggers
from bot.local.workspace import Workspace

Echo = Callable[[Json], None]


class WebApi:
    """One method of this class per method of Slack; `call` finds it and shapes the answer."""

    def __init__(
        self,
        workspace: Workspace,
        triggers: Triggers,
        faults: Faults,
        *,
        echo: Echo,
        open_link: Callable[[], str],
    ) -> None:
        self._workspace = workspace
        self._triggers = triggers
        self._faults = faults
        self._echo = echo
        self._open_link = open_link

    def call(self, name: str, arguments: Json) -> Json:
        if name not in METHODS:
            return {"ok": False, "error": "unknown_method", "req_method": name}
        try:
            return {"ok": True} | METHODS[name](self, _decoded(arguments))
        except Refused as refused:
            details = {"response_metadata": {"messages": list(refused.messages)}} if refused.messages else {}
            return {"ok": False, "error": refused.code} | details

    def _auth_test(self, given: Json) -> Json:
        bot = self._workspace.bot
        return {
            "url": "https://local.slack.com/",
            "team": "Local workspace",
            "user": bot.name,
            "team_id": TEAM_ID,
            "user_id": bot.id,
            "bot_id": BOT_ID,
            "is_enterprise_install": False,
        }

    def _open_connection(self, given: Json) -> Json:
        return {"url": self._open_link()}

    def _post_message(self, given: Json) -> Json:
        channel = self._workspace.channel(given.get("channel"))
        text, blocks, metadata = given.get("text"), given.get("blocks"), given.get("metadata")
        limits.check_message(text, blocks)
        if metadata:
            limits.check_metadata(metadata)
        broadcast = given.get("thread_ts") and given.get("reply_broadcast")
        message = self._workspace.post(
            channel,
            self._workspace.bot,
            thread_ts=given.get("thread_ts") or "",
            text=text,
            blocks=blocks,
            metadata=metadata,
            subtype="thread_broadcast" if broadcast else None,
        )
        self._echo(payloads.said(message))
        shown = payloads.public(message, metadata=True)
        return {"channel": channel.id, "ts": message["ts"], "message": shown}

    def _update(self, given: Json) -> Json:
        channel = self._workspace.channel(given.get("channel"))
        before = self._workspace.message(channel.id, str(given.get("ts")))
        text, blocks, metadata = given.get("text"), given.get("blocks"), given.get("metadata")
        left = before.get("blocks") if blocks is None else blocks
        limits.check_message(before["text"] if text is None else text, left, most_text=limits.UPDATE_TEXT)
        if metadata:
            limits.check_metadata(metadata)
        parts = {"text": text, "blocks": blocks, "metadata": metadata}
        message = self._workspace.update(channel, before["ts"], **parts)
        self._echo(payloads.changed(message, before))
        shown = payloads.public(message, metadata=True)
        return {"channel": channel.id, "ts": message["ts"], "text": message["text"], "message": shown}

    def _post_ephemeral(self, given: Json) -> Json:
        channel = self._workspace.channel(given.get("channel"))
        if given.get("user") not in self._workspace.members:
            raise Refused("user_not_in_channel")
        limits.check_message(given.get("text"), given.get("blocks"))
        parts = {name: given.get(name) for name in ("text", "blocks", "thread_ts")}
        user = self._workspace.member(given["user"])
        whisper = self._workspace.whisper(channel, user, sender=self._workspace.bot.id, **parts)
        return {"message_ts": whisper["ts"]}

    def _replies(self, given: Json) -> Json:
        channel = self._workspace.channel(given.get("channel"))
        if not given.get("ts"):
            raise Refused("invalid_arguments", "[ERROR] missing required field: ts")
        return _page(self._workspace.replies(channel, given["ts"]), given, standard=1000)

    def _history(self, given: Json) -> Json:
        channel = self._workspace.channel(given.get("channel"))
        return _page(self._workspace.history(channel), given, standard=100)

    def _open_view(self, given: Json) -> Json:
        limits.check_view(given.get("view"))
        user = self._workspace.member(self._triggers.exchange(str(given.get("trigger_id") or "")))
        return {"view": _shown(self._workspace.open_view(user, given["view"]))}

    def _update_view(self, given: Json) -> Json:
        limits.check_view(given.get("view"))
        view = self._workspace.view(given.get("view_id"), given.get("external_id"))
        if self._faults.strikes("stale_view") or given.get("hash") not in (None, "", view["hash"]):
            raise Refused("hash_conflict")
        return {"view": _shown(self._workspace.update_view(view["id"], given["view"]))}

    def _user_info(self, given: Json) -> Json:
        return {"user": describe(self._workspace.member(given.get("user")))}


# Everything the bot may call; a test holds this against the calls in its code.
METHODS: dict[str, Callable[[WebApi, Json], Json]] = {
    "auth.test": WebApi._auth_test,
    "apps.connections.open": WebApi._open_connection,
    "chat.postMessage": WebApi._post_message,
    "chat.update": WebApi._update,
    "chat.postEphemeral": WebApi._post_ephemeral,
    "conversations.replies": WebApi._replies,
    "conversations.history": WebApi._history,
    "views.open": WebApi._open_view,
    "views.update": WebApi._update_view,
    "users.info": WebApi._user_info,
}


def _decoded(arguments: Json) -> Json:
    """Form bodies carry structures as JSON text."""
    return arguments | {
        name: _parsed(name, arguments[name])
        for name in ("blocks", "metadata", "view")
        if isinstance(arguments.get(name), str)
    }


def _parsed(name: str, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise Refused("invalid_blocks_format" if name == "blocks" else "invalid_arguments") from None


def _page(messages: list[Json], given: Json, *, standard: int) -> Json:
    oldest, latest = float(given.get("oldest") or 0), float(given.get("latest") or "inf")
    within = [m for m in messages if oldest < float(m["ts"]) < latest or _is_root(m, given)]
    start, limit = int(given.get("cursor") or 0), int(given.get("limit") or standard)
    metadata = str(given.get("include_all_metadata", "")).lower() in ("1", "true")
    cursor = str(start + limit) if start + limit < len(within) else ""
    return {
        "messages": [payloads.public(m, metadata=metadata) for m in within[start : start + limit]],
        "has_more": bool(cursor),
        "response_metadata": {"next_cursor": cursor},
    }


def _is_root(message: Json, given: Json) -> bool:
    return bool(message["ts"] == given.get("ts"))


def _shown(view: Json) -> Json:
    return {name: part for name, part in view.items() if name != "user"}


def describe(member: Member) -> Json:
    """A member as users.info gives it."""
    offset = datetime.fromtimestamp(time.time(), ZoneInfo(member.tz)).utcoffset()
    return {
        **vars(member),
        "is_owner": False,
        "is_primary_owner": False,
        "is_app_user": False,
        "is_stranger": member.team_id != TEAM_ID,
        "tz_offset": int(offset.total_seconds()) if offset else 0,
        "profile": {"real_name": member.real_name, "display_name": member.name, "team": member.team_id},
    }
