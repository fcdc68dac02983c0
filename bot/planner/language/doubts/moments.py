"""Times that are doubtful by the words around them: a bound, whose clock, a remark, a mere read."""

import re
from collections.abc import Iterator, Sequence

from bot.planner.language.document import Sentence, Understood
from bot.planner.language.lexicon.plain import Doubt
from bot.planner.language.lexicon.vocabulary import split
from bot.planner.language.times.moment import Time

SINCE = frozenset(split("since, seit, desde"))
BOUNDS = SINCE | frozenset(split("before, after, by, until, till, past, vor, nach, bis, antes, hasta"))
ROUGHLY = frozenset(split("around, about, roughly, approximately, circa, ca, gegen, sobre"))
TELLERS = frozenset(
    split("we, it, they, there, users, customers, people, everyone, everybody, he, she, i, traffic")
)
TO_COME = re.compile(
    r"\b(?:tomorrow|morgen|mañana|next|later|soon\w*|shortly|time to|over and|eod|cob|weekend|one day"
    r"|some ?day|eventually|at some point|sooner or later|overnight|lunch\w*|first thing|hours|bit|while"
    r"|every|each|in \w+ \w+|(?:on|am|el) \w+day)\b"
)


def doubtful(sentence: Sentence, said: Sequence[Time], known: Sequence[Understood]) -> Iterator[Time]:
    """Times that may be no time to start at."""
    for time in said:
        if _led(sentence, time) in BOUNDS | ROUGHLY or _aside(sentence, time, known) or whose(sentence, time):
            yield time


def doubt(sentence: Sentence, time: Time) -> Doubt:
    """What is asked about such a time."""
    if clock := whose(sentence, time):
        said = f"{time.said} {clock}"
        return Doubt("time", said, "when", f"“{said}”: in which zone is that?")
    if (lead := _led(sentence, time)) in ROUGHLY:
        return Doubt("time", f"{lead} {time.said}", "when", f"Shall it start at {time.said} sharp?")
    if lead in BOUNDS:
        return Doubt("time", f"{lead} {time.said}", "when")
    return Doubt("time", time.said, "when", f"Is “{time.said}” when it shall start?")


def past(sentence: Sentence, time: Time) -> bool:
    """“since noon”: how long something has been so, which is nobody's time to start."""
    return _led(sentence, time) in SINCE


def postponed(known: Sequence[Understood], doubts: Sequence[Doubt]) -> list[Doubt]:
    """Vague times beside what only reads: one that is still to come is asked for, the others tell."""
    ordered = any(not one.question and not one.intent.trouble for one in known)
    runs = any(not one.intent.asks.looks for one in known)
    return [one for one in doubts if ordered and (runs or TO_COME.search(one.said.lower()))]


def whose(sentence: Sentence, time: Time) -> str:
    """“3am my time”: a clock that no zone is known of."""
    behind = [word.text for word in sentence.words[time.end : time.end + 2]]
    theirs = behind[1:] == ["time"] and behind[0].isalpha() and behind[0] not in {"this", "next", "last"}
    return " ".join(behind) if theirs else ""


def _led(sentence: Sentence, time: Time) -> str:
    index = time.start - 1
    return sentence.words[index].text if index >= 0 and sentence.roles.get(index) != "name" else ""


def _aside(sentence: Sentence, time: Time, known: Sequence[Understood]) -> bool:
    """“…, we expect more traffic tonight”, “since it crashed at 3am”: it may be of the remark alone."""
    one = next((one for one in known if time.start in one.part.span and one.intent.changes), None)
    used = {*one.claimed, *one.facts.used} if one else set[int]()
    if any(i > time.start for i in used):
        return False
    if time.start and sentence.roles.get(time.start - 1) == "reason" and one:
        return "mark" not in {word.kind for word in sentence.words[time.start - 1 : time.start + 1]}
    open_ = range(max((i for i in used if i < time.start), default=time.start) + 1, time.start)
    said = [sentence.words[i] for i in open_ if not sentence.roles.get(i)]
    marks = [n for n, word in enumerate(said) if word.kind == "mark"]
    return any(word.text in TELLERS for n, word in enumerate(said) if marks and n > marks[0])
