"""Whether a clause asks: by its first word, or by the mark at its end. “Can you …?” is a wish."""

from collections.abc import Sequence

from bot.planner.language.document import Sentence, World
from bot.planner.language.lexicon.vocabulary import split
from bot.planner.language.lexicon.words import Word
from bot.planner.language.meaning.clauses import Part

ASKS = frozenset(
    split(
        "what, what's, why, how, how's, who, who's, whose, which, when, when's, where, where's, "
        "is, are, am, was, were, does, did, has, had, can, could, should, would, will, may, might, "
        "shall, wie, was, warum, wann, wo, wer, welche, welcher, welches, ist, sind, läuft, gibt, "
        "qué, cuál, cómo, cuándo, quién, dónde, está, cuántas, cuántos"
    )
)  # fmt: skip


PRONOUNS = frozenset(
    [
        "we",
        "i",
        "you",
        "they",
        "he",
        "she",
        "it",
        "anyone",
        "anybody",
        "someone",
        "somebody",
        "there",
        "people",
        "wir",
        "ich",
        "sie",
    ]
)


AUXILIARY = frozenset({"do", "have", "don't", "does", "did"})


MODAL = frozenset(
    f"{modal} {who}"
    for modal in ("can", "could", "would", "will", "may", "might", "do", "have")
    for who in ("you", "u", "someone", "somebody", "anyone", "anybody", "one", "any", "y'all", "sb", "smb")
) | frozenset(
    split(
        "can we, could we, would we, might we, might i, can i, could i, may i, let's, would it, is it, "
        "you could, any chance, be able, who can"
    )
)


def asks_something(sentence: Sentence, part: Part, parts: Sequence[Part], world: World) -> bool:
    """Whether a clause asks: by its first word, or by its sentence's mark. “Can you …?” is a wish."""
    words = [i for i in part.span if sentence.words[i].kind != "mark"]
    polite = [i for i in words if sentence.roles.get(i) == "polite" and _modal(sentence.words, i)]
    if _wants_to_know(sentence, words):
        return True
    later = [one for one in parts if one.span.start >= part.span.start]
    mark = next((one.ends for one in later if one.ends), "")
    if polite or any(_modal_before(sentence, part, parts)):
        return False
    first = next(
        (i for i in words if sentence.roles.get(i) not in {"polite", "mention", "emoji", "time", "ticket"}),
        -1,
    )
    if first >= 0 and _asks(sentence.words, first) and not _told_of(sentence, first):
        return mark == "?" or not _bound(sentence, part, first, world)
    return mark == "?"


def _told_of(sentence: Sentence, first: int) -> bool:
    """“someone should really check …”: says what somebody is to do, and asks nothing."""
    before = sentence.words[first - 1].text if first else ""
    return sentence.words[first].text in {"should", "must"} and before in {"someone", "somebody"}


KNOWING = frozenset(
    split(
        "know, knows, tell, wonder, wondering, curious, see, explain, clarify, understand, remember, "
        "learn, sure"
    )
)
INDIRECT = frozenset(split("what, what's, which, how, how's, when, where, who, whether, if"))


def _wants_to_know(sentence: Sentence, words: Sequence[int]) -> bool:
    """“I'd like to know how … is doing”: a question inside a wish, before anything else was said."""
    for place, index in enumerate(words[:-1]):
        if sentence.roles.get(index) in {"name", "value"}:
            return False
        if sentence.roles.get(index) == "polite" and sentence.words[index].text != "know":
            continue  # “I was wondering whether you could …”
        follow = [sentence.words[i].text for i in words[place + 1 : place + 4]]
        follow = [text for text in follow if text not in {"me", "us", "out"}]
        if sentence.words[index].text in KNOWING and follow and follow[0] in INDIRECT:
            return True
    return False


def _bound(sentence: Sentence, part: Part, first: int, world: World) -> bool:
    """“when it is ready restart …”: no question, but a wish that is bound to something."""
    if sentence.words[first].text != "when":
        return False
    return any(
        world.grammar.intents[hit.intent].changes
        and (hit.role, hit.form) == ("verb", "base")
        and hit.start in part.span
        and sentence.words[hit.start - 1].text not in {*PRONOUNS, *ASKS, "to", "the", "a", "last", "next"}
        for hit in sentence.hits
    )


def _modal(words: Sequence[Word], index: int) -> bool:
    pair = " ".join(word.text for word in words[index : index + 2])
    return pair in MODAL or words[index].text in {
        "kannst",
        "könntest",
        "puedes",
        "podrías",
        "puede",
        "podría",
        "würdest",
        "mind",
    }


def _modal_before(sentence: Sentence, part: Part, parts: Sequence[Part]) -> list[bool]:
    """“Can you run the tests and then deploy …?”: one modal speaks for the whole sentence."""
    ours: list[Part] = []
    for one in parts:
        if one.span.start >= part.span.start:
            break
        ours = [] if one.ends else [*ours, one]
    return [sentence.roles.get(i) == "polite" and _modal(sentence.words, i) for one in ours for i in one.span]


def _asks(words: Sequence[Word], first: int) -> bool:
    text, after = words[first].text, words[first + 1].text if first + 1 < len(words) else ""
    if text == "what" and after in {"a", "an"} and words[-1].text != "?":
        return False  # “what a nice status page”
    if text in AUXILIARY:
        return after in PRONOUNS
    return text in ASKS
