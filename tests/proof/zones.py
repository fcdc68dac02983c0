"""python -m tests.proof.zones: every zone of the tz database at each change of its clocks, 2026-2037.

Around each change, windows, plain-language times and recurring plans give one instant that the zone's clocks
really show, or a question. Prints `zones Z transitions T checks N wrong 0`; exits with 1 if any is wrong.
"""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from zoneinfo import ZoneInfo, available_timezones

from bot.times.recurrence import next_run
from bot.times.when import resolve
from bot.times.windows import next_opening
from storage.config import Window
from storage.errors import BadTime

FIRST, LAST = datetime(2026, 1, 1, tzinfo=UTC), datetime(2038, 1, 1, tzinfo=UTC)
DAY, MINUTE = timedelta(days=1), timedelta(minutes=1)
SHORT = (
    "America/New_York", "Europe/Dublin", "Australia/Lord_Howe", "Africa/Casablanca", "Antarctica/Troll",
    "America/Nuuk", "Asia/Tehran", "Pacific/Chatham", "Africa/Cairo", "America/Santiago",
)  # fmt: skip


@dataclass
class Count:
    zones: int = 0
    transitions: int = 0
    checks: int = 0
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        figures = f"zones {self.zones} transitions {self.transitions} checks {self.checks}"
        return f"{figures} wrong {len(self.wrong)}"

    def expect(self, good: bool, what: str) -> None:  # it is the sentence's subject
        self.checks += 1
        self.wrong += [] if good else [what]


def transitions(zone: str) -> Iterator[datetime]:
    """The instants at which the zone's offset changes: found by days, then by halving."""
    there, moment = ZoneInfo(zone), FIRST
    while moment < LAST:
        if moment.astimezone(there).utcoffset() != (moment + DAY).astimezone(there).utcoffset():
            yield _halved(there, moment, moment + DAY)
        moment += DAY


def _halved(there: ZoneInfo, low: datetime, high: datetime) -> datetime:
    while high - low > MINUTE:
        middle = low + (high - low) / 2
        same = middle.astimezone(there).utcoffset() == low.astimezone(there).utcoffset()
        low, high = (middle, high) if same else (low, middle)
    return high.replace(second=0, microsecond=0)


def walls(zone: str, change: datetime) -> set[datetime]:
    """Wall-clock times worth asking for: edges and middle of the gap or fold, and their neighbours."""
    there = ZoneInfo(zone)
    ends = [(change + shift).astimezone(there).replace(tzinfo=None) for shift in (-MINUTE, timedelta(0))]
    low, high = min(ends), max(ends)
    middle = low + (high - low) / 2
    found = (low - MINUTE, low, low + MINUTE, middle, high - MINUTE, high, high + MINUTE)
    return {wall.replace(second=0, microsecond=0, fold=0) for wall in found}


def readings(wall: datetime, zone: str) -> set[datetime]:
    """The instants at which the zone's clocks show that time: none, one or two. Found without our code."""
    there = ZoneInfo(zone)
    around = (wall.replace(tzinfo=UTC) + timedelta(hours=hours) for hours in (-36, 36))
    offsets = {moment.astimezone(there).utcoffset() for moment in around}
    guesses = {(wall - offset).replace(tzinfo=UTC) for offset in offsets if offset is not None}
    return {guess for guess in guesses if guess.astimezone(there).replace(tzinfo=None) == wall}


def check(count: Count, zone: str, change: datetime) -> None:
    for wall in walls(zone, change):
        real, now = readings(wall, zone), change - 3 * DAY
        place = f"{wall:%Y-%m-%d %H:%M} in {zone}"
        said, one = _said(place, now), real if len(real) == 1 else None
        # Old names without a region, such as CST6CDT, are not understood: then it asks.
        count.expect(said == one or (said is None and "/" not in zone), f"said: {place}")
        count.expect(_opens(wall, zone) == one, f"window: {place}")
        run = next_run(f"{wall.minute} {wall.hour} {wall.day} {wall.month} *", zone, now)
        good = run.at == min(real) and not run.problem if real else bool(run.problem)
        count.expect(good and run.day == wall.date(), f"recurs: {place}: {run}")


def _said(words: str, now: datetime) -> set[datetime] | None:
    try:
        found = resolve(words, now, zone="UTC", windows={}).not_before
    except BadTime:
        return None
    return {found} if found else set()


def _opens(wall: datetime, zone: str) -> set[datetime] | None:
    """Asked half a day before, so that the opening of that very day is the next one."""
    window = Window(start=wall.time(), hours=1, zone=zone)
    now = wall.replace(tzinfo=UTC) - ZoneInfo(zone).utcoffset(wall) - timedelta(hours=12)  # type: ignore[operator] # known
    try:
        start, end = next_opening(window, now)
    except BadTime:
        return None
    return {start} if end - start == timedelta(hours=1) else set()


def prove(zones: Iterable[str]) -> Count:
    count, seen = Count(), set[bytes]()
    for zone in zones:
        rules = files("tzdata.zoneinfo").joinpath(*zone.split("/")).read_bytes()
        if rules in seen:  # another name for a zone that was looked at
            count.zones += 1
            continue
        seen.add(rules)
        count.zones += 1
        for change in transitions(zone):
            count.transitions += 1
            check(count, zone, change)
    return count


def main() -> int:
    count = prove(sorted(zone for zone in available_timezones() if zone not in {"localtime", "Factory"}))
    for line in count.wrong[:20]:
        sys.stderr.write(f"{line}\n")
    sys.stdout.write(f"{count}\n")
    return 1 if count.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
