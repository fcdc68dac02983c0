"""assistant.threads.setStatus: what an app does just now, under a thread. Not every workspace has it."""

from bot.local.api.parts import Method, Parts
from bot.local.shapes import Json, Refused


def _set_status(parts: Parts, given: Json) -> Json:
    if not parts.own_status:
        raise Refused("feature_not_enabled")
    if "status" not in given:
        raise Refused("invalid_arguments", "[ERROR] missing required field: status")
    channel = parts.workspace.open_to_app(given.get("channel_id"))
    parts.workspace.show_status(channel, str(given.get("thread_ts") or ""), str(given["status"]))
    return {}


METHODS: dict[str, Method] = {"assistant.threads.setStatus": _set_status}
