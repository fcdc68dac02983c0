"""What people say for a thing: verb families, nouns, small words, words that carry risk. One shipped file."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from bot.given_once import yaml_of
from bot.planner.language.lexicon.words import Phrases
from storage.config import Words

FILE = Path(__file__).parent / "vocabulary.yml"
GAP = "…"
VOWELS = "aeiou"


@dataclass(frozen=True)
class Vocabulary:
    """Every list of the file, ready to be looked up."""

    verbs: Mapping[str, tuple[str, ...]]
    nouns: Mapping[str, tuple[str, ...]]
    environments: Mapping[str, tuple[str, ...]]
    kinds: Mapping[str, frozenset[str]]
    risk: Mapping[str, Phrases]
    light: frozenset[str]
    asking: Phrases
    polite: Phrases
    small: frozenset[str]
    prepositions: frozenset[str]
    destructive: Phrases
    frames: frozenset[str]
    told: frozenset[str]
    reasons: Phrases
    negative: frozenset[str]
    ordinary: frozenset[str]
    lights: Phrases = field(default_factory=lambda: Phrases(()))


def split(listed: Any) -> tuple[str, ...]:
    """“a, b c” and lists of such lines, as phrases."""
    lines = [listed] if isinstance(listed, str) else listed or ()
    return tuple(
        dict.fromkeys(one.strip().lower() for line in lines for one in str(line).split(",") if one.strip())
    )


@cache
def shipped() -> Vocabulary:
    return vocabulary({})


def vocabulary(more: Words) -> Vocabulary:
    """The shipped words, and what an installation adds to its families."""
    found = yaml_of(FILE.read_text(encoding="utf-8"), ours=True)
    for group, families in more.items():
        for head, added in families.items():
            found[group][head] = [*split(found[group].get(head, ())), *added]
    groups = {
        name: {head: split(said) for head, said in found[name].items()}
        for name in ("verbs", "nouns", "environments")
    }
    return Vocabulary(
        **groups,
        kinds={head: frozenset(split(said)) for head, said in found["kinds"].items()},
        risk={head: Phrases(split(said)) for head, said in found["risk"].items()},
        light=frozenset(split(found["light"])),
        asking=Phrases(split(found["asking"])),
        polite=Phrases(split(found["polite"])),
        small=frozenset(split(found["small"])),
        prepositions=frozenset(split(found["prepositions"])),
        destructive=Phrases(split(found["destructive"])),
        frames=frozenset(split(found["frames"])),
        told=frozenset(split(found["told"])),
        reasons=Phrases(split(found["reasons"])),
        negative=frozenset(split(found["negative_emoji"])),
        ordinary=frozenset(split(found["ordinary"])),
        lights=Phrases(split(found["light"])),
    )


@cache
def forms(word: str) -> dict[str, str]:
    """A verb's inflections, and which each is: "base", "s", "ed" or "ing"."""
    made = {word: "base"}
    if not word.isascii() or not word.isalpha() or len(word) < 3:
        return made
    stem = word[:-1] if word.endswith("e") else word
    if word[-1] not in f"{VOWELS}wxy" and word[-2] in VOWELS and word[-3] not in VOWELS and len(word) < 6:
        stem += word[-1]
    past = f"{word[:-1]}ied" if word.endswith("y") and word[-2] not in VOWELS else f"{stem}ed"
    third = (
        f"{word[:-1]}ies"
        if past.endswith("ied")
        else f"{word}es"
        if word.endswith(("s", "sh", "ch", "x"))
        else f"{word}s"
    )
    return made | {third: "s", past: "ed", f"{stem}ing": "ing"} | IRREGULAR.get(word, {})


IRREGULAR: dict[str, dict[str, str]] = {
    "put": {"putting": "ing"},
    "get": {"getting": "ing", "gotten": "ed", "got": "ed"},
    "set": {"setting": "ing"},
    "take": {"taken": "ed", "took": "ed"},
    "bring": {"brought": "ed"},
    "go": {"gone": "ed"},
    "run": {"running": "ing", "ran": "ed"},
    "send": {"sent": "ed"},
    "give": {"given": "ed"},
    "roll": {"rolled": "ed"},
    "make": {"made": "ed"},
    "keep": {"kept": "ed"},
    "find": {"found": "ed"},
    "hit": {"hitting": "ing"},
}
