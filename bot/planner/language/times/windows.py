"""Maintenance windows by their names: “in the nightly window”, “next maintenance window”."""

import re
from collections.abc import Callable, Sequence

from bot.planner.language.times.moment import Time

DAYS = "tomorrow|monday|tuesday|wednesday|thursday|friday|saturday|sunday"
INTO = "(?:when|once|as soon as|in|during|within|inside|at|for|on|im|während|en|durante|until|till)"
WHICH = "(?:the|our|next|coming|upcoming|dem|das|nächsten|la|el|próxima|tonight's|first)"
NO_TIME = {f"{lead}window" for lead in ("", "at ", "for ", "on ", "until ", "till ")}  # “at window view”
Found = Callable[[str], list[tuple[re.Match[str], Time]]]


def windows(names: Sequence[str]) -> Found:
    listed = "|".join(re.escape(name.lower()) for name in sorted(names, key=len, reverse=True)) or "(?!)"
    lead = rf"(?P<shy>(?:in |during )?(?:{DAYS})'s (?:maintenance )?)?(?:{INTO} )?(?:{WHICH} )*"
    pattern = re.compile(
        rf"(?<!\S)(?:{lead}(?:(?P<name>{listed}) (?:maintenance )?(?:window|wartungsfenster)"
        rf"|(?:(?:maintenance|change|deploy|deployment|release) )?window(?: (?P<named>{listed}))?"
        rf"|wartungsfenster|ventana(?: de mantenimiento)?(?: (?P<es>{listed}))?)"
        rf"|(?:in|during|within) the (?P<bare>{listed}))(?: (?:opens|starts|begins|is open|has opened))?(?= "
        rf"|$)"
    )

    def found(line: str) -> list[tuple[re.Match[str], Time]]:
        said = [match for match in pattern.finditer(line) if match[0] not in NO_TIME]
        return [(match, _in_window(match)) for match in said]

    return found


def _in_window(found: re.Match[str]) -> Time:
    if found["shy"]:
        return Time(0, 0, "", kind="doubt", why=f"When is “{found[0]}”? Please name the day and the hour.")
    return Time(0, 0, "", words=_window_words(found))


def _window_words(found: re.Match[str]) -> str:
    name = found["name"] or found["named"] or found["es"] or found["bare"] or ""
    return f"{name} window" if name else "next maintenance window"
