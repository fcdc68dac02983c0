"""Names that people say: of the inventory, of environments, and the choices of runbooks; versions are values.

Separators are equal (“auth service” is auth-service), and a name may stand anywhere. One place may be several
things: `auth-prod` is an endpoint and, by variant, the database auth_prod; what it is wanted for decides.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from bot.planner.language.lexicon.slips import nearest
from bot.planner.language.lexicon.vocabulary import Vocabulary
from bot.planner.language.lexicon.words import Word
from bot.planner.runbooks.environments import ENVIRONMENTS, environments_of

How = Literal["exact", "variant", "typo", "part", "default", "inherited", "form"]
VERSION = re.compile(r"v?\d+(?:\.\d+){1,3}(?:[-+][0-9a-z][0-9a-z.-]*)?|v\d+", re.I)
SEPARATORS = re.compile(r"[-_./\s]+")
LONGEST = 5  # words of one name
REMEMBERED = 5000  # look-ups
SHORTEST = 3  # letters of a word that may be a slip


@dataclass(frozen=True)
class Meaning:
    """One thing that a name may be: of which table, its proper name, and how well the words fit."""

    table: str
    name: str
    how: How = "exact"


@dataclass(frozen=True)
class Name:
    """Where a name was said, and what it may mean."""

    start: int
    end: int
    said: str
    meanings: tuple[Meaning, ...]
    inner: tuple["Name", ...] = ()  # “checkout prod” may be the endpoint, or the service and where it is

    def of(self, table: str) -> Meaning | None:
        """What it means among these names, if anything; exact before variant."""
        ours = [one for one in self.meanings if one.table == table]
        return min(ours, key=lambda one: one.how != "exact", default=None)


@dataclass(frozen=True)
class Lexicon:
    """Every name that can be said, by its words."""

    known: Mapping[tuple[str, ...], tuple[tuple[str, str], ...]]
    whole: Mapping[str, tuple[tuple[str, str], ...]]  # lower-case, for near misses
    parts: Mapping[str, tuple[tuple[str, str], ...]]
    environments: frozenset[str]
    listed: tuple[str, ...] = ()  # the keys of `whole`
    memo: dict[object, Any] = field(default_factory=dict, compare=False)  # what was looked up before


def parts_of(name: str) -> tuple[str, ...]:
    return tuple(part for part in SEPARATORS.split(name.lower()) if part)


def lexicon(
    inventory: Mapping[str, Mapping[str, Mapping[str, object]]],
    choices: Iterable[tuple[str, str, str]],
    vocabulary: Vocabulary,
) -> Lexicon:
    """Names of the inventory with aliases, environments with synonyms, and choices (slot, said, meant)."""
    said: list[tuple[str, str, str]] = [*_inventory(inventory), *choices]
    places = environments_of(inventory)
    said += [*_environments(places, vocabulary)]
    known: dict[tuple[str, ...], dict[tuple[str, str], None]] = defaultdict(dict)
    parts: dict[str, dict[tuple[str, str], None]] = defaultdict(dict)
    whole: dict[str, dict[tuple[str, str], None]] = defaultdict(dict)
    for table, words, name in said:
        key = parts_of(words)
        known[key][table, name] = None
        if not table.startswith("=") and table != ENVIRONMENTS:
            whole[words.lower()][table, name] = None
            for part in key if len(key) > 1 else ():
                parts[part][table, name] = None
    return Lexicon(
        {key: (*found,) for key, found in known.items()}, {key: (*found,) for key, found in whole.items()},
        {key: (*found,) for key, found in parts.items()}, frozenset(places),
        (*whole,),
    )  # fmt: skip


def _inventory(inventory: Mapping[str, Mapping[str, Mapping[str, object]]]) -> Iterable[tuple[str, str, str]]:
    for table, entries in inventory.items():
        for name, entry in entries.items():
            for words in (name, *_listed(entry.get("aliases"))):
                yield table, words, name


def _listed(value: object) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list | tuple) else []


def _environments(places: Sequence[str], vocabulary: Vocabulary) -> Iterable[tuple[str, str, str]]:
    for head, synonyms in vocabulary.environments.items():
        name = next((place for place in places if place.lower() in {head, *synonyms}), head)
        yield from ((ENVIRONMENTS, words, name) for words in dict.fromkeys((head, *synonyms)))
    yield from ((ENVIRONMENTS, place, place) for place in places)


def find(words: Sequence[Word], lexicon: Lexicon) -> list[Name]:
    """Every name as it stands or with other separators; the longest first, and none inside another."""
    found, index = list[Name](), 0
    while index < len(words):
        name = _longest(words, index, lexicon) if words[index].kind in {"word", "number"} else None
        if name:
            found.append(name)
        index = name.end if name else index + 1
    return found


def _longest(words: Sequence[Word], index: int, lexicon: Lexicon) -> Name | None:
    for end in range(min(index + LONGEST, len(words)), index, -1):
        span = words[index:end]
        if any(word.kind not in {"word", "number"} for word in span):
            continue
        key = tuple(part for word in span for part in parts_of(word.bare))
        if known := lexicon.known.get(key):
            said = " ".join(word.bare for word in span)
            meanings = tuple(Meaning(table, name, _how(said, name)) for table, name in known)
            return Name(index, end, said, meanings, _inner(words, index, end, lexicon))
    return None


def _inner(words: Sequence[Word], start: int, end: int, lexicon: Lexicon) -> tuple[Name, ...]:
    """The shorter names that a name of several words is made of, if every word of it is one."""
    if end - start < 2:
        return ()
    cuts = (
        (_longest(words[:cut], start, lexicon), _longest(words[:end], cut, lexicon))
        for cut in range(start + 1, end)
    )
    whole = ((one, two) for one, two in cuts if one and two and (one.end, two.end) == (two.start, end))
    return next(whole, ())


def _how(said: str, name: str) -> How:
    return "exact" if said == name.lower() or (" " not in said and not SEPARATORS.search(name)) else "variant"


def near(word: Word, lexicon: Lexicon) -> tuple[Meaning, ...]:
    """What an unknown word may be a slip of, or a part of; never taken for the target of a change unasked."""
    if word.bare not in lexicon.memo:
        if len(lexicon.memo) > REMEMBERED:
            lexicon.memo.clear()
        lexicon.memo[word.bare] = _near(word.bare, lexicon)
    found: tuple[Meaning, ...] = lexicon.memo[word.bare]
    return found


def _near(said: str, lexicon: Lexicon) -> tuple[Meaning, ...]:
    slip = "" if said in lexicon.whole else mistyped(said, lexicon.listed)
    if slip:
        return tuple(Meaning(table, name, "typo") for table, name in lexicon.whole[slip])
    found = lexicon.parts.get(said) or lexicon.parts.get(said.removesuffix("s"), ())
    return tuple(Meaning(table, name, "part") for table, name in found)


def mistyped(said: str, known: Collection[str]) -> str:
    """The one known word that this is a slip of: one letter, two from eight on, the first right; or ""."""
    if len(said) < SHORTEST or said in known:
        return ""
    most = 2 if len(said) >= 8 else 1
    first = [text for text in nearest(said, known, most) if text[0] == said[0]]
    return first[0] if len(first) == 1 and len(first[0]) > SHORTEST and not _inflected(said, first[0]) else ""


def _inflected(said: str, known: str) -> bool:
    """ "tests" is no slip of "test"."""
    return said in {f"{known}s", f"{known}d", f"{known}r", f"{known}n"} or known in {f"{said}s", f"{said}d"}


def version(word: Word) -> str:
    """The version that a word is, or ""."""
    if word.kind not in {"word", "number"} or not VERSION.fullmatch(word.text):
        return ""
    return re.sub("^V", "v", word.said)
