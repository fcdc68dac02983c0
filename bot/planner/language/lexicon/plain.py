"""Slack's markup taken off, and decoration given a role. Nothing is deleted: risk may hide in it."""

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from bot.planner.language.lexicon.courtesies import closed, courtesies
from bot.planner.language.lexicon.vocabulary import Vocabulary
from bot.planner.language.lexicon.words import Word, phrases, words_of
from bot.untrusted import inert

HIDDEN = "It holds characters that cannot be seen. Please type it again as plain words."
EMOJI_JOINER = re.compile(r"(?<=[☀-➿⬀-⯿\U0001f000-\U0001faff])[\ufe0f\u200d]")
LINK = re.compile(r"<(?P<to>(?:https?|mailto)[^|>]*)(?:\|(?P<said>[^>]*))?>")
PERSON = re.compile(r"<@([UW]\w+)(?:\|[^>]*)?>")
CHANNEL = re.compile(r"<#\w+(?:\|([^>]*))?>")
CALL = re.compile(r"<!(\w+)[^>]*>")
TAG = re.compile(r"</?[a-z][^<>]*>", re.I)
QUOTED = re.compile(r"^\s*(?:>|&gt;)", re.M)
SAID = re.compile(r"[\"“„«]+([^\"”“»]+)[\"”“»]+")  # somebody's words, if they are more than a name
STRUCK = re.compile(r"(?<!\w)~\S[^~\n]*~(?!\w)")
TICK_INSIDE = re.compile(r"\w`+\w[^`]*`|`[^`]*\w`+\w")
EMPHASIS = re.compile(r"(?<![\w*_])([*_])(?=\S)(.+?)(?<=\S)\1(?![\w*_])")
LINE = "\x00"  # a line's end; nobody can say it, for what is hidden was refused before
BULLET = re.compile(r"^[ ]*(?:[-*•–]|\(?\d{1,2}[.)])[ ]+(?=\S)", re.M)
ARROW = re.compile(r"(?<=\s)(?:-+>|=>|→|➡️?)(?=\s)")
TICKET = re.compile(r"^[A-Z][A-Z0-9]{1,9}-\d{1,6}$")
POINTERS = frozenset(
    {
        "cc",
        "fyi",
        "see",
        "ref",
        "refs",
        "per",
        "re",
        "ticket",
        "issue",
        "jira",
        "fixes",
        "closes",
        "for",
        "from",
        "via",
        "by",
        "and",
    }
)
REFERENCES = frozenset({"build", "pr", "issue", "ticket", "pipeline", "incident", "case"})
REASON_ENDS = frozenset(
    {
        "but",
        "then",
        "except",
        "unless",
        "however",
        "if",
        "only",
        "instead",
        "aber",
        "außer",
        "falls",
        "wenn",
        "pero",
        "excepto",
        "si",
        "not",
        "without",
        "until",
        "before",
        "after",
    }
)
TELLERS = frozenset(
    {"it", "it's", "users", "customers", "we", "we're"}
)  # a sentence of its own, not a reason
ASKING = frozenset({"do", "did", "does", "can", "should", "would"})
NAMED = 2  # words in quotes that may be a name
STOPS = frozenset({".", "!", "?", ";", "(", ")", "\n"})


@dataclass(frozen=True)
class Doubt:
    """Something that was said and not understood: `kind` says how, `field` what is asked instead."""

    kind: str
    said: str
    field: str = ""
    why: str = ""


@dataclass(frozen=True)
class Plain:
    """The words without markup. `lines` are the places where a line ends."""

    text: str
    words: tuple[Word, ...]
    doubts: tuple[Doubt, ...] = ()


