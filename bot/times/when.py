"""Plain-language times. Either the right instant, or one clear question; never a guess, never the past."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from bot.times.windows import next_opening, next_window, passed_over
from bot.times.zones import AMBIGUOUS, CITIES, PLACES, ZONES, check_letters, instant
from storage.config import Overrun, Window, local
from storage.contract.rules import DAYS
from storage.errors import BadTime

LATE = timedelta(hours=1)  # how late a step with a plain time may still start
NIGHT_ENDS = 6

TIME = r"(?P<hour>\d{1,2})(?::(?P<minute>\d{2}))?\s*(?P<half>[ap]\.?m\.?)?"
DAY = (
    r"(?P<day>today|tonight|day after tomorrow|tomorrow(?: night)?"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day(?: night)?)"
)
_ANY = re.sub(r"\?P<\w+>", "?:", TIME)
CLOCK = re.compile(
    rf"^(?:(?:on )?{DAY}(?:,? at| @|,)? )?(?:at )?{TIME}(?: (?:on )?(?P<late_day>{DAY[8:-1]}))?$", re.I
)
CLEAR = re.compile(r"(?:0?0|1[3-9]|2\d):|12:00")  # needs no am or pm
RANGE = re.compile(
    rf"^(?:(?:on )?{DAY},? )?(?:(?P<between>between )|from )?(?P<first>{_ANY}) ?"
    rf"(?(between)and|(?:to|until|till|[-–])) ?(?P<last>{_ANY})(?: (?:on )?(?P<late_day>{DAY[8:-1]}))?$",
    re.I,
)
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
DATED = re.compile(
    r"^(?:on )?(?:(?P<weekday>(?:mon|tues|wednes|thurs|fri|satur|sun)day),? )?"
    rf"(?:the )?(?:{_MONTH} (?P<date>\d{{1,2}})(?:st|nd|rd|th)?"
    rf"|(?P<early>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? {_MONTH.replace('month', 'later')})"
    rf"(?:,? (?P<year>\d{{4}}))?,? (?:at |@ )?{TIME}$",
    re.I,
)
LAST_WORDS = re.compile(r"(?:^| )(?:in )?(?=([a-z][a-z .]+?)(?: time)?$)")
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
    closed: tuple[str, ...] = ()  # the holidays that were passed over
    overrun: Overrun = "finish"  # what becomes of work that still runs when the window closes


@dataclass(frozen=True)
class Wants:
    """What a step asks of a window: the environment it serves, and time enough before it closes."""

    environment: str = ""
    needs: timedelta = timedelta(0)


NOTHING = Wants()


def resolve(
    text: str, now: datetime, *, zone: str, windows: Mapping[str, Window], wants: Wants = NOTHING
) -> When:
    """Understand a time as people say it."""
    said = " ".join(text.split())
    words = said.lower().rstrip(".")
    windows = {name.lower(): window for name, window in windows.items()}
    if words in {"", "now", "at once", "immediately"}:
        return When(None, None, zone, said or "now")
    if found := _window(words, now, windows, wants):
        return found
    words, zone, letters = _take_zone(_digits(words), zone)
    if found := _night(words, now, zone, windows):
        check_letters(letters, found.not_before or now)
        return found
    try:
        ranged = _range(words, now, zone)
        start, end = ranged or _single(words, now, zone, windows)
    except (OverflowError, ValueError):
        raise BadTime(f"“{said[:60]}” lies beyond every calendar.") from None
    if start is None:
        raise BadTime(
            f"I do not understand the time “{said}”. Try “2am in New York”, “tomorrow 02:00”, "
            f"“in 20 minutes”, or a window: {', '.join(windows) or 'none is configured'}."
        )
    if start <= now:
        there = local(start, zone)
        raise BadTime(f"“{said}” lies in the past: {there:%a %d %b %Y %H:%M} {there.tzname()}.")
    for moment in ranged or (start,):
        check_letters(letters, moment)
    return When(start, end, zone, said)


def opening(said: str, now: datetime, windows: Mapping[str, Window], wants: Wants = NOTHING) -> When | None:
    """The window that these words name, as it opens at that moment or next; None for other words."""
    lower = {name.lower(): window for name, window in windows.items()}
    return _window(" ".join(said.split()).lower().rstrip("."), now, lower, wants)


def _window(words: str, now: datetime, windows: Mapping[str, Window], wants: Wants) -> When | None:
    """A window by its name; without one, the next that serves the step's environment and fits it."""
    name = words.removeprefix("in ").removeprefix("the ").removeprefix("next ")
    name = name.removeprefix("maintenance ").removesuffix(" window").removesuffix("window").strip()
    if name in {"", "maintenance"} and "window" in words:
        serving = {n: w for n, w in windows.items() if not wants.environment or w.serves(wants.environment)}
        if len(serving) != 1 and not (serving and wants.environment):
            raise BadTime(f"Which window? There are: {', '.join(windows) or 'none'}.")
        name = next_window(serving, now, wants.needs)
    if name not in windows:
        return None
    window = windows[name]
    start, end = next_opening(window, now, wants.needs)
    closed = (*(f"{day:%a %d %b} ({why})" for day, why in passed_over(window, now, start)),)
    return When(start, end, window.zone, words, closed, window.overrun)


