"""Single times: a clock, a day, a date, a span from now; what is vague is a doubt."""

import re

from bot.planner.language.times.english import english
from bot.planner.language.times.moment import Time
from bot.planner.language.times.patterns import (
    AT,
    DATE,
    DAYS_ON,
    DAYWORD,
    HALF,
    HOUR,
    ISO,
    LATER,
    NOW,
    NUMBERED,
    RANGE,
    VAGUE,
    WEEKDAY,
    ZONED,
)

DAYPART = rf"(?:(?:on |am |el |for )?(?:(?:{WEEKDAY} (?:, )?(?:the )?)?{DATE}|{DAYWORD}))"
ABSOLUTE = [
    (rf"{AT}{ISO}{ZONED}", "iso"),
    (rf"(?:{DAYPART}(?: ,)? )?(?:at )?{RANGE}{ZONED}(?: (?:on )?{DAYWORD})?", "range"),
    (rf"{AT}{DAYPART}(?: ,)? (?:night |morning |evening |afternoon )?{AT}{HOUR}{ZONED}", "day"),
    (rf"{AT}{HOUR}{ZONED} (?:, )?(?:on |of )?{DAYPART}{ZONED}", "turned"),
    (rf"{AT}{DAYPART}(?: ,)? (?:at|@|um|a las) {NUMBERED}{ZONED}(?= |$)", "day"),
    (rf"{AT}{DAYPART} \d{{1,2}}(?= |$)", "day"),
    (rf"{AT}{HALF}{ZONED}", "clock"),
    (rf"{VAGUE}", "vague"),
    (rf"{DAYS_ON}", "days"),
    (rf"{LATER}", "later"),
    (rf"{AT}{HOUR}{ZONED}", "clock"),
    (rf"(?:at|@|um|a las|a la) {NUMBERED}{ZONED}(?= |$)(?! (?:replicas?|pods?|instances?|percent))", "clock"),
    (rf"(?:on |for |this |next |am |el )?{DAYPART}", "date"),
    (rf"{NOW}", "now"),
]
COMPILED = [(re.compile(rf"(?<!\S)(?:{pattern})(?= |$)"), kind) for pattern, kind in ABSOLUTE]


def instants(line: str) -> list[tuple[re.Match[str], Time]]:
    found: list[tuple[re.Match[str], Time]] = []
    for pattern, kind in COMPILED:
        for match in pattern.finditer(line):
            time = MAKERS[kind](match[0])
            if time:
                found.append((match, time))
                line = line[: match.start()] + re.sub(r"\S", "\x00", match[0]) + line[match.end() :]
    return found


def _at_words(said: str) -> Time:
    return Time(0, 0, "", words=english(said))


def _range(said: str) -> Time:
    """“between 2 and 4 am” is when it may start; “from 8am to 6pm” may be how long it shall hold."""
    if "from " not in f"{said} ":
        return _at_words(said)
    return Time(0, 0, "", kind="doubt", why=f"Shall it start within “{said}”, or hold for that long?")


def _vague(said: str) -> Time:
    return Time(0, 0, "", kind="doubt", why=f"When is “{said}”? Please name the day and the hour.")


def _days_on(said: str) -> Time:
    return Time(0, 0, "", kind="doubt", why=f"At what time “{said}”? Please name the day and the hour.")


def _day_only(said: str) -> Time:
    words = english(said)
    if words == "tonight" or words.endswith(" night"):
        return Time(0, 0, "", words=words)
    return Time(
        0, 0, "", kind="doubt", why=f"At what time “{said}”? Please name the hour, as in “{words} at 2am”."
    )


def _now(said: str) -> Time:
    return Time(0, 0, "", words="now")


MAKERS = {
    "iso": _at_words,
    "range": _range,
    "day": _at_words,
    "turned": _at_words,
    "vague": _vague,
    "days": _days_on,
    "later": _at_words,
    "clock": _at_words,
    "date": _day_only,
    "now": _now,
}
