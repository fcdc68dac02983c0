"""Runbooks: plans with slots, chosen by triggers an operator wrote. Without a model they are the planner."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

import yaml
from pydantic import Field, ValidationError, model_validator

from bot.given_once import GivenTwice, yaml_of
from bot.planner.language.lexicon.vocabulary import shipped
from bot.planner.runbooks.asks import Asks
from bot.planner.runbooks.matching import Triggers, ranked
from bot.planner.runbooks.questions import Field as FormField
from bot.planner.runbooks.questions import Missing, Offer
from bot.planner.runbooks.questions import NoPlan as NoPlan  # whoever plans by runbook catches it
from bot.planner.runbooks.slots import Slot, exact, leftover, names_of, take
from bot.times.recurrence import Every
from storage.config import SignoffConfig
from storage.contract.capability import Document
from storage.contract.spec import PlanSpec
from storage.errors import BadConfig

OUTLINED = 100  # runbooks that a model reads
SHIPPED = Path(__file__).parent / "shipped"


class Example(Document):
    """A request that must become this runbook's plan, and what each slot must then hold."""

    say: str
    slots: dict[str, str] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _plain(cls, given: Any) -> Any:
        return {"say": given} if isinstance(given, str) else given

    def __str__(self) -> str:
        return self.say


class Runbook(Document):
    """A reusable plan. `never` are requests that must not choose it."""

    id: str
    title: str
    examples: tuple[Example, ...]
    never: tuple[str, ...] = ()
    asks: Asks | None = None
    triggers: Triggers | None = None  # patterns, as older files have them
    slots: dict[str, Slot]
    plan: dict[str, Any]

    @model_validator(mode="after")
    def _one_way_to_ask(self) -> Self:
        if (self.asks is None) == (self.triggers is None):
            raise ValueError("a runbook has either `asks` (words) or `triggers` (patterns)")
        return self

    @model_validator(mode="after")
    def _says_what_it_destroys(self) -> Self:
        """“clear checkout” must not be taken for “clear the cache of checkout”."""
        asks = self.asks or Asks()
        said = [verb for head in (*asks.verbs, *asks.also) for verb in shipped().verbs.get(head, (head,))]
        harsh = [verb for verb in said if verb in shipped().destructive]
        if harsh and not asks.requires:
            raise ValueError(f"“{harsh[0]}” destroys: say in `requires` which words must come with it")
        return self


@dataclass(frozen=True)
class Planned:
    """A plan document and where it came from."""

    spec: PlanSpec
    note: str
    runbook: str = ""
    slots: tuple[tuple[str, str], ...] = ()
    every: Every | None = None  # it shall recur
    notes: tuple[str, ...] = ()  # how words were read, where that is not plain
    unused: tuple[str, ...] = ()  # what was said besides
    question: bool = False  # it was asked, and nothing is wanted but the answer
    instead: str = ""  # why no model made it, where one should have
    unsaid: tuple[str, ...] = ()  # values that the requester did not say, by step: then a person looks

    def told(self) -> tuple[str, ...]:
        """What the card says about how the words were read, and by whom."""
        quoted = ", ".join(f"“{said}”" for said in self.unused)
        stood_in = [f"Planned by the runbooks: {self.instead.rstrip('.')}"] if self.instead else []
        return (*self.notes, *([f"Not used: {quoted}"] if quoted else []), *stood_in)


def read(paths: Iterable[Path]) -> list[Runbook]:
    """Every runbook of these folders; a broken one is named.

    One of a later folder takes the place of an earlier folder's of the same id: operators say it their way.
    """
    known: dict[str, Runbook] = {}
    for path in paths:
        known |= {
            book.id: book
            for file in sorted(path.glob("*.yml"))
            for book in [parse(file.name, _text(file), ours=path == SHIPPED)]
        }
    return [*known.values()]


def parse(name: str, text: str, *, ours: bool = False) -> Runbook:
    try:
        return Runbook.model_validate(yaml_of(text, ours=ours))
    except (yaml.YAMLError, ValidationError, GivenTwice, RecursionError) as error:
        raise BadConfig(f"The runbook {name} cannot be used: {_told(error)}") from None


def _told(error: Exception) -> str:
    """What is wrong, and where, without the words of a library."""
    if isinstance(error, ValidationError):
        wrong = (
            (".".join(map(str, one["loc"])), one["msg"].removeprefix("Value error, "))
            for one in error.errors()
        )
        return "; ".join(f"{place}: {said}" if place else said for place, said in wrong)
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark:
        return f"line {error.problem_mark.line + 1}: {error.problem}"
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadConfig(f"The runbook {file.name} cannot be used: {error}") from None


def offers(words: str, runbooks: Sequence[Runbook]) -> tuple[Offer, ...]:
    """What a person may pick from."""
    best = ranked(words, [(book.id, (book.title, *map(str, book.examples))) for book in runbooks])
    known = {book.id: book for book in runbooks}
    return tuple(Offer(id=key, title=known[key].title, example=str(known[key].examples[0])) for key in best)


def usable(runbooks: Sequence[Runbook], offered: Collection[tuple[str, str]]) -> list[Runbook]:
    """Those whose every call some worker offers; a step that `needs` a fact may be left out anyway."""
    return [book for book in runbooks if _calls(book) <= {*offered}]


def outlines(runbooks: Sequence[Runbook]) -> list[dict[str, Any]]:
    """The runbooks for a model to read, always in the same order: what operators do in such a case."""
    ordered = sorted(runbooks, key=lambda book: book.id)[:OUTLINED]
    return [{"title": b.title, "example": str(b.examples[0]), "plan": b.plan} for b in ordered]


