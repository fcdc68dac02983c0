"""A time in other words or another language, said again as `when.resolve` reads it."""

import re

from bot.planner.language.times.patterns import DATE, DAYS, RELATIVE, SPOKEN, UNIT


def english(said: str) -> str:
    """A time as `when.resolve` reads it: day, clock, zone."""
    text = f" {said} "
    if re.search(r" (?:next|nächsten|próximo) ", text):
        return said.strip()  # may be either week: the judge asks
    text = _spoken(text)
    text = re.sub(r" ([01]\d|2[0-3])([0-5]\d)(?= zone\d)", r" \1:\2", text)
    text = re.sub(r" (\d{1,2})(?::(\d{2}))? uhr ", lambda f: f" {int(f[1]):02}:{f[2] or '00'} ", text)
    text = re.sub(r" (\d{1,2}) de la (?:mañana|manana|madrugada) ", r" \1am ", text)
    text = re.sub(r" (\d{1,2}) de la (?:tarde|noche) ", r" \1pm ", text)
    text = re.sub(r" (\d{1,2})(?: o'clock)? in the morning ", r" \1am ", text)
    text = re.sub(r" (\d{1,2})(?: o'clock)? in the (?:afternoon|evening) ", r" \1pm ", text)
    text = re.sub(r" (\d{1,2}) o'clock ", r" \1 ", text)
    text = re.sub(r" (?:mediodía|mediodia|mittag) ", " noon ", text)
    text = re.sub(r" (?:medianoche|mitternacht) ", " midnight ", text)
    for said_day, name in sorted({**RELATIVE, **DAYS}.items(), key=lambda pair: -len(pair[0])):
        text = re.sub(rf" {said_day} ", f" {name} ", text)
    text = re.sub(r"(?<= )(?:@|um|a las|a la|starting at|starting|ab|by the time of)(?= )", "at", text)
    text = re.sub(r"(?<= )from (?!now )(?!\S+ (?:to|until|till) )", "at ", text)
    text = re.sub(r"(?<= )(tomorrow|\w+day) morning(?= (?:at )?\d+(?::\d\d)?am )", r"\1", text)
    text = re.sub(r"(?<= )(tomorrow|\w+day) (?:afternoon|evening)(?= (?:at )?\d+(?::\d\d)?pm )", r"\1", text)
    text = re.sub(
        r" zwischen (\d+) und (\d+) uhr ",
        lambda f: f" between {int(f[1]):02}:00 and {int(f[2]):02}:00 ",
        text,
    )
    text = re.sub(
        r" zwischen (\d+) und (\d\d:\d\d) ", lambda f: f" between {int(f[1]):02}:00 and {f[2]} ", text
    )
    text = re.sub(r" (?:am|el|this|coming|heute) (?=\w+day)", " ", text)
    text = re.sub(r"(?<= )(\d{4}-\d{2}-\d{2}) at ", r"\1 ", text)
    text = _later(text)
    return _ordered(" ".join(text.replace(" , ", " ").split()))


PAST = {"half past": 30, "quarter past": 15, "quarter to": -15}


def _spoken(text: str) -> str:
    """“half past five pm” is 5:30pm."""
    numbers = {word: str(n) for n, word in enumerate(SPOKEN.split("|"), start=1)}
    text = re.sub(rf" ({SPOKEN}) (am|pm) ", lambda f: f" {numbers[f[1]]}{f[2]} ", text)
    return re.sub(r" (half past|quarter past|quarter to) (\d{1,2})(am|pm) ", _shifted, text)


def _shifted(found: re.Match[str]) -> str:
    minutes = (int(found[2]) % 12 + 12 * (found[3] == "pm")) * 60 + PAST[found[1]]
    return f" {minutes // 60 % 24:02}:{minutes % 60:02} "


def _later(text: str) -> str:
    words = {
        "a": "1",
        "an": "1",
        "one": "1",
        "two": "2",
        "three": "3",
        "four": "4",
        "five": "5",
        "six": "6",
        "ten": "10",
        "fifteen": "15",
        "twenty": "20",
        "thirty": "30",
        "einer": "1",
        "zwei": "2",
        "drei": "3",
        "una": "1",
        "dos": "2",
        "tres": "3",
        "un": "1",
    }
    text = re.sub(
        r" (?:en|dentro de|after) (?=(?:\d|half|an? |one|two|three|four|five|six|ten|fifteen|twenty|thirty"
        r"|una?|dos|tres))",
        " in ",
        text,
    )
    text = re.sub(r" half an hour", " 30 minutes", text)
    text = re.sub(rf" ({'|'.join(words)}) (?={UNIT})", lambda f: f" {words[f[1]]} ", text)
    text = re.sub(r"(?:stunden?|horas?)(?= )", "hours", text)
    text = re.sub(r"(?:minuten?|minutos?)(?= )", "minutes", text)
    text = re.sub(r" (?:hrs?|h) ", " hours ", text)
    text = re.sub(r" (\d+)(?:hrs?|h) ", r" \1 hours ", text)
    text = re.sub(r" (\d+)(?:mins?|m) ", r" \1 minutes ", text)
    text = re.sub(r"(?<=\d) (?:mins?|m) ", " minutes ", text)
    text = re.sub(r"(hours?|minutes?) and ", r"\1 ", text)
    if found := re.fullmatch(r" (\d+ (?:hours?|minutes?).*?) from now ", text):
        return f" in {found[1]} "
    return re.sub(r"(?<=s) (?:time|from now) ", " ", text)


def _ordered(text: str) -> str:
    """Day before clock, a date with its year as digits: “14:00 utc tomorrow” → “tomorrow at 14:00 utc”."""
    text = re.sub(r"^(?:(?:on|at|for) )+", lambda f: "at " if "at" in f[0] else "on ", text)
    day = r"(?:today|tonight|tomorrow night|tomorrow|day after tomorrow|\w+day(?: night)?)"
    turned = re.fullmatch(
        rf"(?:at |on )?(\d{{1,2}}(?::\d\d)?(?:am|pm)?z?|noon|midnight)( zone\d+)? (?:on )?({day})( zone\d+)?",
        text,
    )
    if turned:
        text = f"{turned[3]} at {turned[1]}{turned[2] or ''}{turned[4] or ''}"
    if dated := re.fullmatch(rf"(?:at )?(\S+?(?: zone\d+)?) (?:on |of )?(?:the )?({DATE})", text):
        text = f"{dated[2]} at {dated[1]}"
    text = re.sub(rf"^(?:at|on) (?={day})", "", text)
    return re.sub(r"^on (?=\d)", "", re.sub(r"\bat (?:on )?(?:at )+", "at ", text))
