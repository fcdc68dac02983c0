"""auth.test, users.info, user groups, and the way to a person's direct messages."""

import time
from datetime import datetime
from zoneinfo import ZoneInfo

from bot.local.api.parts import Method, Parts
from bot.local.shapes import BOT_ID, TEAM_ID, Json, Member, Refused, dm_id


def _auth_test(parts: Parts, given: Json) -> Json:
    bot = parts.workspace.bot
    return {
        "url": "https://local.slack.com/",
        "team": "Local workspace",
        "user": bot.name,
        "team_id": TEAM_ID,
        "user_id": bot.id,
        "bot_id": BOT_ID,
        "is_enterprise_install": False,
    }


def _open_connection(parts: Parts, given: Json) -> Json:
    return {"url": parts.open_link()}


def _user_info(parts: Parts, given: Json) -> Json:
    return {"user": describe(parts.workspace.member(given.get("user")))}


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
    facts = {name: part for name, part in vars(channel).items() if name not in ("has_bot", "user")}
    shared = {"is_shared": channel.is_ext_shared, "is_member": channel.has_bot}
    return {"channel": facts | kinds | shared | {"topic": {"value": channel.topic}}}


METHODS: dict[str, Method] = {
    "auth.test": _auth_test,
    "apps.connections.open": _open_connection,
    "users.info": _user_info,
    "conversations.open": _open_dm,
    "usergroups.users.list": _group_users,
    "conversations.info": _channel_info,
}
