"""Zones behind a time: “EST”, “in New York”, “Berlin time”. Elsewhere Rome is no zone."""

from collections.abc import Sequence

from bot.planner.language.lexicon.words import Word
from bot.planner.language.times.patterns import DAYS, RELATIVE
from bot.times.zones import AMBIGUOUS, CITIES, PLACES, ZONES

IANA = frozenset(ZONES)


def zone(words: Sequence[Word], index: int) -> int:
    """How many words name a zone here, directly behind a time: "EST", "in New York", "Berlin time", "UTC"."""
    if index == 0:
        return 0
    lead = 1 if words[index].text in {"in", "at"} and index + 1 < len(words) else 0
    for count in (3, 2, 1):
        span = words[index + lead : index + lead + count]
        name = " ".join(word.text for word in span)
        if len(span) == count and (
            name in PLACES
            or name in AMBIGUOUS
            or name in CITIES
            or ("/" in name and name.count("/") <= 2 and name in IANA)
        ):
            if lead and name not in CITIES and name not in PLACES and "/" not in name:
                continue
            if not _timely(words, index):
                return 0
            behind = index + lead + count
            return lead + count + int(behind < len(words) and words[behind].text == "time")
    return 0


def _timely(words: Sequence[Word], index: int) -> bool:
    """Whether what stands before may be a time: only there is “Rome” a zone."""
    before = words[index - 1]
    return (
        before.kind in {"clock", "date"}
        or before.kind == "number"
        or before.text
        in {
            *RELATIVE,
            *DAYS,
            "noon",
            "midnight",
            "morning",
            "afternoon",
            "evening",
            "night",
            "uhr",
            "o'clock",
        }
    )


def zone_words(words: Sequence[Word], index: int) -> str:
    length = zone(words, index)
    return " ".join(word.text for word in words[index : index + length])
