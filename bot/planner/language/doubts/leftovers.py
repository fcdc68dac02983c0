"""What no part of a reading has used: decoration is silent, a comment is shown, and risk is asked about.

Five rules carry the safety; they are structural, so they hold for words that nobody listed.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from bot.planner.language.lexicon.plain import Doubt, negative
from bot.planner.language.lexicon.vocabulary import Vocabulary
from bot.planner.language.lexicon.words import Word
from bot.planner.language.meaning.values import Clause
from bot.times.zones import AMBIGUOUS, PLACES

RULES = frozenset({"frame", "argument", "foreign", "risk", "gate"})
QUIET = frozenset({"polite", "mention", "ticket", "emoji", "link", "time", "name", "value", "aside-mark"})
SYMBOLS = frozenset("{}$|=<>&*\\^~;`[]#%")
HARMLESS = frozenset(",.!?:-–—()'\"/+@\n…¿¡ï•·‣▪")
ADVERBS = frozenset(
    {
        "family",
        "only",
        "supply",
        "reply",
        "apply",
        "early",
        "july",
        "daily",
        "weekly",
        "monthly",
        "nightly",
        "hourly",
        "assembly",
        "really",
        "actually",
        "currently",
        "simply",
        "kindly",
        "quickly",
        "urgently",
        "immediately",
        "friendly",
        "finally",
        "basically",
        "obviously",
        "apparently",
        "unfortunately",
        "hopefully",
    }
)
ISH = frozenset({"finish", "publish", "establish", "english", "spanish", "british", "wish", "sluggish"})
AUXILIARY = frozenset(
    [
        "needs",
        "need",
        "has",
        "have",
        "must",
        "should",
        "could",
        "use",
        "can",
        "would",
        "like",
        "get",
        "gets",
        "got",
        "getting",
        "due",
        "time",
        "requires",
        "deserves",
        "want",
        "ought",
        "braucht",
        "muss",
        "necesita",
        "debe",
    ]
)
LEADS = frozenset({"and", "or", "&", "+", ":", "then", "afterwards", "danach", "dann", "luego", "después"})
TELLS = frozenset({"is", "are", "was", "were", "ist", "sind", "está", "están"})  # “… is down”: a fact of it
DETERMINERS = frozenset(
    {
        "the",
        "a",
        "an",
        "our",
        "my",
        "your",
        "this",
        "that",
        "its",
        "their",
        "some",
        "new",
        "any",
        "der",
        "die",
        "das",
        "el",
        "la",
        "los",
        "las",
    }
)


@dataclass(frozen=True)
class Judged:
    """What the words that were left over say: doubts, and comments that are shown as not used."""

    doubts: tuple[Doubt, ...]
    unused: tuple[str, ...]


def judge(
    clause: Clause,
    used: Collection[int],
    verb: int,
    tables: Collection[str],
    vocabulary: Vocabulary,
    rules: Collection[str] = RULES,
) -> Judged:
    """Every word of a clause that changes something. `verb` is where its verb or noun stands."""
    last = max((index for index in used if index in clause.span), default=verb)
    doubts, unused = list[Doubt](), list[int]()
    for index in open_words(clause, used):
        doubt = _doubt(clause, index, used, verb, last, tables, vocabulary, rules)
        if doubt:
            doubts.append(doubt)
        elif clause.words[index].kind != "mark":
            unused.append(index)
    comments = [index for index in clause.span if clause.roles.get(index) == "reason"]
    return Judged(merged(doubts), (*quoted(clause.words, sorted({*unused, *comments}), vocabulary),))


def open_words(clause: Clause, used: Collection[int]) -> Iterator[int]:
    """The words without any role."""
    return (
        index
        for index in clause.span
        if index not in used and clause.roles.get(index) not in {*QUIET, "reason"}
    )


def _doubt(
    clause: Clause,
    index: int,
    used: Collection[int],
    verb: int,
    last: int,
    tables: Collection[str],
    vocabulary: Vocabulary,
    rules: Collection[str],
) -> Doubt | None:
    word = clause.words[index]
    if word.kind == "mark":
        odd = word.text in SYMBOLS or word.text not in HARMLESS
        return Doubt("symbols", glued(clause, index)) if odd and "risk" in rules else None
    if "risk" in rules and (kind := risky(clause, index, vocabulary, used)):
        return Doubt(kind, phrase_at(clause, index), "when" if kind == "time" else "")
    if "foreign" in rules and (foreign := _foreign(word, tables, vocabulary)):
        return Doubt("foreign", word.said, why=foreign)
    if (
        word.bare in vocabulary.small
        or _known_kind(word, tables, vocabulary)
        or (index < verb and word.bare in AUXILIARY)
    ):
        return None
    if index < verb:
        return Doubt("frame", phrase_at(clause, index)) if "frame" in rules else None
    if "argument" in rules and _argument(clause, index, used, last, vocabulary):
        return Doubt("argument", phrase_at(clause, index))
    return None


def risky(clause: Clause, index: int, vocabulary: Vocabulary, used: Collection[int] = ()) -> str:
    """The class of risk that a word carries, or ""."""
    word = clause.words[index]
    if word.kind == "emoji":
        return "negation" if negative(word, vocabulary) else ""
    if word.kind in BY_KIND:
        return BY_KIND[word.kind]
    return _listed(clause, index, vocabulary) or _shaped(word)


BY_KIND = {"number": "quantity", "percent": "quantity", "clock": "time", "date": "time"}


def _listed(clause: Clause, index: int, vocabulary: Vocabulary) -> str:
    """The class that the vocabulary gives a word, or the phrase that begins here."""
    word = clause.words[index]
    for kind, known in vocabulary.risk.items():
        length = known.at(clause.words, index) or _inside(known.known, clause.words, index, clause.span)
        if word.text == "by" and length == 1 and not _measured(clause, index, vocabulary):
            continue  # “reviewed by Carol”: who did it, which the rule of arguments judges
        plainly = word.bare in vocabulary.small and kind == "comparison" and word.bare != "by"
        if length and (length > 1 or not plainly):
            return kind
    return ""


def _shaped(word: Word) -> str:
    """The class that shows in a word's own shape: “EST”, “slowly”, “tomorrow-ish”, “3x”."""
    if zone_alone(word):
        return "time"
    if word.text.endswith("ly") and word.text not in ADVERBS and len(word.text) > 4:
        return "manner"
    if word.text.endswith("ish") and word.text not in ISH:
        return "hedge"
    return "quantity" if word.kind == "word" and word.text[0].isdigit() else ""


