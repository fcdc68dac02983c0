"""Wall clocks: which zone people mean, which instant a time there is, and how an instant is said."""

import re
from datetime import UTC, date, datetime, time
from zoneinfo import ZoneInfo

from storage.config import ZONES as KNOWN
from storage.config import local
from storage.errors import BadTime

# Letters that mean the clocks of one place in one half of the year; in the other they are a question.
HALVES = {
    "est": "America/New_York", "edt": "America/New_York", "pst": "America/Los_Angeles",
    "pdt": "America/Los_Angeles", "mst": "America/Denver", "mdt": "America/Denver", "cet": "Europe/Berlin",
    "cest": "Europe/Berlin", "gmt": "Europe/London",
}  # fmt: skip
PLACES = HALVES | {
    "et": "America/New_York", "eastern": "America/New_York", "pt": "America/Los_Angeles",
    "pacific": "America/Los_Angeles", "utc": "UTC", "z": "UTC", "jst": "Asia/Tokyo",
}  # fmt: skip
AMBIGUOUS = {
    "ist": "India, Ireland or Israel",
    "bst": "Britain or Bangladesh",
    "cst": "Chicago, China or Cuba",
    "cdt": "Chicago or Cuba",
}
# Old names of regions are no cities: “WEST” is Western Europe's summer, “GMT+5” does not lie west of it.
REGIONS = re.compile(r"(?:Brazil|Canada|Chile|Etc|Mexico)/.*|Australia/(?:ACT|LHI|NSW|North|South|West)")
CITIES = {
    name.rpartition("/")[2].replace("_", " ").lower(): name
    for name in sorted(KNOWN)
    if "/" in name and not REGIONS.fullmatch(name)
}
ZONES = {name.lower(): name for name in KNOWN}


def place(words: str) -> str:
    """The zone that a city, a region such as “Eastern” or an IANA name stands for, or ""."""
    return PLACES.get(words) or CITIES.get(words) or (ZONES.get(words, "") if "/" in words else "")


def check_letters(letters: str, moment: datetime) -> None:
    """Letters such as EST hold for a part of the year; said of another part, they are a question."""
    if letters not in HALVES:
        return
    there = moment.astimezone(ZoneInfo(HALVES[letters]))
    if there.tzname() != letters.upper():
        raise BadTime(
            f"{there:%d %b %Y}: {city(HALVES[letters])} has {there.tzname()} then, not {letters.upper()}. "
            f"Please name the city, as in “{there:%H:%M} in {city(HALVES[letters])}”, or say it in UTC."
        )


def city(zone: str) -> str:
    return zone.rpartition("/")[2].replace("_", " ")


def instant(day: date, at: time, zone: str) -> datetime:
    """The one instant of a wall-clock time; a gap or a fold of the zone is a question."""
    first, second = both(day, at, zone)
    if first == second:
        return first
    if not exists(first, at, zone):
        raise BadTime(
            f"{at:%H:%M} does not exist on {day} in {zone}: the clocks go forward. Please choose another."
        )
    raise BadTime(f"{at:%H:%M} comes twice on {day} in {zone}: the clocks go back. Please say it in UTC.")


def both(day: date, at: time, zone: str) -> tuple[datetime, datetime]:
    """The two readings of a wall-clock time; they differ only in a gap or a fold."""
    wall = datetime.combine(day, at, ZoneInfo(zone))
    return wall.astimezone(UTC), wall.replace(fold=1).astimezone(UTC)


def exists(moment: datetime, at: time, zone: str) -> bool:
    """Whether the clocks of the zone really show that time then: in a gap they do not."""
    return local(moment, zone).time() == at


def span(start: datetime, end: datetime | None, zone: str) -> str:
    """From when to when, in the zone it was said in."""
    there = local(start, zone)
    until = f" to {local(end, zone):%H:%M}" if end else ""
    return f"{there:%a %d %b, %H:%M}{until} {there.tzname()}"


def spoken(moment: datetime, zone: str) -> str:
    """An instant in the zone it was said in, and in UTC."""
    there, utc = local(moment, zone), moment.astimezone(UTC)
    if zone == "UTC":
        return f"{utc:%a %d %b %H:%M} UTC"
    day = "" if there.date() == utc.date() else f"{utc:%a} "
    return f"{there:%a %d %b %H:%M} {there.tzname()} ({day}{utc:%H:%M} UTC)"
