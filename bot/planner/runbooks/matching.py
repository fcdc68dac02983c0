"""Which runbook a request means. Triggers that an operator wrote decide; a ranking only offers."""

import re
from collections.abc import Iterable, Sequence
from typing import Annotated

from pydantic import AfterValidator, Field

from storage.config import SignoffConfig
from storage.contract.capability import Document

NEGATION = re.compile(
    r"\b(do not|not|never|without|stop|cancel|no|none|nothing|nobody|avoid|refrain|hold off|instead|except"
    r"|unless|skip(ping)?|abort|ignore|forget|dont|wont|cant|shouldnt|doesnt|didnt|isnt|cannot|rather than)\b"
    r"|n['’‘]t\b",
    re.I,
)
QUESTION = re.compile(
    r"[?？]|^\W*(please |pls )?(what|why|how|who|whose|which|when|where|is|are|am|was|were|does|do|did|has"
    r"|have|had|can|could|should|would|will|may|might|shall|if|suppose|imagine|explain|describe|tell"
    r"|i wonder)\b",
    re.I,
)
COMMON = frozenset(
    {
        "a",
        "an",
        "and",
        "at",
        "by",
        "for",
        "from",
        "in",
        "into",
        "of",
        "on",
        "our",
        "please",
        "the",
        "then",
        "to",
        "with",
    }
)
OFFERED = 3
NEAR = 0.2  # share of words in common below which nothing is worth offering
NAME = "□"


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"'{text}' is not a pattern: {error}") from None
    return text


Pattern = Annotated[str, AfterValidator(_pattern)]


def _bounded(patterns: tuple[str, ...]) -> tuple[str, ...]:
    """What a trigger takes is not read again, so it must not take words that it does not name."""
    for pattern in patterns:
        if re.search(r"[.\]][*+]|\\[wSWD][*+]", re.sub(r"\(\?<?[=!].*\)", "", pattern)):
            raise ValueError(f"'{pattern}' would swallow words; name them, or look ahead with (?=…)")
    return patterns


Taken = Annotated[tuple[Pattern, ...], AfterValidator(_bounded)]


class Triggers(Document):
    """One of `any` must match, every one of `also`, none of `not`; `ignore` may be said and means nothing."""

    any: Taken
    also: Taken = ()
    none: tuple[Pattern, ...] = Field(default=(), alias="not")
    ignore: Taken = ()

    def hit(self, words: str) -> bool:
        return (
            any(_hits(self.any, words)) and all(_hits(self.also, words)) and not any(_hits(self.none, words))
        )


def unplannable(words: str) -> bool:
    """Whether this is a question, or says not to: such a request never becomes a plan."""
    return bool(NEGATION.search(words) or QUESTION.search(words))


def masked(words: str, config: SignoffConfig) -> str:
    """Without the compound names of the inventory: `restart backup-service` asks for no backup."""
    names = {name for table in config.inventory.values() for name in table if re.search(r"\W|_|\d", name)}
    for name in sorted(names, key=len, reverse=True):
        words = re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.\w)", NAME, words, flags=re.I)
    return words


def ranked(words: str, texts: Sequence[tuple[str, Iterable[str]]]) -> list[str]:
    """The ids whose texts share most words with the request, best first; never a choice, only an offer."""
    said = _stems(words)
    scores = {key: max((_alike(said, _stems(text)) for text in known), default=0.0) for key, known in texts}
    best = sorted(scores, key=lambda key: (-scores[key], key))
    return [key for key in best if scores[key] >= NEAR][:OFFERED]


def _hits(patterns: Sequence[str], words: str) -> list[bool]:
    return [bool(re.search(pattern, words, re.I)) for pattern in patterns]


def _stems(text: str) -> set[str]:
    words = set(re.findall(r"[a-z]{2,}", text.lower())) - COMMON
    return {re.sub(r"(?<=\w{3})(ing|ed|s|e)$", "", word) for word in words}


def _alike(one: set[str], other: set[str]) -> float:
    return len(one & other) / len(one | other) if one | other else 0.0
