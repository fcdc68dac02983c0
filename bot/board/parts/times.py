"""Instants and durations as the board says them."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from bot.times.zones import city
from storage.config import local


@dataclass(frozen=True)
class Now:
    """This moment, in the zone that the installation speaks."""

    at: datetime
    zone: str

    def clock(self, moment: datetime) -> str:
        """A time of day; with its day, unless that is today."""
        there, here = local(moment, self.zone), local(self.at, self.zone)
        return f"{there:%H:%M}" if there.date() == here.date() else f"{there:%a %d %b %H:%M}"

    def exact(self, moment: datetime) -> str:
        there, here = local(moment, self.zone), local(self.at, self.zone)
        return f"{there:%H:%M:%S}" if there.date() == here.date() else f"{there:%d %b %H:%M:%S}"

    def both(self, moment: datetime) -> str:
        """In the zone and in UTC."""
        there = local(moment, self.zone)
        utc = f" ({moment.astimezone(UTC):%H:%M} UTC)" if there.utcoffset() else ""
        return f"{self.clock(moment)} {there.tzname()}{utc}"

    @property
    def letters(self) -> str:
        return local(self.at, self.zone).tzname() or "UTC"

    @property
    def said(self) -> str:
        """For the head of a page."""
        there = local(self.at, self.zone)
        where = f"in {city(self.zone)} ({self.at.astimezone(UTC):%H:%M} UTC)" if self.zone != "UTC" else "UTC"
        return f"{there:%A %d %B, %H:%M} {where}"

    def ago(self, moment: datetime) -> str:
        return brief((self.at - moment).total_seconds())

    def ahead(self, moment: datetime) -> str:
        left = (moment - self.at).total_seconds()
        return f"in {brief(left)}" if left > 0 else "now"


def brief(seconds: float) -> str:
    """A duration, as short as it can be said."""
    seconds = max(0.0, seconds)
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = int(seconds // 60)
    if minutes < 60:
        rest = int(seconds % 60)
        return f"{minutes} min {rest:02}" if rest and minutes < 10 else f"{minutes} min"
    hours, left = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {left:02}" if left else f"{hours} h"
    return f"{hours // 24} d {hours % 24} h"


def usd(amount: float) -> str:
    return f"${amount:,.2f}" if amount >= 0.1 or not amount else f"${amount:.3f}"


def share(part: int, whole: int) -> str:
    """Never without what it is a share of: who shows it shows both numbers beside it."""
    if not whole:
        return "–"
    percent = 100 * part / whole
    return f"{percent:.0f} %" if percent >= 10 or percent in (0, 100) else f"{percent:.1f} %"


def day(moment: datetime, zone: str) -> str:
    return f"{local(moment, zone):%d %B}".lstrip("0")


DAY = timedelta(days=1)
