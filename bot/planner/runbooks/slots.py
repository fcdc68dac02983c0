"""Read the facts of a request into a runbook's slots. Nothing that was said is dropped."""

import re
from typing import Any, Literal

from pydantic import Field

from bot.planner.runbooks.environments import ENVIRONMENTS, environments_of
from bot.planner.runbooks.matching import Pattern, Triggers
from storage.config import SignoffConfig
from storage.contract.capability import Document

FILLER = frozenset(
    {"please", "pls", "the", "a", "an", "to", "on", "in", "of", "for", "with", "and", "our", "into", "from"}
    | {"service", "database", "version", "env", "environment", "suite", "now"}
)
LEADING = (
    r"(?:(?:in|on|to|into|of|for|from|with|using|as|the|an?)\s+)*"  # goes with the name that it leads to
)
NUMBER = r"\d{1,6}"


class Slot(Document):
    """A fact that a runbook needs: a name of the inventory, a choice, a number, or what a pattern takes."""

    inventory: str = ""
    pattern: Pattern = ""
    answer: Pattern = ""  # what a form's answer looks like, where the pattern needs words around it
    choices: tuple[str, ...] = ()
    synonyms: dict[str, str] = Field(default_factory=dict)
    number: bool = False
    kind: Literal["", "version", "percent", "seconds", "path", "file"] = ""
    after: tuple[str, ...] = ()  # a value counts only behind one of these words …
    before: tuple[str, ...] = ()  # … or before one of these
    where: dict[str, Any] = Field(default_factory=dict)  # only inventory entries that say this
    beside: tuple[str, ...] = ()  # counts only where one of these words is said, too
    optional: bool = False  # without a value, the parameters that hold it are left out
    default: str = ""
    ask: str = ""


KINDS = {
    "version": r"v?\d+(\.\d+){0,3}([-+.][0-9A-Za-z.-]+)?",
    "percent": r"\d{1,2}|100",
    "seconds": r"\d{1,5}",
    "path": r"/[\w./-]{0,200}",
    "file": r"[\w.-]{1,255}",
}


def names_of(slot: Slot, config: SignoffConfig) -> list[str]:
    if slot.inventory == ENVIRONMENTS:
        return [*dict.fromkeys((*environments_of(config.inventory), *slot.choices))]
    table = config.inventory.get(slot.inventory, {})
    fitting = [
        name
        for name, entry in table.items()
        if all(entry.get(key) == value for key, value in slot.where.items())
    ]
    return [*fitting, *slot.choices]


def take(slot: Slot, words: str, config: SignoffConfig) -> tuple[str, str]:
    """The slot's value and the words without it."""
    names = [*names_of(slot, config), *slot.synonyms]
    if slot.inventory and not names:
        return "", words
    patterns = [re.escape(name) for name in sorted(names, key=len, reverse=True)] or [slot.pattern or NUMBER]
    found = re.search(rf"(?<![\w.-]){LEADING}({'|'.join(patterns)})(?![\w-]|\.\w)", words, re.I)
    if not found:
        return "", words
    exact = next((name for name in names if name.lower() == found[1].lower()), found[1])
    return slot.synonyms.get(exact, exact), f"{words[: found.start()]} {words[found.end() :]}"


def exact(slot: Slot, value: str, config: SignoffConfig) -> str:
    """A form's answer as the slot's value, or "" when it is none: then it is asked for again."""
    words = " ".join(value.split())
    names = {name.lower(): name for name in names_of(slot, config)}
    names |= {said.lower(): meant for said, meant in slot.synonyms.items()}
    if words.lower() in names or slot.inventory or slot.choices:
        return names.get(words.lower(), "")
    shape = slot.answer or slot.pattern or KINDS.get(slot.kind, NUMBER)
    return words if re.fullmatch(shape, words, re.I) else ""


def leftover(triggers: Triggers, rest: str) -> str:
    """What the request says besides; it must be a time, for nothing that was said is dropped."""
    for trigger in (*triggers.any, *triggers.also, *triggers.ignore):
        rest = re.sub(trigger, " ", rest, count=1, flags=re.I)
    words = [bare for word in rest.replace(",", " ").split() if (bare := word.strip(":;.!>→-"))]
    while words and words[0].lower() in FILLER and not (words[0].lower() == "in" and len(words) > 1):
        words = words[1:]
    while words and words[-1].lower() in FILLER:
        words = words[:-1]
    return " ".join(words)
