"""Which runbook words mean: declared verbs and nouns score, the kinds of names decide between them."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from bot.planner.language.lexicon.vocabulary import GAP, Vocabulary, forms
from bot.planner.language.lexicon.words import Word
from bot.planner.runbooks.asks import Asks
from bot.planner.runbooks.slots import Slot

VERB, WORD_MORE, FRONT, NOUN, TROUBLE = 3.0, 0.8, 0.5, 1.6, 1.8
LOOSE, ENTITY, MISSING, MISSING_TARGET, FOREIGN, BY_NAME = 2.2, 0.7, 0.5, 1.1, 0.9, 1.9
WIDEST = 14  # words in a gap
FLOOR = 1.2
PLAIN = 6  # letters of a noun in which a slip is seen
TIE = 0.25
PASSIVE = frozenset(
    {
        "be",
        "get",
        "getting",
        "have",
        "having",
        "need",
        "needs",
        "want",
        "wants",
        "like",
        "must",
        "should",
        "see",
    }
)
TOLD = frozenset({"was", "were", "been", "had", "did", "has", "already", "just"})


@dataclass(frozen=True)
class Phrase:
    """A phrase of an intent: its words, where … is a gap, and how much they say."""

    words: tuple[str, ...]
    intent: str
    role: str  # verb, loose, noun

    @property
    def said(self) -> int:
        return len([word for word in self.words if word != GAP])


@dataclass(frozen=True)
class Intent:
    """A runbook as words see it. Whether it changes anything is taken from the contracts of what it calls."""

    id: str
    asks: Asks
    slots: Mapping[str, Slot]
    changes: bool
    nouns: frozenset[tuple[str, ...]] = frozenset()
    about: frozenset[tuple[str, ...]] = frozenset()
    requires: frozenset[tuple[str, ...]] = frozenset()
    trouble: bool = False

    def needs(self) -> list[str]:
        return [name for name, slot in self.slots.items() if not slot.default and not slot.optional]

    def tables(self) -> set[str]:
        return {slot.inventory for slot in self.slots.values() if slot.inventory}


@dataclass(frozen=True)
class Hit:
    """Words of an intent, found in a clause."""

    intent: str
    role: str
    claimed: frozenset[int]
    form: str = "base"
    size: int = 1
    core: int = -1  # where its own words begin, without a light verb

    @property
    def start(self) -> int:
        return min(self.claimed)


@dataclass(frozen=True)
class Grammar:
    """Every intent, and its phrases by their first word."""

    intents: Mapping[str, Intent]
    first: Mapping[str, tuple[tuple[Phrase, str], ...]]
    vocabulary: Vocabulary
    heads: frozenset[str] = field(default_factory=frozenset)  # first words, for near misses
    spoken: frozenset[str] = field(default_factory=frozenset)  # every word that a runbook declares


def intent_of(
    key: str, asks: Asks, slots: Mapping[str, Slot], changes: bool, vocabulary: Vocabulary
) -> Intent:
    return Intent(
        key, asks, slots, changes, _expanded(asks.nouns, vocabulary),
        frozenset(tuple(one.split()) for one in asks.about), _expanded(asks.requires, vocabulary),
        "trouble" in asks.nouns,
    )  # fmt: skip


def _expanded(listed: Sequence[str], vocabulary: Vocabulary) -> frozenset[tuple[str, ...]]:
    return frozenset(tuple(one.split()) for head in listed for one in vocabulary.nouns.get(head, (head,)))


def grammar(intents: Sequence[Intent], vocabulary: Vocabulary) -> Grammar:
    first: dict[str, list[tuple[Phrase, str]]] = defaultdict(list)
    for intent in intents:
        for phrase in _phrases(intent, vocabulary):
            for form, kind in (
                forms(phrase.words[0]).items() if phrase.role != "noun" else ((phrase.words[0], "base"),)
            ):
                first[form].append((phrase, kind))
    heads = frozenset(
        word
        for word, listed in first.items()
        if any(p.role == "verb" and kind == "base" for p, kind in listed)
    )
    heads |= {
        words[0]
        for one in intents
        if not one.trouble
        for words in one.nouns
        if len(words) == 1 and len(words[0]) >= PLAIN
    }
    listed = [words for one in intents for words in (*one.about, *one.nouns, *one.requires)]
    spoken = frozenset(word for words in listed for word in words)
    by_first = {word: (*found,) for word, found in first.items()}
    return Grammar({one.id: one for one in intents}, by_first, vocabulary, heads, spoken)


def _phrases(intent: Intent, vocabulary: Vocabulary) -> Iterator[Phrase]:
    asks = intent.asks
    for role, listed in (("verb", asks.verbs), ("loose", asks.loose)):
        for head in listed:
            for said in vocabulary.verbs.get(head, (head,)):
                yield Phrase(tuple(said.split()), intent.id, role)
    for said in asks.also:
        yield Phrase(tuple(said.split()), intent.id, "verb")
    for words in intent.nouns:
        yield Phrase(words, intent.id, "noun")


def hits(
    words: Sequence[Word], span: range, open_: Collection[int], passable: Collection[int], grammar: Grammar
) -> list[Hit]:
    """Every phrase in a clause. `open_` words may be claimed; `passable` ones may stand in a gap."""
    found = []
    for index in span:
        if index not in open_:
            continue
        for phrase, form in grammar.first.get(words[index].bare, ()):
            claimed = _match(phrase.words, words, index, span, open_, passable)
            if claimed:
                found.append(Hit(phrase.intent, phrase.role, claimed, form, phrase.said, index))
    return found


def _match(
    phrase: tuple[str, ...],
    words: Sequence[Word],
    index: int,
    span: range,
    open_: Collection[int],
    passable: Collection[int],
) -> frozenset[int]:
    """The words that a phrase claims, from this place on; empty where it does not fit."""
    claimed, place, gap = [index], index + 1, False
    for wanted in phrase[1:]:
        if wanted == GAP:
            gap = True
            continue
        end = min(span.stop, place + WIDEST) if gap else min(span.stop, place + 1)
        at = next((p for p in range(place, end) if p in open_ and words[p].bare == wanted), -1)
        if at < 0 or not all(p in passable for p in range(place, at)):
            return frozenset()
        claimed.append(at)
        place, gap = at + 1, False
    return frozenset(claimed)


def says(words: Sequence[Word], span: range, listed: Collection[tuple[str, ...]]) -> list[frozenset[int]]:
    """Where one of these phrases stands in a clause."""
    found = []
    firsts = {phrase[0] for phrase in listed}
    for index in span:
        for phrase in listed if words[index].bare in firsts else ():
            if tuple(word.bare for word in words[index : min(index + len(phrase), span.stop)]) == phrase:
                found.append(frozenset(range(index, index + len(phrase))))
    return found
