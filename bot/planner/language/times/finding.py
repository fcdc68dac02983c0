"""Times and recurrences, found anywhere in a sentence and said again as `bot.times` knows them.

`when.resolve` and `recurrence.read` stay the only judges: what is found here is words for them, or a doubt.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from bot.planner.language.lexicon.words import Word
from bot.planner.language.times.instants import instants
from bot.planner.language.times.moment import Time
from bot.planner.language.times.patterns import WEEKDAYS
from bot.planner.language.times.recurring import recurring
from bot.planner.language.times.windows import windows as named
from bot.planner.language.times.zoned import zone, zone_words


def find(words: Sequence[Word], taken: Mapping[int, str], windows: Sequence[str]) -> list[Time]:
    """Every time of a sentence, in order. Words that are names of something else are none."""
    line, places = _line(words, taken)
    found: list[Time] = []
    for make in (recurring, named(windows), instants):
        for match, time in make(line):
            start, end = _at(places, match.start()), _at(places, match.end() - 1) + 1
            found.append(_placed(time, words, start, end))
            line = line[: match.start()] + re.sub(r"\S", "\x00", match[0]) + line[match.end() :]
    return _wedded(sorted(found, key=lambda time: time.start))


WEEKLY = frozenset({"weekly", "every week", "each week", "once a week", "wöchentlich", "semanalmente"})
ON_DAY = re.compile(rf"(?:on )?({'|'.join(WEEKDAYS)}) (?:at )?(\d.*)")


def _wedded(times: list[Time]) -> list[Time]:
    """“a weekly backup …, sunday 3am”: how often, and the day of the week said somewhere else."""
    often = [time for time in times if time.recurs and time.said.lower() in WEEKLY]
    days = [(time, found) for time in times if (found := ON_DAY.fullmatch(time.words))]
    if not (len(often) == len(days) == 1):
        return times
    (time, found), wed = days[0], replace(often[0], kind="every", days=days[0][1][1], why="", recurs=False)
    clock = replace(time, words=f"at {found[2]}")
    return [wed if one is often[0] else clock if one is time else one for one in times]


def _placed(time: Time, words: Sequence[Word], start: int, end: int) -> Time:
    said = " ".join(word.said for word in words[start:end])
    given = re.sub(r" zone(\d+)", lambda z: " " + zone_words(words, int(z[1])), time.words)
    return Time(start, end, said, given, time.kind, time.days, time.why, time.recurs)


def _line(words: Sequence[Word], taken: Mapping[int, str]) -> tuple[str, list[int]]:
    """The words as one line, and to which word each character belongs. A zone is one word of it."""
    line, places, index = "", list[int](), 0
    while index < len(words):
        length = zone(words, index)
        text = (
            f"zone{index}"
            if length
            else "\x00" * max(1, len(words[index].text))
            if index in taken
            else words[index].text
        )
        line += text + " "
        last = index + max(length, 1) - 1  # a zone of several words ends with its last
        places += [index] * (len(text) - 1) + [last, last]
        index += max(length, 1)
    return line.rstrip(), places


def _at(places: Sequence[int], offset: int) -> int:
    return places[min(offset, len(places) - 1)]
