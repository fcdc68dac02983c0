"""The facts of a clause, read into a runbook's slots: names, numbers and versions, with how each was said."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from bot.planner.language.lexicon.names import How, Lexicon, Meaning, Name, near, version
from bot.planner.language.lexicon.plain import Doubt
from bot.planner.language.lexicon.vocabulary import Vocabulary, split
from bot.planner.language.lexicon.words import Word
from bot.planner.runbooks.environments import ENVIRONMENTS
from bot.planner.runbooks.slots import Slot, names_of
from storage.config import SignoffConfig

COUNTED = split("one, two, three, four, five, six, seven, eight, nine, ten, eleven, twelve")
SPELLED = {word: str(number) for number, word in enumerate(COUNTED, start=1)}
SPELLED |= {
    "eins": "1",
    "zwei": "2",
    "drei": "3",
    "vier": "4",
    "fünf": "5",
    "sechs": "6",
    "sieben": "7",
    "acht": "8",
}
SPELLED |= {"dos": "2", "tres": "3", "cuatro": "4", "cinco": "5", "seis": "6", "siete": "7", "ocho": "8"}
SKIPPED = frozenset(
    {
        "the",
        "a",
        "an",
        "only",
        "nur",
        "solo",
        "sólo",
        "solamente",
        "newest",
        "last",
        "latest",
        "most",
        "recent",
        "just",
        "up",
        "down",
        "exactly",
        "total",
        "of",
        "auf",
        "las",
        "los",
        "die",
        "letzten",
        "últimas",
        "ultimas",
        "neuesten",
    }
)
SECONDS = {
    "s": 1,
    "sec": 1,
    "secs": 1,
    "second": 1,
    "seconds": 1,
    "min": 60,
    "mins": 60,
    "minute": 60,
    "minutes": 60,
    "sekunden": 1,
    "minuten": 60,
    "segundos": 1,
    "minutos": 60,
}
FILE = re.compile(r"[\w-]+(?:[.-][\w-]+)*\.(?:dump|sql|gz|zst|db|bak|sqlite|tar|backup|json)(?:\.\w+)?", re.I)


@dataclass(frozen=True)
class Value:
    """One fact: what was said, what it means, and how that was seen."""

    said: str
    meant: str
    how: How = "exact"


@dataclass(frozen=True)
class Facts:
    """What a clause says for a runbook: values by slot, the words that said them, and what is doubtful."""

    values: Mapping[str, Value] = field(default_factory=dict)
    used: frozenset[int] = frozenset()
    doubts: tuple[Doubt, ...] = ()
    guesses: Mapping[str, str] = field(default_factory=dict)  # for the form only


@dataclass(frozen=True)
class Clause:
    """A stretch of words with what was found in it."""

    words: Sequence[Word]
    span: range
    names: Sequence[Name]
    roles: Mapping[int, str]

    def tokens(self) -> Iterator[tuple[int, Word]]:
        return ((index, self.words[index]) for index in self.span)


def facts(
    clause: Clause, slots: Mapping[str, Slot], config: SignoffConfig, lexicon: Lexicon, vocabulary: Vocabulary
) -> Facts:
    """Every slot's value that the clause says."""
    values, used, doubts, guesses = dict[str, Value](), set[int](), list[Doubt](), dict[str, str]()
    clause = replace(clause, names=_fitting(clause.names, slots))
    for name, slot in slots.items():
        found = [*_candidates(name, slot, clause, config, lexicon)]
        if _free(slot):
            found = [one for one in found if not used & {*one[1]}][
                : 1 if len([s for s in slots.values() if _free(s)]) > 1 else None
            ]
        found, leave = _left_behind(slot, clause, found)
        used |= leave
        meant = {value.meant for value, _ in found}
        if len(meant) > 1:
            said = " and ".join(dict.fromkeys(value.said for value, _ in found))
            doubts.append(Doubt("two", said, name, f"You said {said}; I can take one."))
            used |= {index for _, span in found for index in span}
        elif found:
            values[name] = min((value for value, _ in found), key=lambda value: value.how != "exact")
            used |= {index for _, span in found for index in span}
    for name in [*slots]:
        if name in values or any(doubt.field == name for doubt in doubts):
            continue
        if close := _near(slots[name], clause, used, config, lexicon):
            index, meaning = close
            values[name] = Value(clause.words[index].text, meaning.name, meaning.how)
            used.add(index)
    return Facts(values, frozenset(used), tuple(doubts), guesses)