def _measured(clause: Clause, index: int, vocabulary: Vocabulary) -> bool:
    """“by 3”, “by half”, “by tomorrow”: by how much, or until when."""
    after = [clause.words[i] for i in range(index + 1, min(index + 3, clause.span.stop))]
    risks = [vocabulary.risk[kind] for kind in ("quantity", "comparison", "time")]
    times = any(clause.roles.get(i) == "time" for i in range(index + 1, min(index + 3, clause.span.stop)))
    counted = any(
        word.kind not in {"word", "mark"} or any(word.text in one for one in risks) for word in after
    )
    return times or counted


def zone_alone(word: Word) -> bool:
    """“EST” that no time has taken: whose hour it is would be lost."""
    return word.said.isupper() and len(word.said) > 2 and (word.text in PLACES or word.text in AMBIGUOUS)


def _inside(known: Collection[tuple[str, ...]], words: Sequence[Word], index: int, span: range) -> int:
    """Whether a phrase of several words that began before goes on here."""
    for back in (1, 2):
        start = index - back
        for length in (2, 3):
            if (
                start >= span.start
                and start + length > index
                and tuple(w.text for w in words[start : start + length]) in known
            ):
                return length
    return 0


def _foreign(word: Word, tables: Collection[str], vocabulary: Vocabulary) -> str:
    """A kind of thing that the runbook knows nothing of."""
    if _known_kind(word, tables, vocabulary):
        return ""
    return next(
        (head for head, known in vocabulary.kinds.items() if word.bare in known and head not in tables), ""
    )


def _known_kind(word: Word, tables: Collection[str], vocabulary: Vocabulary) -> bool:
    return any(word.bare in vocabulary.kinds.get(table, ()) for table in tables)


def _argument(clause: Clause, index: int, used: Collection[int], last: int, vocabulary: Vocabulary) -> bool:
    """Whether this is a fact that was not read: between what was, or led by a preposition."""
    if index < last:
        return True
    if _behind_boundary(clause, index, last):
        return False
    place = index - 1
    while place > last and _passed(clause, place, vocabulary):
        place -= 1
    if place == last and "," not in _between(clause, last, index) and last > 0:
        return True
    told = place > last and clause.words[place].bare in TELLS and "," not in _between(clause, last, index)
    return told or clause.words[place].bare in vocabulary.prepositions | LEADS


