"""Plain-language times. Either the right instant, or one clear question; never a guess, never the past."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo, available_timezones

from storage.config import Window, local
from storage.errors import BadTime
from storage.rules import DAYS

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
CITIES = {
    name.rpartition("/")[2].replace("_", " ").lower(): name
    for name in sorted(available_timezones())
    if "/" in name
}
LATE = timedelta(hours=1)  # how late a step with a plain time may still start
NIGHT_ENDS = 6

TIME = r"(?P<hour>\d{1,2})(?::(?P<minute>\d{2}))?\s*(?P<half>[ap]\.?m\.?)?"
DAY = r"(?P<day>today|tonight|tomorrow(?: night)?|(?:mon|tues|wednes|thurs|fri|satur|sun)day(?: night)?)"
CLOCK = re.compile(
    rf"^(?:(?:on )?{DAY}(?:,? at| @|,)? )?(?:at )?{TIME}(?: (?:on )?(?P<late_day>{DAY[8:-1]}))?$", re.I
)
IN = re.compile(
    r"^in (?:(?P<hours>\d+) ?h(?:ours?)?)? ?(?:(?P<minutes>\d+) ?m(?:in(?:utes?)?)?)? ?"
    r"(?:(?P<seconds>\d+) ?s(?:ec(?:onds?)?)?)?$",
    re.I,
)
# Said with words instead of digits. "midnight" has no day of its own, so only a night may stand before it.
SPELLED = {r"\bhalf an hour\b": "30 minutes", r"\ban? (?=hour|minute)": "1 ", r"\bnoon\b": "12:00"}


@dataclass(frozen=True)
class When:
    """A resolved time: instants in UTC, and how it was said."""

    not_before: datetime | None
    not_after: datetime | None
    zone: str
    said: str


def resolve(text: str, now: datetime, *, zone: str, windows: Mapping[str, Window]) -> When:
    """Understand a time as people say it."""
    said = " ".join(text.split())
    words = said.lower().rstrip(".")
    windows = {name.lower(): window for name, window in windows.items()}
    if words in {"", "now", "at once", "immediately"}:
        return When(None, None, zone, said or "now")
    if found := _window(words, now, windows):
        return found
    words, zone = _take_zone(_digits(words), zone)
    if found := _night(words, now, zone, windows):
        return found
    try:
        start = _in(words, now) or _iso(words, zone) or _clock(words, now, zone)
        end = _end(start, windows) if start else None
    except (OverflowError, ValueError):
        raise BadTime(f"“{said[:60]}” lies beyond every calendar.") from None
    if start is None:
        raise BadTime(
            f"I do not understand the time “{said}”. Try “2AM EST”, “tomorrow 02:00 in New York”, "
            f"“in 20 minutes”, “2026-11-17 02:00”, or a window: {', '.join(windows) or 'none is configured'}."
        )
    if start <= now:
        raise BadTime(f"“{said}” lies in the past ({spoken(start, zone)}).")
    return When(start, end, zone, said)


def next_opening(window: Window, now: datetime) -> tuple[datetime, datetime]:
    """The window that is open now, or the next one."""
    today = local(now, window.zone).date()
    for offset in range(-1, 9):
        day = today + timedelta(days=offset)
        if DAYS[day.weekday()] not in window.days:
            continue
        nominal = datetime.combine(day, window.start, ZoneInfo(window.zone)).astimezone(UTC)
        if nominal + timedelta(hours=window.hours) <= now:
            continue
        start = _instant(day, window.start, window.zone)
        return start, start + timedelta(hours=window.hours)
    raise BadTime("that window never opens")


def spoken(moment: datetime, zone: str) -> str:
    """An instant in the zone it was said in, and in UTC."""
    there, utc = local(moment, zone), moment.astimezone(UTC)
    if zone == "UTC":
        return f"{utc:%a %d %b %H:%M} UTC"
    day = "" if there.date() == utc.date() else f"{utc:%a} "
    return f"{there:%a %d %b %H:%M} {there.tzname()} ({day}{utc:%H:%M} UTC)"


def _window(words: str, now: datetime, windows: Mapping[str, Window]) -> When | None:
    name = words.removeprefix("in ").removeprefix("the ").removeprefix("next ")
    name = name.removeprefix("maintenance ").removesuffix(" window").removesuffix("window").strip()
    if name in {"", "maintenance"} and "window" in words:
        if len(windows) != 1:
            raise BadTime(f"Which window? There are: {', '.join(windows) or 'none'}.")
        name = next(iter(windows))
    if name not in windows:
        return None
    start, end = next_opening(windows[name], now)
    return When(start, end, windows[name].zone, words)


def _night(words: str, now: datetime, zone: str, windows: Mapping[str, Window]) -> When | None:
    """A night without an hour: the one window that opens in it; with none or several, a question."""
    if not re.fullmatch(DAY, words) or "night" not in words:
        return None
    here = local(now, zone)
    evening = max(_instant(_date(words, time(18), here), time(18), zone), now)
    opening = [(*next_opening(window, evening), window.zone) for window in windows.values()]
    opening = [found for found in opening if found[0] < evening + timedelta(hours=12)]
    if len(opening) != 1:
        raise BadTime(f"At what time? Please write it with the hour, as in “{words} at 2am”.")
    start, end, there = opening[0]
    return When(start, end, there, words)


def _take_zone(words: str, zone: str) -> tuple[str, str]:
    """Cut the zone off first: libraries drop it silently."""
    for iana in re.findall(r"[a-z]+/[a-z_/]+", words):
        proper = {name.lower(): name for name in available_timezones()}.get(iana)
        if proper is None:
            raise BadTime(f"There is no time zone “{iana}”.")
        return words.replace(iana, "").replace(" in ", " ").strip(), proper
    if found := re.search(r"(?:^| )(?:in )?([a-z][a-z .]+?)(?: time)?$", words):
        name = found[1].removeprefix("in ").strip()
        if name in AMBIGUOUS:
            raise BadTime(
                f"“{name.upper()}” may mean {AMBIGUOUS[name]}. Please name a city, as in “in New York”."
            )
        if place := PLACES.get(name) or CITIES.get(name):
            return words[: found.start()].strip(), place
    if found := re.search(r"(?<=[\d m])(z)$", words):
        return words[:-1].strip(), "UTC"
    return words, zone


def _digits(words: str) -> str:
    """Spelled-out times in digits; a midnight that could be either end of a day is a question."""
    for spelled, digits in SPELLED.items():
        words = re.sub(spelled, digits, words)
    if not (found := re.search(r"\bmidnight\b", words)):
        return words
    if re.search(r"\b(today|tomorrow|\w+day)\b(?! night)", words):
        raise BadTime(
            "Is that midnight the beginning or the end of the day? Please write the date and 00:00."
        )
    return f"{words[: found.start()]}00:00{words[found.end() :]}"


def _in(words: str, now: datetime) -> datetime | None:
    found = IN.match(words)
    if not found or not any(found.groups()):
        return None
    return now + timedelta(**{unit: int(number) for unit, number in found.groupdict().items() if number})


def _iso(words: str, zone: str) -> datetime | None:
    if not re.match(r"^\d{4}-\d{2}-\d{2}[t ]", words):
        return None
    try:
        found = datetime.fromisoformat(words.upper().replace(" ", "T", 1))
    except ValueError:
        raise BadTime(f"“{words}” is not a date and time such as 2026-11-17 02:00.") from None
    return found if found.tzinfo else _instant(found.date(), found.time(), zone)


def _clock(words: str, now: datetime, zone: str) -> datetime | None:
    found = CLOCK.match(words)
    if not found:
        return None
    at, day_word = _time(found), found["day"] or found["late_day"] or ""
    today = local(now, zone).date()
    if not day_word:
        first = _instant(today, at, zone)
        return first if first > now else _instant(today + timedelta(days=1), at, zone)
    return _instant(_date(day_word, at, local(now, zone)), at, zone)


def _time(found: re.Match[str]) -> time:
    hour, minute = int(found["hour"]), int(found["minute"] or 0)
    half = (found["half"] or "").replace(".", "")
    if half and not 1 <= hour <= 12:
        raise BadTime(f"There is no {hour} {half}.")
    night = "night" in (found["day"] or found["late_day"] or "")
    if not half and found["minute"] is None and not night:
        raise BadTime(
            f"Is “{hour}” in the morning or the afternoon? Please write {hour}am, {hour}pm or {hour:02}:00."
        )
    if night and NIGHT_ENDS <= (hour % 12 if half == "am" else hour) < 12 and half != "pm":
        raise BadTime(
            f"Is {hour} at night {hour}pm, or {hour}am the day after? Please name the day and the hour."
        )
    hour = hour % 12 + (12 if half == "pm" else 0) if half else hour
    if hour > 23 or minute > 59:
        raise BadTime(f"There is no {hour:02}:{minute:02}.")
    return time(hour, minute)


def _date(word: str, at: time, now: datetime) -> date:
    """A night belongs to the day it began: "tonight at 2" is tomorrow's day, unless it is past midnight."""
    base, night = word.removesuffix(" night"), "night" in word
    small, today = night and at.hour < NIGHT_ENDS, now.date()
    if base in {"today", "tonight"}:
        begun = small and now.hour < NIGHT_ENDS and now.time() < at
        return today + timedelta(days=1) if small and not begun else today
    if base == "tomorrow":
        return today + timedelta(days=2 if small else 1)
    ahead = (DAYS.index(base[:3]) - today.weekday()) % 7
    day = today + timedelta(days=ahead + small)
    return day if day > today or (day == today and now.time() < at) else day + timedelta(days=7)


def _instant(day: date, at: time, zone: str) -> datetime:
    """The one instant of a wall-clock time; a gap or a fold of the zone is a question."""
    wall = datetime.combine(day, at, ZoneInfo(zone))
    first, second = wall.astimezone(UTC), wall.replace(fold=1).astimezone(UTC)
    if first == second:
        return first
    if local(first, zone).replace(tzinfo=None) != wall.replace(tzinfo=None):
        raise BadTime(
            f"{wall:%H:%M} does not exist on {day} in {zone}: the clocks go forward. Please choose another."
        )
    raise BadTime(f"{wall:%H:%M} comes twice on {day} in {zone}: the clocks go back. Please say it in UTC.")


def _end(start: datetime, windows: Mapping[str, Window]) -> datetime:
    """Inside a window its end; else an hour later."""
    for window in windows.values():
        try:
            opens, closes = next_opening(window, start)
        except BadTime:
            continue  # it opens in a gap of its zone; that is no matter of this time
        if opens <= start < closes:
            return closes
    return start + LATE
