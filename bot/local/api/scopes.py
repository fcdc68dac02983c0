"""Which scopes each method and event needs, and what an app that was not granted them is told."""

from collections.abc import Iterable, Mapping

from bot.local.shapes import Channel, Json, Refused

# The scope for each kind of channel; "" is for all of them.
READ = {"channel": "channels:read", "group": "groups:read", "im": "im:read"}
HISTORY = {"channel": "channels:history", "group": "groups:history", "im": "im:history"}


def always(scope: str) -> dict[str, str]:
    return {"": scope}


NEEDED: dict[str, Mapping[str, str]] = {
    "auth.test": {},
    "bots.info": always("users:read"),
    "apps.connections.open": {},
    "views.open": {},
    "views.push": {},
    "views.update": {},
    "views.publish": {},
    "chat.postMessage": always("chat:write"),
    "chat.update": always("chat:write"),
    "chat.postEphemeral": always("chat:write"),
    "chat.delete": always("chat:write"),
    "chat.getPermalink": {},
    "assistant.threads.setStatus": always("chat:write"),
    "users.info": always("users:read"),
    "users.lookupByEmail": always("users:read.email"),
    "users.conversations": {"channel": "channels:read", "": "groups:read"},
    "usergroups.users.list": always("usergroups:read"),
    "usergroups.list": always("usergroups:read"),
    "conversations.open": always("im:write"),
    "conversations.info": READ,
    "conversations.replies": HISTORY,
    "conversations.history": HISTORY,
    "files.getUploadURLExternal": always("files:write"),
    "files.completeUploadExternal": always("files:write"),
    "reactions.add": always("reactions:write"),
    "reactions.remove": always("reactions:write"),
}
EVERY = frozenset(scope for needs in NEEDED.values() for scope in needs.values()) | {
    "commands",
    "app_mentions:read",
}


class Scopes:
    """What the app was granted when it was installed."""

    def __init__(self, granted: Iterable[str]) -> None:
        self._granted = frozenset(granted)

    def check(self, method: str, channel: Channel | None) -> None:
        """Refuse as Slack does, with what is missing and what there is."""
        needs = NEEDED[method]
        wanted = needs.get("") or needs.get(channel.kind if channel else "")
        if wanted and wanted not in self._granted:
            raise Refused("missing_scope", needed=wanted, provided=str(self))

    def __str__(self) -> str:
        return ",".join(sorted(self._granted))

    def hear(self, inner: Json) -> bool:
        """Whether the app is told of this event at all."""
        if inner["type"] == "app_mention":
            return "app_mentions:read" in self._granted
        return inner["type"] != "message" or HISTORY[inner["channel_type"]] in self._granted
