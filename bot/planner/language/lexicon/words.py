"""A sentence as words, each with the place where it was said. What is found in it is a span of them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

Kind = Literal["word", "number", "clock", "date", "percent", "url", "path", "mention", "emoji", "mark"]
MOST = 300  # words that are read; a longer sentence is refused, for its end would be lost

TOKEN = re.compile(
    r"(?P<url>[a-z][a-z0-9+.-]*://[^\s>|,]+)"
    r"|(?P<emoji>:(?=[a-z0-9_+'-]*[a-z+1])[a-z0-9_+'-]+:(?!\w|:(?![a-z+]))|[☀-➿←-⇿⬀-⯿\U0001f000-\U0001faff])"
    r"|(?P<mention>(?<!\w)[@#][a-z][\w.-]*)"
    r"|(?P<date>\d{4}-\d{2}-\d{2}(?:t\d{2}:\d{2}(?::\d{2})?(?:z|[+-]\d{2}:?\d{2})?)?(?![\w-]))"
    r"|(?P<percent>\d{1,3}(?:\.\d+)?\s?%)"
    r"|(?P<clock>(?<![\w.:-])(?:\d{1,2}(?::\d{2})?\s?(?:am|pm|a\.m\.?|p\.m\.?)(?![\w.])"
    r"|\d{1,2}:\d{2}(?::\d{2})?(?=z?(?!\w|:\d)))z?)"
    r"|(?P<path>(?<![\w/.)])/[a-z][\w./-]*)"
    r"|(?P<number>(?<![\w.])-?\d+(?:\.\d+)?(?!\w|[.:-]\w|/))"
    r"|(?P<word>[^\W_](?:\w|[-.'/+](?=\w)|(?<=\w)_)*)"
    r"|(?P<mark>\S)",
    re.I,
)
POSSESSIVE = re.compile(r"'s?$")
NOT_POSSESSIVE = frozenset(
    {"let's", "what's", "how's", "who's", "it's", "that's", "where's", "there's", "when's", "here's"}
)


@dataclass(frozen=True)
class Word:
    """One word or mark: as it is compared, as it was said, and where."""

    text: str
    said: str
    start: int
    end: int
    kind: Kind = "word"

    @cached_property
    def bare(self) -> str:
        """Without the 's of “checkout's”."""
        return self.text if self.text in NOT_POSSESSIVE else POSSESSIVE.sub("", self.text)


def words_of(text: str) -> tuple[Word, ...]:
    """The words of a text, at most so many."""
    found = (_word(match) for match in TOKEN.finditer(text))
    return tuple(word for word, _ in zip(found, range(MOST), strict=False))


def _word(match: re.Match[str]) -> Word:
    kind: Kind = match.lastgroup  # type: ignore[assignment] # the groups are the kinds
    text = match[0].lower()
    if kind == "clock":
        text = re.sub(r"\s|\.(?=m)|(?<=m)\.", "", text)
    return Word(
        re.sub(r"\s", "", text) if kind == "percent" else text, match[0], match.start(), match.end(), kind
    )


def phrases(words: Sequence[Word], known: "Phrases", start: int = 0) -> Iterator[tuple[int, int]]:
    """Where known phrases stand, the longest at each place: (first word, the one behind the last)."""
    index = start
    while index < len(words):
        length = known.at(words, index)
        if length:
            yield index, index + length
        index += length or 1


class Phrases:
    """Phrases without gaps, looked up by their words."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.known = {tuple(text.split()) for text in texts}
        self.longest = max((len(one) for one in self.known), default=0)

    def at(self, words: Sequence[Word], index: int) -> int:
        """How many words the longest phrase at this place has; 0 where there is none."""
        for length in range(min(self.longest, len(words) - index), 0, -1):
            if tuple(word.text for word in words[index : index + length]) in self.known:
                return length
        return 0

    def __contains__(self, text: str) -> bool:
        return (text,) in self.known