def plain(text: str) -> Plain:
    """Take the markup off. What hides, is struck out, quoted or tagged is a doubt."""
    said = EMOJI_JOINER.sub("", text.replace("’", "'").replace("‘", "'").replace("\t", " ").replace("\r", ""))
    if inert(said) != said:
        return Plain(inert(said), words_of(inert(said)), (Doubt("hidden", "", why=HIDDEN),))
    doubts = [*_doubts(said)]
    bare = _unescaped(said)
    if TAG.search(bare):
        doubts.append(Doubt("symbols", TAG.search(bare)[0]))  # type: ignore[index] # it was found just before
    bare = ARROW.sub(" to ", bare)
    bare = EMPHASIS.sub(r" \2 ", bare.replace("`", " ").replace("“", '"').replace("”", '"').replace("„", '"'))
    return Plain(bare, _lined(bare), tuple(doubts))


def _doubts(said: str) -> list[Doubt]:
    found = []
    if QUOTED.search(said):
        found.append(Doubt("frame", said.strip()[:60]))
    quoted = (found[1] for found in SAID.finditer(said))
    found += [Doubt("frame", one.strip()[:60]) for one in quoted if len(one.split()) > NAMED][:1]
    if struck := STRUCK.search(said):
        found.append(Doubt("negation", struck[0]))
    if TICK_INSIDE.search(said.replace("```", " ")):
        found.append(Doubt("symbols", "`"))
    return found


