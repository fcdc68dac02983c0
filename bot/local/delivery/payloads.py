"""What Slack sends to the app, as pure functions of what a person did."""

import secrets

from bot.local.shapes import APP_ID, STATUS, TEAM_ID, Channel, Json, Member, dm_id

TOKEN = "local-verification-token"  # noqa: S105 - a field that Slack has deprecated and still sends
TEAM_DOMAIN = "local"


def _origin(user: Member) -> Json:
    return {
        "token": TOKEN,
        "api_app_id": APP_ID,
        "team": {"id": TEAM_ID, "domain": TEAM_DOMAIN},
        "enterprise": None,
        "is_enterprise_install": False,
        "user": {"id": user.id, "username": user.name, "name": user.name, "team_id": user.team_id},
    }


def slash(user: Member, channel: Channel, command: str, text: str, *, trigger: str, hook: str) -> Json:
    return {
        "token": TOKEN,
        "api_app_id": APP_ID,
        "team_id": TEAM_ID,
        "team_domain": TEAM_DOMAIN,
        "is_enterprise_install": "false",
        "channel_id": channel.id,
        "channel_name": channel.name,
        "user_id": user.id,
        "user_name": user.name,
        "command": command,
        "text": text,
        "trigger_id": trigger,
        "response_url": hook,
    }


def message_click(
    user: Member, channel: Channel, message: Json, action: Json, values: Json, *, trigger: str, hook: str
) -> Json:
    """`block_actions` of a message; Slack leaves an ephemeral message itself out."""
    ephemeral = bool(message.get("is_ephemeral"))
    thread = {"thread_ts": message["thread_ts"]} if "thread_ts" in message else {}
    container = {
        "type": "message",
        "message_ts": message["ts"],
        "channel_id": channel.id,
        "is_ephemeral": ephemeral,
        **thread,
    }
    return _origin(user) | {
        "type": "block_actions",
        "container": container,
        "trigger_id": trigger,
        "channel": {"id": channel.id, "name": channel.name},
        **({} if ephemeral else {"message": public(message)}),
        "state": {"values": values},
        "response_url": hook,
        "actions": [action],
    }


def view_click(user: Member, view: Json, action: Json, values: Json, *, trigger: str) -> Json:
    return _origin(user) | {
        "type": "block_actions",
        "container": {"type": "view", "view_id": view["id"]},
        "trigger_id": trigger,
        "view": filled(view, values),
        "actions": [action],
    }


def suggestion(user: Member, surface: Json, element: Json, block_id: str, typed: str, place: Json) -> Json:
    """Somebody types into a select whose options the app knows; `place` is where it stands."""
    asked = {"action_id": element["action_id"], "block_id": block_id, "value": typed}
    shown = {"view": filled(surface, {})} if "hash" in surface else {"message": public(surface)}
    return _origin(user) | {"type": "block_suggestion", **asked, **place, **shown}


def view_submission(user: Member, view: Json, values: Json, *, trigger: str) -> Json:
    return _origin(user) | {
        "type": "view_submission",
        "trigger_id": trigger,
        "view": filled(view, values),
        "response_urls": [],
    }


def view_closed(user: Member, view: Json, *, cleared: bool) -> Json:
    return _origin(user) | {"type": "view_closed", "view": filled(view, {}), "is_cleared": cleared}


def message_action(
    user: Member, channel: Channel, message: Json, callback_id: str, *, trigger: str, hook: str, ts: str
) -> Json:
    return _origin(user) | {
        "type": "message_action",
        "callback_id": callback_id,
        "trigger_id": trigger,
        "response_url": hook,
        "action_ts": ts,
        "message_ts": message["ts"],
        "channel": {"id": channel.id, "name": channel.name},
        "message": public(message),
    }


def event(inner: Json, bot: Member, *, ext_shared: bool = False) -> Json:
    return {
        "type": "event_callback",
        "token": TOKEN,
        "team_id": TEAM_ID,
        "context_team_id": TEAM_ID,
        "context_enterprise_id": None,
        "api_app_id": APP_ID,
        "event": inner,
        "event_id": "Ev" + secrets.token_hex(5).upper(),
        "event_time": int(inner["event_ts"].partition(".")[0]),
        "authorizations": [
            {
                "enterprise_id": None,
                "team_id": TEAM_ID,
                "user_id": bot.id,
                "is_bot": True,
                "is_enterprise_install": False,
            }
        ],
        "is_ext_shared_channel": ext_shared,
        "event_context": secrets.token_urlsafe(12),
    }


def said(message: Json, channel: Channel) -> Json:
    """The `message` event of a posted message."""
    return public(message) | {
        "channel": channel.id,
        "event_ts": message["ts"],
        "channel_type": channel.kind,
    }


def mentioned(message: Json, channel: Channel) -> Json:
    inner = said(message, channel) | {"type": "app_mention"}
    return {name: part for name, part in inner.items() if name != "channel_type"}


def home_opened(user: Member, tab: str, home: Json | None, *, ts: str) -> Json:
    view = {"view": filled(home, {})} if home and tab == "home" else {}
    opened = {"type": "app_home_opened", "user": user.id, "channel": dm_id(user.id), "tab": tab}
    return opened | {"event_ts": ts} | view


def changed(message: Json, previous: Json, channel: Channel) -> Json:
    ts = message["edited"]["ts"]
    return {
        "type": "message",
        "subtype": "message_changed",
        "hidden": True,
        "message": public(message),
        "previous_message": public(previous),
        "channel": channel.id,
        "channel_type": channel.kind,
        "ts": ts,
        "event_ts": ts,
    }


def deleted(message: Json, channel: Channel, *, ts: str) -> Json:
    return {
        "type": "message",
        "subtype": "message_deleted",
        "hidden": True,
        "deleted_ts": message["ts"],
        "previous_message": public(message),
        "channel": channel.id,
        "channel_type": channel.kind,
        "ts": ts,
        "event_ts": ts,
    }


def public(message: Json, *, metadata: bool = False) -> Json:
    """A message as Slack hands it out: without its channel, with metadata only when asked."""
    hidden = {"channel", STATUS} if metadata else {"channel", "metadata", STATUS}
    return {name: part for name, part in message.items() if name not in hidden}


def filled(view: Json, values: Json) -> Json:
    return {name: part for name, part in view.items() if name != "user"} | {"state": {"values": values}}


def action(element: Json, block_id: str, *, value: Json, ts: str) -> Json:
    """The clicked element as it stands in `actions`: who it is, and what it now holds."""
    named = {
        "type": element["type"],
        "action_id": element["action_id"],
        "block_id": block_id,
        "action_ts": ts,
    }
    if element["type"] == "button":
        return named | {name: element[name] for name in ("text", "value", "style", "url") if name in element}
    return named | value