def _night(words: str, now: datetime, zone: str, windows: Mapping[str, Window]) -> When | None:
    """A night without an hour: the one window that opens in it; with none or several, a question."""
    if not re.fullmatch(DAY, words) or "night" not in words:
        return None
    here = local(now, zone)
    evening = max(instant(_date(words, time.max, here), time(18), zone), now)
    opening = [(*next_opening(window, evening), window.zone) for window in windows.values()]
    opening = [found for found in opening if found[0] < evening + timedelta(hours=12)]
    if len(opening) != 1:
        raise BadTime(f"At what time? Please write it with the hour, as in “{words} at 2am”.")
    start, end, there = opening[0]
    return When(start, end, there, words)


def _take_zone(words: str, zone: str) -> tuple[str, str, str]:
    """Cut the zone off first, with what it was called: libraries drop it silently."""
    for iana in re.findall(r"[a-z]+/[a-z0-9_/+-]+", words):
        proper = ZONES.get(iana)
        if proper is None:
            raise BadTime(f"There is no time zone “{iana}”.")
        return words.replace(iana, "").replace(" in ", " ").strip(), proper, ""
    for found in LAST_WORDS.finditer(words):
        name = found[1].strip()
        if name in AMBIGUOUS:
            raise BadTime(
                f"“{name.upper()}” may mean {AMBIGUOUS[name]}. Please name a city, as in “in New York”."
            )
        if place := PLACES.get(name) or CITIES.get(name):
            return words[: found.start()].strip(), place, name
    if re.search(r"(?<=[\d m])z$", words):
        return words[:-1].strip(), "UTC", ""
    return words, zone, ""


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


def _single(
    words: str, now: datetime, zone: str, windows: Mapping[str, Window]
) -> tuple[datetime, datetime] | tuple[None, None]:
    start = _in(words, now) or _iso(words, zone) or _dated(words, now, zone) or _clock(words, now, zone)
    return (start, _end(start, windows)) if start else (None, None)


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
    return found if found.tzinfo else instant(found.date(), found.time(), zone)


