"""What people type, as Slack stores it: escaped, with mentions and links in angle brackets."""

import re
from collections.abc import Iterable

from bot.local.shapes import Channel, Member


def encode(text: str, members: Iterable[Member], channels: Iterable[Channel], *, named: bool = False) -> str:
    """`@ann` becomes `<@U0ANN>`; slash commands get the name too (`<@U0ANN|ann>`)."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = re.sub(r"https?://[^\s]+", lambda found: f"<{found[0]}>", text)
    people = {name.lower(): member for member in members for name in (member.name, member.real_name)}
    rooms = {channel.name.lower(): channel for channel in channels}
    if people:
        text = _names("@", people).sub(lambda found: _mention("@", people[found[1].lower()], named), text)
    if rooms:
        text = _names("#", rooms).sub(lambda found: _mention("#", rooms[found[1].lower()], named), text)
    return text


def _names(sign: str, known: Iterable[str]) -> re.Pattern[str]:
    longest_first = sorted(known, key=len, reverse=True)
    return re.compile(rf"(?<!\w){sign}({'|'.join(map(re.escape, longest_first))})\b", re.IGNORECASE)


def _mention(sign: str, one: Member | Channel, named: bool) -> str:
    return f"<{sign}{one.id}|{one.name}>" if named else f"<{sign}{one.id}>"
