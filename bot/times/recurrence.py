"""Recurring plans: what was said about when, and when the next run is. Pure; the rows are the truth."""

import re
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from bot.times.cron import parse
from bot.times.when import TIME, time_of
from bot.times.zones import AMBIGUOUS, HALVES, both, city, exists, place
from storage.config import local
from storage.errors import BadTime

DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
DAYS = {
    "day": "* * *", "night": "* * *", "weekday": "* * 1-5", "weekend": "* * 6,0", "monday": "* * 1",
    "tuesday": "* * 2", "wednesday": "* * 3", "thursday": "* * 4", "friday": "* * 5", "saturday": "* * 6",
    "sunday": "* * 0",
}  # fmt: skip
PLAIN = re.compile(
    rf"(?:(?P<days>day|night|weekday|weekend|{DAY}(?:(?:,? and |, ?){DAY})*)"
    rf"|month on the (?P<date>\d{{1,2}})(?:st|nd|rd|th)?),? (?:at )?{TIME}(?= |$)",
    re.I,
)
CRON = re.compile(r"[\"“`]?(?P<cron>(?:[\d*][\w*/,#-]*\s+){4}[\w*/,#-]+)[\"”`]?(?= |$)")
EXAMPLES = (
    "Try “/plan every weekday at 02:00 in New York back up auth_prod”, “every month on the 1st at 6am …”, "
    "or five fields of cron: “every 0 2 * * 1-5 in New York …”."
)


@dataclass(frozen=True)
class Every:
    """What recurs: the wish, at which times of which zone."""

    wish: str
    cron: str
    zone: str
    said: str


@dataclass(frozen=True)
class Run:
    """One run: its instant, and the local date and hour that make it the only one; 0 if once a day."""

    at: datetime
    day: date
    problem: str = ""  # why that day has no such time
    hour: int = 0


def read(text: str, zone: str, now: datetime) -> Every:
    """`every …` as people say it; one clear question when it cannot be told."""
    said = " ".join(text.split())
    found = PLAIN.match(said) or CRON.match(said)
    if not said:
        raise BadTime(f"Please say how often, and what. {EXAMPLES}")
    if not found:
        raise BadTime(f"I do not understand how often “{said[:60]}” is. {EXAMPLES}")
    cron = _cron(found)
    rest = said[found.end() :].strip()
    if re.match(r"(?:to|until|till|and|or|[-–])\s*\d", rest, re.I):
        raise BadTime(
            f"A recurring plan runs at one time of the day, not “{found[0]} {rest[:20]}”. {EXAMPLES}"
        )
    there, wish = _zone(rest, zone)
    if not wish:
        raise BadTime(f"What shall recur? {EXAMPLES}")
    next_run(cron, there, now)  # it must have one at all
    return Every(wish, cron, there, found[0].strip('"“”` '))


def hourly(hours: int, zone: str, wish: str) -> Every:
    """Every so many hours from midnight on; the number divides the day, so each day has the same hours."""
    if hours < 1 or 24 % hours:
        raise BadTime("Please name a number of hours that divides the day: 1, 2, 3, 4, 6, 8 or 12.")
    return Every(
        wish,
        "0 * * * *" if hours == 1 else f"0 */{hours} * * *",
        zone,
        "hour" if hours == 1 else f"{hours} hours",
    )


def next_run(cron: str, zone: str, after: datetime) -> Run:
    """The first run after an instant. A time that comes twice counts once; one that does not exist asks."""
    # From a day before: around a change of the clocks, what comes later may show an earlier time.
    fields, wall = parse(cron), local(after, zone).replace(tzinfo=None) - timedelta(days=1)
    while True:
        wall = fields.after(wall)
        run = _run(wall, zone, often=not cron.split()[1].isdigit())
        if run.at > after and not (run.problem and run.hour):
            return run


def _run(wall: datetime, zone: str, *, often: bool) -> Run:
    """One run; of what comes several times a day, an hour that does not exist is no run at all."""
    day, at = wall.date(), wall.time()
    first, _ = both(day, at, zone)
    gap = f"{at:%H:%M} does not exist on {day} in {zone}: the clocks go forward"
    return Run(first, day, "" if exists(first, at, zone) else gap, wall.hour if often else 0)


def _cron(found: re.Match[str]) -> str:
    parts = found.groupdict()
    if fields := parts.get("cron"):
        return _once_a_day(" ".join(fields.split()))
    at: time = time_of(found, (parts["days"] or "").lower())
    if day := parts.get("date"):
        if not 1 <= int(day) <= 28:
            raise BadTime(f"Not every month has a {day}th. Please take a day from 1 to 28.")
        return f"{at.minute} {at.hour} {int(day)} * *"
    names = re.findall(DAY, parts["days"].lower()) or [parts["days"].lower()]
    chosen = DAYS[names[0]] if len(names) == 1 else f"* * {','.join(DAYS[name][-1] for name in names)}"
    return f"{at.minute} {at.hour} {chosen}"


def _once_a_day(cron: str) -> str:
    minute, hour, *_ = cron.split()
    if not (minute.isdigit() and hour.isdigit()):
        raise BadTime(
            f"“{cron}” comes more than once a day. A recurring plan runs at most once: “0 2 * * *”."
        )
    parse(cron)  # it must be one
    return cron


def _zone(rest: str, zone: str) -> tuple[str, str]:
    """(the zone that is named next, what follows it); without one, the zone as configured."""
    words = rest.split()
    skip = int(rest.lower().startswith("in "))
    first = words[skip].lower() if words[skip:] else ""
    if first in AMBIGUOUS:
        raise BadTime(
            f"“{words[skip]}” may mean {AMBIGUOUS[first]}. Please name a city, as in “in New York”."
        )
    if first in HALVES:
        there = city(HALVES[first])
        raise BadTime(f"“{words[skip]}” does not hold all year in {there}. Please say “in {there}”, or UTC.")
    for count in (3, 2, 1):
        name = " ".join(words[skip : skip + count]).lower()
        if len(words) >= skip + count and (found := place(name)):
            return found, " ".join(words[skip + count :])
    return zone, rest