def _dated(words: str, now: datetime, zone: str) -> datetime | None:
    """ "Nov 20 at 4am": the coming one, unless a year is named; a day that does not exist is a question."""
    if not (found := DATED.match(words)):
        return None
    at, today = time_of(found), local(now, zone).date()
    month = MONTHS.index((found["month"] or found["later"])[:3].lower()) + 1
    year, number = int(found["year"] or today.year), int(found["date"] or found["early"])
    try:
        day = date(year, month, number)
        coming = day if found["year"] or day >= today else date(year + 1, month, number)
    except ValueError:
        raise BadTime(f"There is no {number} {MONTHS[month - 1].capitalize()} {year}.") from None
    if found["weekday"] and DAYS[coming.weekday()] != found["weekday"][:3].lower():
        raise BadTime(f"{coming:%d %b %Y} is a {coming:%A}, not a {found['weekday'].capitalize()}.")
    return instant(coming, at, zone)


def _clock(words: str, now: datetime, zone: str) -> datetime | None:
    found = CLOCK.match(words)
    if not found:
        return None
    day_word = found["day"] or found["late_day"] or ""
    at = time_of(found, day_word)
    today = local(now, zone).date()
    if not day_word:
        first = instant(today, at, zone)
        return first if first > now else instant(today + timedelta(days=1), at, zone)
    return instant(_date(day_word, at, local(now, zone)), at, zone)


def _range(words: str, now: datetime, zone: str) -> tuple[datetime, datetime] | None:
    """The first and the last instant of “between 2 and 4 am”; over midnight it ends on the next day."""
    if not (found := RANGE.match(words)):
        return None
    first, last = _with_halves(found["first"].strip(), found["last"].strip())
    start = _clock(f"{found['day'] or found['late_day'] or ''} {first}".strip(), now, zone)
    closes = re.fullmatch(TIME, last)
    if start is None or closes is None:
        return None
    begun, at = local(start, zone), time_of(closes)
    if at == begun.time():
        raise BadTime(f"“{words}” begins and ends at the same time.")
    return start, instant(begun.date() + timedelta(days=at < begun.time()), at, zone)


def _with_halves(first: str, last: str) -> tuple[str, str]:
    """“2 and 4 am” are both in the morning; where one half of the day need not hold for both, we ask."""
    halves = [bool(re.search("m", said)) for said in (first, last)]
    if not any(halves) or all(
        half or CLEAR.match(said) for half, said in zip(halves, (first, last), strict=True)
    ):
        return first, last
    hours = [int(re.split(r"\D", said)[0]) % 12 for said in (first, last)]
    if halves[0] or hours[0] >= hours[1]:
        said = last if halves[0] else first
        raise BadTime(
            f"Is “{said}” in the morning or the afternoon? Please write am or pm behind both times."
        )
    return f"{first}{last.lstrip('0123456789: ')}", last


def time_of(found: re.Match[str], day: str = "") -> time:
    """The time that was said with TIME, on a day or in a night; one that may be two is a question."""
    hour, minute = int(found["hour"]), int(found["minute"] or 0)
    half = (found["half"] or "").replace(".", "").lower()
    if half and not 1 <= hour <= 12:
        raise BadTime(f"There is no {hour} {half}.")
    night = "night" in day
    if not half and found["minute"] is None and not night:
        raise BadTime(
            f"Is “{hour}” in the morning or the afternoon? Please write {hour}am, {hour}pm or {hour:02}:00."
        )
    if night and NIGHT_ENDS <= (hour % 12 if half == "am" else hour) <= 12 and half != "pm":
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
    if base == "day after tomorrow":
        return today + timedelta(days=2)
    if base == "tomorrow":
        return today + timedelta(days=2 if small else 1)
    ahead = (DAYS.index(base[:3]) - today.weekday()) % 7
    day = today + timedelta(days=ahead + small)
    return day if day > today or (day == today and now.time() < at) else day + timedelta(days=7)


def _end(start: datetime, windows: Mapping[str, Window]) -> datetime:
    """An hour later, or the end of a window around it if that is later: nobody has promised to end in it."""
    for window in windows.values():
        try:
            opens, closes = next_opening(window, start)
        except BadTime:
            continue  # it opens in a gap of its zone; that is no matter of this time
        if opens <= start < closes:
            return max(closes, start + LATE)
    return start + LATE
