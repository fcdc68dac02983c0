"""What recurs: every night, on weekdays, the first of the month, every six hours."""

import re

from bot.planner.language.times.moment import Time
from bot.planner.language.times.patterns import DAYS, WEEKDAY

EACH = r"(?:every|each|jeden|jede|jedes|cada|todos los|todas las)"
DAYLIST = rf"{WEEKDAY}(?: ?(?:, and|, ?|and|und|y|&|/|,) ?{WEEKDAY})*"
PLURAL = (
    rf"(?:{'|'.join(said for said in DAYS if said.endswith(('days', 'tags', 'wochs', 'ados', 'ingos')))})"
)
PLURALS = rf"{PLURAL}(?: ?(?:, and|, ?|and|und|y|&|/|,) ?{PLURAL})*"
RECUR = (
    rf"(?P<days>(?:(?:on )?{EACH} |weekly (?:on )?(?:every )?|wöchentlich (?:am )?)(?:single "
    rf")?{DAYLIST}(?= |$)(?: night)?|(?:on )?{PLURALS}(?= |$))"
    r"|(?P<plain>(?:(?:on )?(?:every|each) (?:single )?(?:day|night|weekday|workday|working day|"
    r"business day|weekend|morning|afternoon)s?|daily|nightly|every evening|once a day|on weekdays|"
    r"weekdays|on work days|on workdays"
    r"|jeden morgen|jeden abend|cada mañana|cada tarde"
    r"|jeden tag|jede nacht|jeden werktag|täglich|nächtlich|werktags|cada día|cada dia|cada noche|"
    r"todos los días|todos los dias|todas las noches|diariamente|a diario|cada día laborable|entre "
    r"semana|mon-fri|monday to friday|monday through friday|mondays to fridays|mo-fr))"
    r"|(?P<month>(?:on )?(?:the )?(?P<nth>\d{1,2}|first|second|third|tenth|fifteenth|1\.|15\.|"
    r"primero|día \d{1,2})(?:st|nd|rd|th)?(?: day)? (?:of )?(?:every|each|the|jedes|jeden|de cada) "
    r"(?:month|monats?|mes)"
    r"|(?:every month|each month|monthly|jeden monat|cada mes) (?:on )?(?:the |am |el )?(?:día "
    r")?(?P<nth2>\d{1,2}|first|second|fifteenth)(?:st|nd|rd|th|\.)?(?: day)?|monthly|every month)"
    r"|(?P<hours>(?:every|each|alle|cada) (?:(?P<step>\d{1,2}|two|three|four|six|eight|twelve|"
    r"other|zwei|drei|sechs|dos|tres|seis) )?(?:hours?|hrs?|stunden?|horas?)|hourly|stündlich)"
    r"|(?P<minutes>(?:every|each|alle|cada) (?:\d{1,3} |five |ten |fifteen |thirty |few "
    r")?(?:minutes?|mins?|seconds?|minuten|minutos))"
    r"|(?P<weekly>weekly|once a week|every week|each week|every other \w+|every (?:second|third|"
    r"2nd|3rd|two|2|3) (?:day|week|month|weekday|night)s?|every few \w+|biweekly|fortnightly|"
    r"yearly|annually|wöchentlich|semanalmente|cada semana)"
)
ORDER = {"first": "1", "second": "2", "third": "3", "tenth": "10", "fifteenth": "15", "primero": "1"}
NUMBERS = {
    "two": "2",
    "three": "3",
    "four": "4",
    "six": "6",
    "eight": "8",
    "twelve": "12",
    "zwei": "2",
    "drei": "3",
    "sechs": "6",
    "dos": "2",
    "tres": "3",
    "seis": "6",
    "other": "2",
}


def recurring(line: str) -> list[tuple[re.Match[str], Time]]:
    found = []
    for match in re.finditer(rf"(?<!\S)(?:{RECUR})(?= |$)(?! window)(?! maintenance)(?! time\b)", line):
        found.append((match, _every(match)))
    return found


def _every(found: re.Match[str]) -> Time:
    if found["days"]:
        names = [DAYS[said] for said in re.findall(WEEKDAY, found["days"])]
        return Time(0, 0, "", kind="every", days=", ".join(dict.fromkeys(names)))
    if found["plain"]:
        return Time(0, 0, "", kind="every", days=_plain_days(found["plain"]))
    if found["month"]:
        nth = found["nth"] or found["nth2"]
        if not nth:
            return Time(0, 0, "", kind="doubt", recurs=True, why="On which day of the month?")
        return Time(0, 0, "", kind="every", days=f"month on the {ORDER.get(nth, re.sub(r'[^0-9]', '', nth))}")
    if found["hours"]:
        step = NUMBERS.get(found["step"] or "1", found["step"] or "1")
        if found["step"] == "other" or 24 % int(step):
            return Time(
                0,
                0,
                "",
                kind="doubt",
                recurs=True,
                why="Please name a number of hours that divides the day: 1, 2, 3, 4, 6, 8 or 12.",
            )
        return Time(0, 0, "", kind="every", days=f"{step} hours")
    if found["minutes"]:
        return Time(
            0,
            0,
            "",
            kind="doubt",
            recurs=True,
            why="What recurs runs at most once an hour, as in “every 2 hours”.",
        )
    return Time(
        0,
        0,
        "",
        kind="doubt",
        recurs=True,
        why="How often is that? I know days of the week, a day of the month, and every so many hours.",
    )


def _plain_days(said: str) -> str:
    if re.search(r"weekday|work|business|werktag|laborable|entre semana|fri|mo-fr", said):
        return "weekday"
    if "weekend" in said:
        return "weekend"
    return "night" if re.search("night|nächt|nacht|noche", said) else "day"
