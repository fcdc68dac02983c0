"""Text from outside, made inert: what people, workers and models write is data, wherever it is shown."""

import unicodedata

from bot.look_alikes import marked


def inert(text: str) -> str:
    """Without control, invisible and direction-changing characters. Newlines stay."""
    return "".join(ch for ch in text if ch == "\n" or not _hidden(ch))


def legible(text: str) -> str:
    """The same for people to read: a letter that passes for another one is shown with its code point."""
    return marked(inert(text))


def clip(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _hidden(ch: str) -> bool:
    # Variation selectors are marks by category, and can carry whole hidden messages.
    selector = "\ufe00" <= ch <= "\ufe0f" or "\U000e0100" <= ch <= "\U000e01ef"
    return selector or unicodedata.category(ch) in {"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"}