def _calls(book: Runbook) -> set[tuple[str, str]]:
    steps = [*book.plan.get("steps", ()), *book.plan.get("rollback", ())]
    return {(step["worker"], step["action"]) for step in steps if "needs" not in step}


def fill(book: Runbook, text: str, config: SignoffConfig, given: Mapping[str, str]) -> Planned:
    """The runbook's plan for this request; Missing names every fact that it does not say."""
    values, rest = dict[str, str](), " ".join(text.split())
    for name, slot in book.slots.items():
        said, rest = take(slot, rest, config) if book.triggers else ("", rest)
        values[name] = (exact(slot, given[name], config) if given.get(name) else "") or said or slot.default
    _demand(book, values, config)
    when = given.get("when", leftover(book.triggers, rest) if book.triggers else "")
    values |= {"when": "" if when == "now" else when} | _facts(book, values, config)
    if values["when"] and not any(_uses(book, name) for name in ("when", "request")):
        raise NoPlan(
            f"I do not know what “{values['when']}” means here. For example: `/plan {book.examples[0]}`"
        )
    values["request"] = " ".join(text.split())
    spec = PlanSpec.model_validate(_replaced(_needed(book.plan, values), values, book))
    kept = tuple((name, values[name]) for name in (*book.slots, "when"))
    return Planned(spec, f"from the runbook “{book.title}”", book.id, kept)


def form(book: Runbook, text: str, config: SignoffConfig) -> tuple[FormField, ...]:
    """Every fact of a runbook that a person picked: what their words say of it is filled in."""
    values, rest = dict[str, str](), " ".join(text.split())
    for name, slot in book.slots.items():
        said, rest = take(slot, rest, config) if book.triggers else ("", rest)
        values[name] = said or slot.default
    timed = [FormField(name="when", label="When?", kind="time", value="now")] if _uses(book, "when") else []
    return (*fields(book, values, config), *timed)


def fields(book: Runbook, values: Mapping[str, str], config: SignoffConfig) -> tuple[FormField, ...]:
    """The form of a runbook: what is missing first as a question, what is known as it was understood."""
    asked = {name: slot for name, slot in book.slots.items() if not slot.optional or values.get(name)}
    return tuple(_field(name, slot, values.get(name, ""), config) for name, slot in asked.items())


def _field(name: str, slot: Slot, value: str, config: SignoffConfig) -> FormField:
    names = names_of(slot, config)
    numeric = slot.number or slot.kind in {"percent", "seconds"}
    kind: Literal["choice", "number", "text"] = "choice" if names else "number" if numeric else "text"
    label = slot.ask or f"Which {name}?"
    return FormField(name=name, label=label, kind=kind, options=tuple(names), value=value)


def _demand(book: Runbook, values: Mapping[str, str], config: SignoffConfig) -> None:
    asked = [f for f in fields(book, values, config) if not f.value and not book.slots[f.name].optional]
    if asked:
        said = " ".join(field.label for field in asked)
        why = f"{said} For example: `/plan {book.examples[0]}`"
        raise Missing(why, book.id, fields(book, values, config))


def _uses(book: Runbook, name: str) -> bool:
    return f"{{{name}}}" in repr(book.plan)


def _needed(plan: Mapping[str, Any], values: Mapping[str, str]) -> dict[str, Any]:
    """Without the reads that need a fact which the inventory does not have."""
    steps = [step for step in plan.get("steps", ()) if "needs" not in step or step["needs"] in values]
    bare = [{name: value for name, value in step.items() if name != "needs"} for step in steps]
    return {**plan, "steps": bare}


def _facts(book: Runbook, values: Mapping[str, str], config: SignoffConfig) -> dict[str, str]:
    """`{service.database}`: what the inventory says of a slot's value."""
    return {
        f"{name}.{field}": value
        for name, slot in book.slots.items()
        if slot.inventory
        for field, value in config.inventory.get(slot.inventory, {}).get(values[name], {}).items()
        if isinstance(value, str)
    }


def _replaced(value: Any, slots: Mapping[str, str], book: Runbook) -> Any:
    if isinstance(value, str):
        whole = re.fullmatch(r"\{(\w+)\}", value)
        if whole and whole[1] in book.slots and _numeric(book.slots[whole[1]]):
            return int(slots[whole[1]])
        return re.sub(r"\{([\w.]+)\}", lambda found: _slot(found[1], slots), value)
    if isinstance(value, dict):
        left = {key: inner for key, inner in value.items() if not _left_out(inner, slots, book)}
        return {key: _replaced(inner, slots, book) for key, inner in left.items()}
    return [_replaced(inner, slots, book) for inner in value] if isinstance(value, list) else value


def _numeric(slot: Slot) -> bool:
    return slot.number or slot.kind in {"percent", "seconds"}


def _left_out(value: Any, slots: Mapping[str, str], book: Runbook) -> bool:
    """A parameter that is an optional fact, and nobody said it."""
    found = re.fullmatch(r"\{(\w+)\}", value) if isinstance(value, str) else None
    return bool(found and found[1] in book.slots and book.slots[found[1]].optional and not slots[found[1]])


def _slot(name: str, slots: Mapping[str, str]) -> str:
    if name not in slots:
        table, _, field = name.partition(".")
        raise NoPlan(f"The inventory says no “{field}” for this {table}; please add it in signoff.toml.")
    return slots[name]