def _unescaped(said: str) -> str:
    said = PERSON.sub(r" @\1 ", said)
    said = CHANNEL.sub(r" #\1 ", said)
    said = CALL.sub(r" @\1 ", said)
    said = LINK.sub(lambda found: f" {found['said'] or found['to']} ", said)
    for name, sign in (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")):
        said = said.replace(name, sign)
    return said


def _lined(text: str) -> tuple[Word, ...]:
    """The words; a line's end is a mark of its own, for it ends a sentence."""
    marked = re.sub(r"[ ]*\n[\s]*", f" {LINE} ", BULLET.sub("", text.strip()))
    return tuple(
        Word("\n", "\n", word.start, word.end, "mark") if word.text == LINE else word
        for word in words_of(marked)
    )


def courtesy(
    words: Sequence[Word], taken: Mapping[int, str], vocabulary: Vocabulary, begins: Collection[str] = ()
) -> dict[int, str]:
    """The role of each word that only decorates: polite, mention, ticket, emoji, reason."""
    roles: dict[int, str] = {}
    for index, word in enumerate(words):
        if index not in taken and (role := _lone(words, index, word, vocabulary)):
            roles[index] = role
    roles |= _pointed(words, roles)
    roles |= _polite(words, roles, taken, vocabulary, begins)
    roles |= _signed(words, roles, taken, vocabulary)
    kept = {index: role for index, role in roles.items() if role in {"mention", "ticket", "emoji"}}
    return roles | _reasons(words, taken, vocabulary) | kept


def _polite(
    words: Sequence[Word],
    roles: Mapping[int, str],
    taken: Mapping[int, str],
    vocabulary: Vocabulary,
    begins: Collection[str],
) -> dict[int, str]:
    """Courtesy, listed or built; one that begins with “if” only where nothing hangs on it."""
    risky = [span for known in vocabulary.risk.values() for span in phrases(words, known)]
    listed = [
        range(start, end)
        for start, end in phrases(words, vocabulary.polite)
        if not any(first <= start and end <= last and last - first > end - start for first, last in risky)
        and not any(index in taken for index in range(start, end))
    ]
    spans = [*listed, *courtesies(words, taken)]
    made = {i: "polite" for span in spans for i in span}
    between = [i for i, word in enumerate(words) if word.text in {"&", "and", "+", "n"}]
    made |= {i: "polite" for i in between if made.get(i - 1) == made.get(i + 1) == "polite"}
    for span in spans:
        others = {i: role for i, role in (made | dict(roles)).items() if i not in span}
        if not closed(words, span, others, begins):
            made = {i: role for i, role in made.items() if i not in span}
    return made


SIGNED = 3  # words of a name at the end


def _signed(
    words: Sequence[Word], roles: Mapping[int, str], taken: Mapping[int, str], vocabulary: Vocabulary
) -> dict[int, str]:
    """“Regards, Ann”: who signs at the very end, behind a courtesy."""
    start = len(words)
    while start and words[start - 1].kind in {"word", "mark"} and roles.get(start - 1) != "polite":
        start -= 1
    names = [i for i in range(start, len(words)) if words[i].kind == "word"]
    closes = start > 1 and words[start - 1].text in CLOSINGS and words[start : start + 1] and names
    risky = any(words[i].text in known for known in vocabulary.risk.values() for i in names)
    plain_ = all(words[i].said.istitle() and i not in taken for i in names) and not risky
    return dict.fromkeys(names, "polite") if closes and plain_ and len(names) <= SIGNED else {}


CLOSINGS = frozenset(
    {"regards", "cheers", "best", "thanks", "thx", "you", "grüße", "saludos", "yours", "love"}
)


def _lone(words: Sequence[Word], index: int, word: Word, vocabulary: Vocabulary) -> str:
    if word.kind == "mention":
        return "mention"
    if word.kind == "emoji":
        return "" if negative(word, vocabulary) else "emoji"
    if TICKET.match(word.said):
        return "ticket"
    if index > 0 and words[index - 1].text in REFERENCES and word.kind == "number":
        return "ticket"
    if word.text in {"[", "]"} and any(
        0 <= i < len(words) and TICKET.match(words[i].said) for i in (index - 1, index + 1)
    ):
        return "ticket"
    hashed = word.kind == "number" and index > 0 and words[index - 1].text == "#"
    return "ticket" if hashed or (word.text == "#" and _number(words, index + 1)) else ""


def negative(word: Word, vocabulary: Vocabulary) -> bool:
    """Whether an emoji says no."""
    return word.text.strip(":") in vocabulary.negative or word.text in {
        "❌",
        "🚫",
        "🛑",
        "⛔",
        "👎",
        "✖",
        "✋",
        "🙅",
    }


def _number(words: Sequence[Word], index: int) -> bool:
    return index < len(words) and words[index].kind == "number"


def _pointed(words: Sequence[Word], roles: Mapping[int, str]) -> dict[int, str]:
    """“cc @bob”, “for OPS-12”: the small word that leads to what decorates."""
    found: dict[int, str] = {}
    for index in sorted(roles, reverse=True):
        before = index - 1
        while (
            before >= 0
            and (words[before].text in POINTERS or words[before].text in {"/", ":", "#"})
            and before not in roles
        ):
            found[before] = roles[index]
            before -= 1
    return {index: role for index, role in found.items() if role in {"mention", "ticket"}}


def _reasons(words: Sequence[Word], taken: Mapping[int, str], vocabulary: Vocabulary) -> dict[int, str]:
    """Why somebody wants it: to the end of the sentence, or to a word that begins something else."""
    roles: dict[int, str] = {}
    for start, end in phrases(words, vocabulary.reasons):
        opens = start == 0 or words[start - 1].text in STOPS
        asked = start > 0 and words[start - 1].text in ASKING | {
            "well"
        }  # “why do we see …?”, “as well as the”
        if start in roles or start in taken or asked or (opens and words[start].text in TELLERS):
            continue
        stop = end
        while stop < len(words) and not _ends_reason(words, stop, vocabulary, opens=opens):
            stop += 1
        roles |= dict.fromkeys(range(start, stop), "reason")
    return roles


def _ends_reason(words: Sequence[Word], index: int, vocabulary: Vocabulary, *, opens: bool) -> bool:
    word = words[index]
    if opens and word.text == ":":
        return True  # “as discussed: back up …”
    if word.text in STOPS or word.text in REASON_ENDS - {"not"}:
        return True
    led = index > 0 and words[index - 1].text in {",", "and", "-", "–", "—"}
    return led and (
        word.text in {"not", "no", "never", "don't", "also"} or unicodedata.category(word.text[0]) == "Nd"
    )
