"""chat.*, reactions.* and the reading of channels and threads."""

import re

from bot.local.api.parts import Method, Parts
from bot.local.delivery import payloads
from bot.local.schema import limits
from bot.local.shapes import SITE, Channel, Json, Member, Refused
from bot.local.state.workspace import TOMBSTONE

EMOJI = re.compile(r"[a-z0-9_'+-]+(::skin-tone-[2-6])?")


def _post_message(parts: Parts, given: Json) -> Json:
    channel = parts.workspace.open_to_app(given.get("channel"))
    text, blocks, metadata = given.get("text"), given.get("blocks"), given.get("metadata")
    limits.check_message(text, blocks)
    parts.files.check_images(blocks)
    if metadata:
        limits.check_metadata(metadata)
    broadcast = given.get("thread_ts") and given.get("reply_broadcast")
    message = parts.workspace.post(
        channel,
        parts.workspace.bot,
        thread_ts=given.get("thread_ts") or "",
        text=text,
        blocks=blocks,
        metadata=metadata,
        subtype="thread_broadcast" if broadcast else None,
    )
    parts.echo(channel, payloads.said(message, channel))
    shown = payloads.public(message, metadata=True)
    return {"channel": channel.id, "ts": message["ts"], "message": shown}


def _update(parts: Parts, given: Json) -> Json:
    channel = parts.workspace.open_to_app(given.get("channel"), archived="is_inactive")
    before = parts.workspace.message(channel.id, str(given.get("ts")))
    text, blocks, metadata = given.get("text"), given.get("blocks"), given.get("metadata")
    left = before.get("blocks") if blocks is None else blocks
    limits.check_message(before["text"] if text is None else text, left, most_text=limits.UPDATE_TEXT)
    parts.files.check_images(blocks)
    if metadata:
        limits.check_metadata(metadata)
    changes = {"text": text, "blocks": blocks, "metadata": metadata}
    message = parts.workspace.update(channel, before["ts"], **changes)
    parts.echo(channel, payloads.changed(message, before, channel))
    shown = payloads.public(message, metadata=True)
    return {"channel": channel.id, "ts": message["ts"], "text": message["text"], "message": shown}


def _post_ephemeral(parts: Parts, given: Json) -> Json:
    channel = parts.workspace.open_to_app(given.get("channel"))
    if given.get("user") not in parts.workspace.members:
        raise Refused("user_not_in_channel")
    limits.check_message(given.get("text"), given.get("blocks"))
    content = {name: given.get(name) for name in ("text", "blocks", "thread_ts")}
    user = parts.workspace.member(given["user"])
    whisper = parts.workspace.whisper(channel, user, sender=parts.workspace.bot.id, **content)
    return {"message_ts": whisper["ts"]}


def _delete(parts: Parts, given: Json) -> Json:
    channel = parts.workspace.open_to_app(given.get("channel"), archived="is_inactive")
    message = parts.workspace.message(channel.id, str(given.get("ts")))
    if message["user"] != parts.workspace.bot.id or message.get("subtype") == TOMBSTONE:
        raise Refused("cant_delete_message")
    parts.workspace.remove(channel, message["ts"])
    parts.echo(channel, payloads.deleted(message, channel, ts=parts.workspace.next_ts()))
    return {"channel": channel.id, "ts": message["ts"]}


def _permalink(parts: Parts, given: Json) -> Json:
    channel = parts.workspace.joined(given.get("channel"))
    message = parts.workspace.message(channel.id, str(given.get("message_ts")))
    address = f"{SITE}archives/{channel.id}/p{message['ts'].replace('.', '')}"
    root = message.get("thread_ts", message["ts"])
    thread = f"?thread_ts={root}&cid={channel.id}" if root != message["ts"] else ""
    return {"channel": channel.id, "permalink": address + thread}


def _add_reaction(parts: Parts, given: Json) -> Json:
    parts.workspace.react(*_reaction(parts, given))
    return {}


def _remove_reaction(parts: Parts, given: Json) -> Json:
    parts.workspace.unreact(*_reaction(parts, given))
    return {}


def _reaction(parts: Parts, given: Json) -> tuple[Channel, str, Member, str]:
    channel = parts.workspace.open_to_app(given.get("channel"))
    name = str(given.get("name") or "").strip(":")
    if not EMOJI.fullmatch(name):
        raise Refused("invalid_name")
    return channel, str(given.get("timestamp")), parts.workspace.bot, name


def _replies(parts: Parts, given: Json) -> Json:
    channel = parts.workspace.joined(given.get("channel"))
    if not given.get("ts"):
        raise Refused("invalid_arguments", "[ERROR] missing required field: ts")
    return _page(parts.workspace.replies(channel, given["ts"]), given, standard=1000)


def _history(parts: Parts, given: Json) -> Json:
    channel = parts.workspace.joined(given.get("channel"))
    return _page(parts.workspace.history(channel), given, standard=100)


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


METHODS: dict[str, Method] = {
    "chat.postMessage": _post_message,
    "chat.update": _update,
    "chat.postEphemeral": _post_ephemeral,
    "chat.delete": _delete,
    "chat.getPermalink": _permalink,
    "conversations.replies": _replies,
    "conversations.history": _history,
    "reactions.add": _add_reaction,
    "reactions.remove": _remove_reaction,
}
