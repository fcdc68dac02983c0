"""Five fields of cron: the wall-clock times that they name, one after another. Pure.

What croniter takes, at the times that it gives: recurring plans were set up by it, and keep theirs. So 6/2 of
a week is */2, and beside another day 15W, FRI#2 and L5 alone count. Only its R, a day by chance, is refused.
"""

import re
from calendar import monthrange
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import MAXYEAR, date, datetime, time, timedelta

from storage.errors import BadTime

YEARS = 50  # what does not come within them never comes
ANY, LAST = -1, 32  # whichever it is; of dates: the month's last one
ITEM = re.compile(r"(?P<low>\*|\w+)(?:-(?P<high>\w+))?(?:/(?P<step>\d+))?")
NEAR = re.compile(r"(\d+)w|w(\d+)")
NTH = re.compile(r"(?:(?P<days>[a-z]{3}-[a-z]{3}|\w+)#|l)(?P<number>\d+)")


@dataclass(frozen=True)
class Field:
    """The numbers that may stand in one of the five, and their names."""

    low: int
    high: int
    names: tuple[str, ...] = ()

    def read(self, items: Iterable[str], beside: str = "*") -> frozenset[int]:
        """What they name. Every one is any; of dates and weekdays, where the other field has a `*`."""
        found = frozenset(number for item in items for number in self._numbers(item))
        if min(found - {ANY}, default=self.low) < self.low:
            raise ValueError(found)
        return frozenset({ANY}) if len(found) == self.high - self.low + 1 and "*" in beside else found

    def all(self, text: str) -> list[int]:
        found = self.read(text.split(","))
        return [*range(self.low, self.high + 1)] if ANY in found else sorted(found)

    def _numbers(self, item: str) -> Iterable[int]:
        if item == "l" and self == DATES:
            return (LAST,)
        if not (found := ITEM.fullmatch(item)):
            raise ValueError(item)
        low, high, step = found["low"], found["high"], found["step"]
        if not high and not step:
            return (ANY if low == "*" else self._number(low),)
        start = self.low if low == "*" and not high else self._number(low)
        return self._range(start, self._number(high) if high else self.high, int(step or 1))

    def _number(self, text: str) -> int:
        if text in self.names:
            return self.names.index(text) + self.low
        number = int(text) if text.isdecimal() else LAST + 1
        if number > self.high and (number, self) != (7, WEEKDAYS):
            raise ValueError(text)
        return number if number <= self.high else 0  # 7 is Sunday, too

    def _range(self, low: int, high: int, step: int) -> Iterable[int]:
        """It may go over the end; from a number to itself, it is every one."""
        if low <= high:
            return range(low, high + 1, step) if low < high else range(self.low, self.high + 1, step)
        until = range(low, self.high + 1, step)
        over = step - (self.high - until[-1])  # if that is not the shortest step, it lands one further
        return (*until, *range(self.low + (over if over > 1 else 0), high + 1, step))


MINUTES, HOURS, DATES = Field(0, 59), Field(0, 23), Field(1, 31)
MONTHS = Field(1, 12, ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"))
WEEKDAYS = Field(0, 6, ("sun", "mon", "tue", "wed", "thu", "fri", "sat"))


@dataclass(frozen=True)
class Cron:
    """The fields as they were read."""

    said: str
    times: tuple[time, ...]
    months: tuple[int, ...]
    dates: frozenset[int]
    near: int  # the weekday next to this date; 0 where none is asked for
    weekdays: frozenset[int]
    nth: frozenset[tuple[int, int]]  # weekday, and which one of the month; 0 is its last

    def after(self, wall: datetime) -> datetime:
        """The next minute that they name. If date and weekday are both named, either is enough."""
        start = wall.replace(second=0, microsecond=0, fold=0) + timedelta(minutes=1)
        if ANY in self.dates or ANY in self.weekdays:
            return self._first(start, lambda day: self._on_date(day) and self._on_weekday(day))
        return min(
            self._first(start, lambda day: self._on_date(day) and (not self.nth or self._on_weekday(day))),
            self._first(start, lambda day: self._on_weekday(day) and (not self.near or self._on_date(day))),
        )

    def _first(self, start: datetime, falls: Callable[[date], bool]) -> datetime:
        days = (day for day in self._days(start.date()) if falls(day))
        walls = (datetime.combine(day, at) for day in days for at in self.times)
        if found := next((wall for wall in walls if wall >= start), None):
            return found
        raise BadTime(f"“{self.said}” names no day that ever comes.")

    def _days(self, first: date) -> Iterator[date]:
        for year in range(first.year, min(first.year + YEARS, MAXYEAR) + 1):
            for month in self.months:
                days = (date(year, month, number + 1) for number in range(_length(year, month)))
                yield from (day for day in days if day >= first)

    def _on_date(self, day: date) -> bool:
        length = _length(day.year, day.month)
        if self.near:
            return day == _workday(day.replace(day=min(self.near, length)), length)
        last = LAST in self.dates and day.day == length
        return last or ANY in self.dates or day.day in self.dates

    def _on_weekday(self, day: date) -> bool:
        weekday = day.isoweekday() % 7
        if not self.nth:
            return ANY in self.weekdays or weekday in self.weekdays
        last = day.day + 7 > _length(day.year, day.month)
        return (weekday, (day.day + 6) // 7) in self.nth or (last and (weekday, 0) in self.nth)


def parse(said: str) -> Cron:
    """Five fields, or why they are none."""
    try:
        minute, hour, dates, months, weekdays = said.lower().split()
        dates, weekdays = ("*" if one == "?" else one for one in (dates, weekdays))
        times = (*(time(h, m) for h in HOURS.all(hour) for m in MINUTES.all(minute)),)
        near, nth = _near(dates), {one for item in weekdays.split(",") for one in _nth(item)}
        chosen = frozenset({near}) if near else DATES.read(dates.replace("-l", "-31").split(","), weekdays)
        days = _weekdays(weekdays, dates, {day for day, _ in nth})
        return Cron(said, times, (*MONTHS.all(months),), chosen, near, days, frozenset(nth))
    except ValueError:
        raise BadTime(f"“{said}” is not cron: minute, hour, day, month and day of the week.") from None


def _near(dates: str) -> int:
    if not (found := NEAR.fullmatch(dates)):
        return 0
    if not 1 <= (number := int(found[1] or found[2])) <= DATES.high:
        raise ValueError(dates)
    return number


def _nth(item: str) -> set[tuple[int, int]]:
    if not (found := NTH.fullmatch(item)):
        return set()
    number = int(found["number"])
    if not found["days"]:  # L5: the month's last Friday
        return {(day, 0) for day in WEEKDAYS.read([found["number"]])}
    if not 1 <= number <= 5:
        raise ValueError(item)
    return {(day, number) for day in WEEKDAYS.read([found["days"]], "")}


def _weekdays(text: str, beside: str, nth: set[int]) -> frozenset[int]:
    plain = [item for item in text.split(",") if not NTH.fullmatch(item)]
    days = WEEKDAYS.read([*plain, *map(str, nth)], beside)
    if nth and days - nth - {ANY} and len(days) <= WEEKDAYS.high:
        raise ValueError(text)  # one with and one without a number cannot be told apart
    return days


def _workday(day: date, length: int) -> date:
    """The day from Monday to Friday that is next to it, in its month."""
    back, forth = (-1 if day.day > 1 else 2), (1 if day.day < length else -2)
    return day + timedelta(days={6: back, 7: forth}.get(day.isoweekday(), 0))


def _length(year: int, month: int) -> int:
    return monthrange(year, month)[1]
