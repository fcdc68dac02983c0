"""Who is notified of a message, with Slack's usual settings. Pure; an edit and a whisper notify nobody."""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Literal

from bot.local.shapes import Channel, Group, Json

Why = Literal["direct", "mention", "thread"]
PERSON, GROUP = re.compile(r"<@(U\w+)(?:\|[^>]*)?>"), re.compile(r"<!subteam\^(S\w+)(?:\|[^>]*)?>")
EVERYBODY = re.compile(r"<!(?:here|channel|everyone)(?:\|[^>]*)?>")


def notified(
    message: Json,
    channel: Channel,
    *,
    people: Collection[str],
    groups: Mapping[str, Group],
    followers: Collection[str],
) -> dict[str, Why]:
    """Each person who hears of it, once, and why: a direct message, a mention, a reply where they follow.

    `people` are those in the channel, `followers` those of its thread.
    """
    told: dict[str, Why] = dict.fromkeys(followers, "thread")
    told |= dict.fromkeys(_mentioned(message, people, groups), "mention")
    if channel.user:  # nobody else hears of what is said between two
        return {channel.user: "direct"} if channel.user != message["user"] else {}
    return {user: why for user, why in told.items() if user in people and user != message["user"]}


def _mentioned(message: Json, people: Collection[str], groups: Mapping[str, Group]) -> set[str]:
    # A name in `text` counts even where blocks are shown instead: the louder of the two readings.
    texts = [message.get("text", ""), *_texts(message.get("blocks", []))]
    found = {user for text in texts for user in PERSON.findall(text)}
    named = {group for text in texts for group in GROUP.findall(text)}
    found |= {user for group in named if group in groups for user in groups[group].users}
    return found | ({*people} if any(map(EVERYBODY.search, texts)) else set())


def _texts(node: Any) -> Iterator[str]:
    """Every text in which a mention is one, and each mention in rich text written as in a text."""
    if isinstance(node, list):
        for part in node:
            yield from _texts(part)
    if not isinstance(node, dict):
        return
    if node.get("type") in _WRITTEN:
        yield _WRITTEN[node["type"]].format(**node)
    for name, part in node.items():
        if name != "confirm":
            yield from _texts(part)


_WRITTEN = {
    "mrkdwn": "{text}",
    "user": "<@{user_id}>",
    "usergroup": "<!subteam^{usergroup_id}>",
    "broadcast": "<!{range}>",
}