def _fitting(names: Sequence[Name], slots: Mapping[str, Slot]) -> list[Name]:
    """“restart checkout prod”: no endpoint is wanted here, but a service and where it is."""
    tables = {slot.inventory for slot in slots.values() if slot.inventory}
    return [
        inner
        for name in names
        for inner in (name.inner if name.inner and not any(map(name.of, tables)) else (name,))
    ]


def _left_behind(
    slot: Slot, clause: Clause, found: list[tuple[Value, range]]
) -> tuple[list[tuple[Value, range]], set[int]]:
    """“promote … from staging to production”: where it comes from is no second place to go."""
    if slot.inventory != ENVIRONMENTS:
        return found, set()
    away = [one for one in found if clause.words[one[1].start - 1].text in {"from", "aus", "von", "desde"}]
    into = [one for one in found if clause.words[one[1].start - 1].text in {"to", "into", "in", "on", "onto"}]
    kept = [one for one in found if one not in away] if into and away else found
    return kept, {i for one in found if one not in kept for i in range(one[1].start - 1, one[1].stop)}


def _free(slot: Slot) -> bool:
    """A slot that takes any number, or what fits its pattern: several of them take it in its order."""
    return not (slot.inventory or slot.choices or slot.kind or slot.after or slot.before)


def _candidates(
    name: str, slot: Slot, clause: Clause, config: SignoffConfig, lexicon: Lexicon
) -> Iterator[tuple[Value, range]]:
    if slot.beside and not any(word.bare in slot.beside for _, word in clause.tokens()):
        return
    if slot.inventory or slot.choices or slot.synonyms:
        yield from _named(name, slot, clause, config, lexicon)
    if slot.inventory or slot.choices:
        return
    for index, word in clause.tokens():
        if clause.roles.get(index) in {None, "value"} and (found := _token(slot, clause, index, word)):
            yield found


def _allowed(slot: Slot, config: SignoffConfig, lexicon: Lexicon) -> frozenset[str]:
    """The names that a slot takes; looked up once, for an inventory may be long."""
    key = (slot.inventory, slot.choices, *sorted(slot.where.items()))
    if key not in lexicon.memo:
        lexicon.memo[key] = frozenset(names_of(slot, config))
    found: frozenset[str] = lexicon.memo[key]
    return found


def _named(
    name: str, slot: Slot, clause: Clause, config: SignoffConfig, lexicon: Lexicon
) -> Iterator[tuple[Value, range]]:
    allowed, more = _allowed(slot, config, lexicon), {*slot.synonyms.values()}
    for one in clause.names:
        if one.start not in clause.span:
            continue
        meanings = [
            m
            for m in one.meanings
            if m.table in {slot.inventory, f"={name}"} or (m.table == ENVIRONMENTS and m.name in slot.choices)
        ]
        exact = [m for m in meanings if m.how == "exact"] or meanings
        for meaning in exact[:1] if len({m.name for m in exact}) == 1 else ():
            if meaning.name in allowed or meaning.name in more:
                yield Value(one.said, meaning.name, meaning.how), range(one.start, one.end)


def _near(
    slot: Slot, clause: Clause, used: set[int], config: SignoffConfig, lexicon: Lexicon
) -> tuple[int, Meaning] | None:
    """A slip or a part of one name of this table, said in a word that is nothing else."""
    allowed = _allowed(slot, config, lexicon) if slot.inventory != ENVIRONMENTS else ()
    for index, word in clause.tokens() if slot.inventory else ():
        if word.kind != "word" or index in used or clause.roles.get(index):
            continue
        ours = [m for m in near(word, lexicon) if m.table == slot.inventory and m.name in allowed]
        if len({m.name for m in ours}) == 1:
            return index, ours[0]
    return None


