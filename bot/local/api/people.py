"""auth.test, bots.info, users.info, user groups, and the way to a person's direct messages."""

import time
from datetime import datetime
from zoneinfo import ZoneInfo

from bot.local.api.parts import Method, Parts
from bot.local.shapes import APP_ID, BOT_ID, SITE, TEAM_ID, Json, Member, Refused, dm_id

KINDS = {"public_channel": "channel", "private_channel": "group"}


def _auth_test(parts: Parts, given: Json) -> Json:
    bot = parts.workspace.bot
    return {
        "url": SITE,
        "team": "Local workspace",
        "user": bot.name,
        "team_id": TEAM_ID,
        "user_id": bot.id,
        "bot_id": BOT_ID,
        "is_enterprise_install": False,
    }


def _bot_info(parts: Parts, given: Json) -> Json:
    if given.get("bot") != BOT_ID:
        raise Refused("bot_not_found")
    bot = parts.workspace.bot
    return {"bot": {"id": BOT_ID, "app_id": APP_ID, "user_id": bot.id, "name": bot.name, "deleted": False}}


def _open_connection(parts: Parts, given: Json) -> Json:
    return {"url": parts.open_link()}


def _user_info(parts: Parts, given: Json) -> Json:
    return {"user": describe(parts.workspace.member(given.get("user")))}


def _by_email(parts: Parts, given: Json) -> Json:
    """Here everybody's address is their name at example.com."""
    name = str(given.get("email") or "").removesuffix("@example.com")
    found = [one for one in parts.workspace.members.values() if one.name == name and not one.deleted]
    if not found:
        raise Refused("users_not_found")
    return {"user": describe(found[0])}


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


def _groups(parts: Parts, given: Json) -> Json:
    found = parts.workspace.groups.values()
    return {"usergroups": [{"id": one.id, "handle": one.handle, "name": one.name} for one in found]}


def _group_users(parts: Parts, given: Json) -> Json:
    """Slack lists deactivated members only when it is asked to, which the bot does not."""
    users = parts.workspace.group(given.get("usergroup")).users
    return {"users": [user for user in users if not parts.workspace.member(user).deleted]}


def _open_dm(parts: Parts, given: Json) -> Json:
    users = str(given.get("users") or "")
    if not users:
        raise Refused("users_list_not_supplied")
    if "," in users:
        raise Refused("invalid_user_combination")
    member = parts.workspace.member(users)
    if member.is_bot:
        raise Refused("cannot_dm_bot")
    if member.deleted:
        raise Refused("user_disabled")
    return {"no_op": True, "already_open": True, "channel": {"id": dm_id(member.id)}}


def _channel_info(parts: Parts, given: Json) -> Json:
    channel = parts.workspace.channel(given.get("channel"))
    kinds = {"is_channel": channel.kind == "channel", "is_im": channel.kind == "im", "user": channel.user}
    facts = {name: part for name, part in vars(channel).items() if name not in ("has_bot", "user", "members")}
    shared = {"is_shared": channel.is_ext_shared, "is_member": channel.has_bot}
    return {"channel": facts | kinds | shared | {"topic": {"value": channel.topic}}}


def _user_channels(parts: Parts, given: Json) -> Json:
    """Of the private ones only those that the app is in, too."""
    user = parts.workspace.member(given.get("user") or parts.workspace.bot.id).id
    kinds = {KINDS[kind] for kind in str(given.get("types") or "public_channel").split(",") if kind in KINDS}
    found = [
        {"id": room.id, "name": room.name, "is_private": room.is_private}
        for room in parts.workspace.channels.values()
        if room.kind in kinds and room.has(user) and (room.has_bot or not room.is_private)
    ]
    start, limit = int(given.get("cursor") or 0), int(given.get("limit") or 100)
    cursor = str(start + limit) if start + limit < len(found) else ""
    return {"channels": found[start : start + limit], "response_metadata": {"next_cursor": cursor}}


METHODS: dict[str, Method] = {
    "auth.test": _auth_test,
    "bots.info": _bot_info,
    "apps.connections.open": _open_connection,
    "users.info": _user_info,
    "users.lookupByEmail": _by_email,
    "conversations.open": _open_dm,
    "usergroups.users.list": _group_users,
    "usergroups.list": _groups,
    "conversations.info": _channel_info,
    "users.conversations": _user_channels,
}
