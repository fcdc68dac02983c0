"""Maintenance windows: when the next one opens, and the holidays on which it does not."""

from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from bot.times.zones import instant
from storage.config import Window, local
from storage.contract.rules import DAYS
from storage.errors import BadTime

AHEAD = 60  # days in which a window must open


def next_opening(window: Window, now: datetime, needs: timedelta = timedelta(0)) -> tuple[datetime, datetime]:
    """The window that is open now, or the next one: with that much time before it closes."""
    length = timedelta(hours=window.hours)
    for day in _days(window, now):
        nominal = datetime.combine(day, window.start, ZoneInfo(window.zone)).astimezone(UTC)
        if day in window.closed or nominal + length <= now + needs:
            continue
        start = instant(day, window.start, window.zone)
        if length >= needs:
            return start, start + length
    raise BadTime("that window never opens long enough for it" if needs > length else "it never opens")


def next_window(windows: Mapping[str, Window], now: datetime, needs: timedelta) -> str:
    """The name of the one that opens first with that much time; if none is long enough, any, to say so."""
    fitting = [name for name, window in windows.items() if timedelta(hours=window.hours) >= needs]
    return min(fitting or windows, key=lambda name: next_opening(windows[name], now, needs)[0])


def passed_over(window: Window, now: datetime, start: datetime) -> list[tuple[date, str]]:
    """The holidays between now and an opening on which it would have opened."""
    opening = local(start, window.zone).date()
    return [(day, window.closed[day]) for day in _days(window, now) if day < opening and day in window.closed]


def _days(window: Window, now: datetime) -> Iterator[date]:
    """The local days of the week on which it opens, from yesterday on: it may still be open."""
    today = local(now, window.zone).date()
    days = (today + timedelta(days=offset) for offset in range(-1, AHEAD))
    return (day for day in days if DAYS[day.weekday()] in window.days)