def _token(slot: Slot, clause: Clause, index: int, word: Word) -> tuple[Value, range] | None:
    if slot.kind == "version":
        text = version(word)
        fits = text and (not slot.after or _led(clause, index, slot.after))
        return (Value(word.said, text), range(index, index + 1)) if fits else None
    if slot.kind == "percent":
        return _percent(slot, clause, index, word)
    if slot.kind == "seconds":
        return _seconds(clause, index, word)
    if slot.kind == "path":
        return (Value(word.said, word.said), range(index, index + 1)) if word.kind == "path" else None
    if slot.kind == "file":
        return (Value(word.said, word.said), range(index, index + 1)) if FILE.fullmatch(word.said) else None
    if slot.number:
        return _number(slot, clause, index, word)
    shape = slot.answer or slot.pattern
    taken = re.fullmatch(shape, word.said, re.I) if shape and not _small(word) else None
    return (Value(word.said, word.said), range(index, index + 1)) if taken else None


def _small(word: Word) -> bool:
    """Small words are nobody's value, whatever a pattern takes."""
    return word.kind == "mark" or (word.text.isalpha() and len(word.text) < 3)


def _led(clause: Clause, index: int, after: Sequence[str]) -> bool:
    """Whether one of these words leads to this place; names and small words may stand between."""
    place = index - 1
    while place >= clause.span.start:
        if clause.words[place].bare in after:
            return True
        if (
            clause.words[place].bare not in SKIPPED
            and clause.roles.get(place) != "name"
            and clause.words[place].bare not in {"version", "release", "tag", ":"}
        ):
            return False
        place -= 1
    return False


def _number(slot: Slot, clause: Clause, index: int, word: Word) -> tuple[Value, range] | None:
    times = re.fullmatch(r"x(\d+)|(\d+)x", word.text)
    digits = word.text if word.text.isdigit() else SPELLED.get(word.text, "")
    digits = (times[1] or times[2]) if times else digits
    if not digits or len(digits) > 6:
        return None
    after = next((i for i in range(index + 1, clause.span.stop) if clause.roles.get(i) != "name"), index)
    behind = after == index + 1 and clause.words[after].bare in slot.before
    apart = index + 1 < after < index + 4 and clause.words[after].bare in slot.before
    if (
        not behind
        and index + 2 < clause.span.stop
        and clause.words[index + 1].bare in {"running", "healthy", "total", "newest", "latest", "most"}
    ):
        behind = clause.words[index + 2].bare in slot.before
    led = bool(slot.after) and _led(clause, index, slot.after)
    free = not slot.after and not slot.before
    taken = behind or led or free or apart or (times and slot.before)
    return (Value(word.said, digits), range(index, index + 1 + behind)) if taken else None


def _percent(slot: Slot, clause: Clause, index: int, word: Word) -> tuple[Value, range] | None:
    spelled = (
        word.kind == "number"
        and index + 1 < clause.span.stop
        and clause.words[index + 1].text in {"percent", "prozent"}
    )
    if not (word.kind == "percent" or spelled) or (slot.after and not _led(clause, index, slot.after)):
        return None
    return Value(word.said, word.text.rstrip("%")), range(index, index + 1 + spelled)


def _seconds(clause: Clause, index: int, word: Word) -> tuple[Value, range] | None:
    short = re.fullmatch(r"(\d{1,5})(s|sec|secs|min|mins)", word.text)
    if short:
        return Value(word.said, str(int(short[1]) * SECONDS[short[2]])), range(index, index + 1)
    unit = clause.words[index + 1].bare if index + 1 < clause.span.stop else ""
    if not word.text.isdigit() or unit not in SECONDS:
        return None
    return Value(f"{word.said} {unit}", str(int(word.text) * SECONDS[unit])), range(index, index + 2)
