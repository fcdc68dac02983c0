"""The lists of phrases.yml: what people say in a thread, and the words of a change."""

from functools import cache
from pathlib import Path

from bot.given_once import yaml_of
from bot.planner.language.lexicon.vocabulary import split

FILE = Path(__file__).parent / "phrases.yml"


@cache
def phrases() -> dict[str, tuple[str, ...]]:
    return {name: split(listed) for name, listed in yaml_of(FILE.read_text(encoding="utf-8")).items()}


@cache
def words_of(*names: str) -> frozenset[str]:
    """The words of these lists together."""
    return frozenset(word for name in names for word in phrases()[name])
