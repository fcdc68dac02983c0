"""Runbooks: plans with slots, chosen by triggers an operator wrote. Without a model they are the planner."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import AfterValidator, Field, ValidationError

from storage.config import SignoffConfig
from storage.contract import Document
from storage.errors import BadConfig, SignoffError
from storage.spec import PlanSpec

SHIPPED = Path(__file__).parent / "shipped"
NEGATION = re.compile(r"\b(don'?t|do not|never|without|stop|cancel|no)\b", re.I)
QUESTION = re.compile(
    r"\?\s*$|^\s*(what|why|how|who|when|where|is|are|does|do|did|can|could|should|would)\b", re.I
)
FILLER = frozenset(
    {"please", "pls", "the", "a", "an", "to", "on", "in", "of", "for", "with", "and", "our"}
    | {"service", "database", "version", "env", "environment", "suite"}
)


class NoPlan(SignoffError):
    """The request does not become a plan; the sentence says why and what to try."""


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"'{text}' is not a pattern: {error}") from None
    return text


Pattern = Annotated[str, AfterValidator(_pattern)]


class Triggers(Document):
    """Patterns: one of `any` must match, every one of `also`, none of `none`."""

    any: tuple[Pattern, ...]
    also: tuple[Pattern, ...] = ()
    none: tuple[Pattern, ...] = Field(default=(), alias="not")


class Slot(Document):
    """A fact that a runbook needs from the request."""

    inventory: str = ""
    pattern: Pattern = ""
    choices: tuple[str, ...] = ()
    default: str = ""
    ask: str = ""


class Runbook(Document):
    """A reusable plan."""

    id: str
    title: str
    examples: tuple[str, ...]
    triggers: Triggers
    slots: dict[str, Slot]
    plan: dict[str, Any]


@dataclass(frozen=True)
class Planned:
    """A plan document and where it came from."""

    spec: PlanSpec
    note: str


def read(paths: Iterable[Path]) -> list[Runbook]:
    """Every runbook of these folders; a broken one is named."""
    files = sorted(file for path in paths for file in path.glob("*.yml"))
    return [_read(file) for file in files]


def _read(file: Path) -> Runbook:
    try:
        return Runbook.model_validate(yaml.safe_load(file.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, yaml.YAMLError, ValidationError) as error:
        raise BadConfig(f"The runbook {file.name} cannot be used: {error}") from None


def plan(text: str, runbooks: Sequence[Runbook], config: SignoffConfig) -> Planned:
    """The plan of the one runbook whose triggers match; NoPlan otherwise."""
    words = " ".join(text.split())
    if NEGATION.search(words) or QUESTION.search(words):
        raise NoPlan(
            f"I plan only what is plainly asked for; “{words}” is a question or says not to. {_try(runbooks)}"
        )
    found = [book for book in runbooks if _triggered(book, words)]
    if len(found) != 1:
        which = " or ".join(book.title.lower() for book in found)
        what = f"That could mean: {which}. Please say which." if found else "I have no runbook for that."
        raise NoPlan(f"{what} {_try(runbooks)}")
    return _fill(found[0], words, config)


def _triggered(book: Runbook, words: str) -> bool:
    def hits(patterns: Sequence[str]) -> list[bool]:
        return [bool(re.search(pattern, words, re.I)) for pattern in patterns]

    triggers = book.triggers
    return any(hits(triggers.any)) and all(hits(triggers.also)) and not any(hits(triggers.none))


def _fill(book: Runbook, words: str, config: SignoffConfig) -> Planned:
    values, rest, missing = {}, words, []
    for name, slot in book.slots.items():
        value, rest = _take(slot, rest, config)
        if value:
            values[name] = value
        else:
            missing.append(slot.ask or f"Which {name}?")
    if missing:
        raise NoPlan(f"{' '.join(missing)} For example: `/plan {book.examples[0]}`")
    values |= {"when": _leftover(book, rest)} | _fields(book, values, config)
    if values["when"] and not _uses_when(book):
        raise NoPlan(
            f"I do not know what “{values['when']}” means here. For example: `/plan {book.examples[0]}`"
        )
    return Planned(PlanSpec.model_validate(_replaced(book.plan, values)), f"from the runbook “{book.title}”")


def _take(slot: Slot, words: str, config: SignoffConfig) -> tuple[str, str]:
    """The slot's value and the words without it."""
    names = [*config.inventory.get(slot.inventory, ()), *slot.choices]
    patterns = [re.escape(name) for name in sorted(names, key=len, reverse=True)] or [slot.pattern]
    found = re.search(rf"(?<![\w.-])({'|'.join(patterns)})(?![\w-]|\.\w)", words, re.I)
    if not found:
        return slot.default, words
    exact = next((name for name in names if name.lower() == found[1].lower()), found[1])
    return exact, f"{words[: found.start()]} {words[found.end() :]}"


def _leftover(book: Runbook, rest: str) -> str:
    """What the request says besides; it must be a time, for nothing that was said is dropped."""
    for trigger in (*book.triggers.any, *book.triggers.also):
        rest = re.sub(trigger, " ", rest, count=1, flags=re.I)
    words = rest.replace(",", " ").split()
    while words and words[0].lower() in FILLER and not (words[0].lower() == "in" and len(words) > 1):
        words = words[1:]
    while words and words[-1].lower() in FILLER:
        words = words[:-1]
    return " ".join(words)


def _uses_when(book: Runbook) -> bool:
    return "{when}" in repr(book.plan)


def _fields(book: Runbook, values: Mapping[str, str], config: SignoffConfig) -> dict[str, str]:
    """`{service.database}`: what the inventory says of a slot's value."""
    return {
        f"{name}.{field}": value
        for name, slot in book.slots.items()
        if slot.inventory
        for field, value in config.inventory.get(slot.inventory, {}).get(values[name], {}).items()
        if isinstance(value, str)
    }


def _replaced(value: Any, slots: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return re.sub(r"\{([\w.]+)\}", lambda found: _slot(found[1], slots), value)
    if isinstance(value, dict):
        return {key: _replaced(inner, slots) for key, inner in value.items()}
    return [_replaced(inner, slots) for inner in value] if isinstance(value, list) else value


def _slot(name: str, slots: Mapping[str, str]) -> str:
    if name not in slots:
        table, _, field = name.partition(".")
        raise NoPlan(f"The inventory says no “{field}” for this {table}; please add it in signoff.toml.")
    return slots[name]


def _try(runbooks: Sequence[Runbook]) -> str:
    examples = [f"`/plan {book.examples[0]}`" for book in runbooks[:4]]
    return "Try: " + ", ".join(examples) if examples else "No runbooks are configured."
