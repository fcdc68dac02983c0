"""Wall clocks: which zone people mean, which instant a time there is, and how an instant is said."""

from datetime import UTC, date, datetime, time
from zoneinfo import ZoneInfo

from storage.config import ZONES as KNOWN
from storage.config import local
from storage.errors import BadTime

# Abbreviations that mean one place; the place decides whether summer time holds, not the letters.
PLACES = {
    "est": "America/New_York", "edt": "America/New_York", "et": "America/New_York",
    "eastern": "America/New_York", "pst": "America/Los_Angeles", "pdt": "America/Los_Angeles",
    "pt": "America/Los_Angeles", "pacific": "America/Los_Angeles", "mst": "America/Denver",
    "mdt": "America/Denver", "cet": "Europe/Berlin", "cest": "Europe/Berlin", "gmt": "Europe/London",
    "utc": "UTC", "z": "UTC", "jst": "Asia/Tokyo",
}  # fmt: skip
AMBIGUOUS = {
    "ist": "India, Ireland or Israel",
    "bst": "Britain or Bangladesh",
    "cst": "Chicago, China or Cuba",
}
CITIES = {name.rpartition("/")[2].replace("_", " ").lower(): name for name in sorted(KNOWN) if "/" in name}
ZONES = {name.lower(): name for name in KNOWN}


def place(words: str) -> str:
    """The zone that a city, a region such as “Eastern” or an IANA name stands for, or ""."""
    return PLACES.get(words) or CITIES.get(words) or (ZONES.get(words, "") if "/" in words else "")


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


def spoken(moment: datetime, zone: str) -> str:
    """An instant in the zone it was said in, and in UTC."""
    there, utc = local(moment, zone), moment.astimezone(UTC)
    if zone == "UTC":
        return f"{utc:%a %d %b %H:%M} UTC"
    day = "" if there.date() == utc.date() else f"{utc:%a} "
    return f"{there:%a %d %b %H:%M} {there.tzname()} ({day}{utc:%H:%M} UTC)"