def _between(clause: Clause, last: int, index: int) -> set[str]:
    return {clause.words[place].text for place in range(last + 1, index)}


def _passed(clause: Clause, place: int, vocabulary: Vocabulary) -> bool:
    """Whether a word may stand between a preposition and what it leads: “at the full moon”."""
    bare = clause.words[place].bare
    if bare in LEADS or bare in TELLS:
        return False
    if bare in DETERMINERS or clause.roles.get(place) == "polite":
        return True
    return bare in vocabulary.small and bare not in vocabulary.prepositions


def _behind_boundary(clause: Clause, index: int, last: int) -> bool:
    """Whether a comment has begun: behind a dash, a bracket or the end of a sentence."""
    return any(
        clause.words[place].text in {"-", "–", "—", "(", ".", "!", "?", "\n"}
        for place in range(last + 1, index)
    )


def phrase_at(clause: Clause, index: int) -> str:
    """A few words from here on, to quote."""
    said = [
        clause.words[place].said
        for place in range(index, min(index + 4, clause.span.stop))
        if clause.words[place].kind != "mark" or place == index
    ]
    return " ".join(said)


def glued(clause: Clause, index: int) -> str:
    """A sign with the words that stick to it."""
    end = index + 1
    while end < clause.span.stop and clause.words[end].start == clause.words[end - 1].end:
        end += 1
    return "".join(word.said for word in clause.words[index:end])


def merged(doubts: Sequence[Doubt]) -> tuple[Doubt, ...]:
    """One doubt of each kind and field is enough; the first words speak for the rest."""
    kept: dict[tuple[str, str], Doubt] = {}
    for doubt in doubts:
        kept.setdefault((doubt.kind, doubt.field), doubt)
    return (*kept.values(),)


def quoted(words: Sequence[Word], indexes: Sequence[int], vocabulary: Vocabulary) -> Iterator[str]:
    """Stretches of words that were not used, as they were said; small words alone are not worth telling."""
    stretch: list[int] = []
    for index in [*indexes, -1]:
        if stretch and index != stretch[-1] + 1:
            bare = [words[i].bare for i in stretch]
            if any(
                text not in vocabulary.small and words[i].kind != "mark"
                for i, text in zip(stretch, bare, strict=True)
            ):
                yield " ".join(words[i].said for i in stretch).strip(" ,.;-–—")
            stretch = []
        stretch.append(index)


def gates(
    words: Sequence[Word], roles: Mapping[int, str], used: Collection[int], vocabulary: Vocabulary
) -> tuple[str, str]:
    """(destructive words, words of the gate) that nothing has claimed, anywhere in the sentence."""
    wipes = _first(
        words,
        vocabulary.destructive,
        {i for i in range(len(words)) if i in used or roles.get(i) in {"name", "reason", "time"}},
    )
    gate = _first(
        words,
        vocabulary.risk["gate"],
        {i for i in range(len(words)) if i in used or roles.get(i) in {"name", "time"}},
    )
    return wipes or _parted(words, used), gate


OFF = {
    "turn": {"off"},
    "switch": {"off"},
    "take": {"down"},
    "bring": {"down"},
    "tear": {"down"},
    "pull": {"down"},
    "shut": {"down", "off"},
}


def _parted(words: Sequence[Word], used: Collection[int]) -> str:
    """“turn checkout off”, “take auth-service down”, but not “bring checkout down to 2”."""
    for index, word in enumerate(words):
        for end in (
            range(index + 1, min(index + 8, len(words))) if word.text in OFF and index not in used else ()
        ):
            onward = end + 1 < len(words) and words[end + 1].text in {"to", "by", "from"}
            if words[end].text in OFF[word.text] and not onward:
                return f"{word.said} {words[end].said}"
    return ""


def _first(words: Sequence[Word], known, free: Collection[int]) -> str:  # type: ignore[no-untyped-def]
    for index in range(len(words)):
        length = known.at(words, index)
        if length and index not in free:
            return " ".join(word.said for word in words[index : index + length])
    return ""
