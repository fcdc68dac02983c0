"""Text from outside, made inert: what people, workers and models write is data, wherever it is shown."""

import unicodedata

from bot.look_alikes import marked

# Letters, marks and signs by category that are drawn as nothing: joiners, fillers, the empty Braille pattern.
BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")


def inert(text: str) -> str:
    """Without control, invisible and direction-changing characters. Newlines stay."""
    return "".join(ch for ch in text if ch == "\n" or not _hidden(ch))


def hidden(text: str) -> list[str]:
    """Each character of it that nobody can see; lines and their indentation are seen."""
    return [ch for ch in dict.fromkeys(text) if ch not in "\n\t" and _hidden(ch)]


def legible(text: str) -> str:
    """The same for people to read: a letter that passes for another one is shown with its code point."""
    return marked(inert(text))


def clip(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _hidden(ch: str) -> bool:
    # Variation selectors are marks by category, and can carry whole hidden messages.
    selector = "\ufe00" <= ch <= "\ufe0f" or "\U000e0100" <= ch <= "\U000e01ef"
    return selector or ch in BLANK or unicodedata.category(ch) in {"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"}
