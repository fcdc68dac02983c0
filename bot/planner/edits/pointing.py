"""What words point at in a plan: a step by its number or name, a parameter, one of its values. Pure."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bot.planner.edits.changes import whole
from bot.planner.validate import Catalogue
from storage.config import SignoffConfig
from storage.contract.spec import PlanSpec, StepSpec

PLACES = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
EVERYTHING = {"it", "this", "that", "everything", "all", "all of it", "plan", "whole plan", "whole thing"}
NOUNS = {"suite", "test", "tests", "strategy", "deployment", "deploy", "release", "rollout", "version",
         "type", "environment", "database", "service", "backup"}  # fmt: skip


@dataclass(frozen=True)
class EditContext:
    """What an edit is read against."""

    spec: PlanSpec
    catalogue: Catalogue
    config: SignoffConfig
    now: datetime
    plan: Callable[[str], PlanSpec] | None = None  # a wish in words → a plan, for "add …"


def steps_named(said: str, spec: PlanSpec, *, everything: bool = True) -> list[str]:
    """The steps that these words name: one, all, or none."""
    words = re.sub(r"^(?:the |step |steps |our )+|(?: step)$", "", said.lower().strip()).lstrip("#").strip()
    if everything and words in EVERYTHING:
        return whole(spec)
    number = int(words) if words.isdigit() and re.search(r"step|#|^\d+$", said, re.I) else 0
    number = PLACES.index(words) + 1 if words in PLACES else len(spec.steps) if words == "last" else number
    if number:
        return [spec.steps[number - 1].id] if number <= len(spec.steps) else []
    found = [step.id for step in spec.steps if words and _is(words, step)]
    return found if len(found) == 1 else []


def _is(words: str, step: StepSpec) -> bool:
    name = norm(words).removesuffix("s")
    names = {norm(step.id), norm(step.action), norm(step.action).split()[0], norm(step.worker)}
    turned = sorted(name.split()) in [sorted(one.split()) for one in names]  # "database backup"
    return turned or any(len(one) > 3 and name in {f"{one}ment", f"{one}ing"} for one in names)


def schema(step: StepSpec, about: EditContext) -> dict[str, dict[str, Any]]:
    contract = about.catalogue.find(step)
    return contract.parameters.get("properties", {}) if contract else {}


def offered(step: StepSpec, about: EditContext) -> dict[str, list[str]]:
    """What each parameter may be, where that is a list."""
    contract = about.catalogue.find(step)
    listed = {name: [str(c) for c in schema.get("enum", ())] for name, schema in schema(step, about).items()}
    known = {name: [*names] for name, names in contract.names.items()} if contract else {}
    return {name: choices for name, choices in (listed | known).items() if choices}


def fits(said: str, name: str) -> bool:
    return norm(said) == norm(name) or norm(said) in norm(name).split()


def alike(said: str, value: Any, name: str) -> bool:
    """Whether these words are this value, with or without the parameter's own name."""
    own = {*norm(name).split(), *NOUNS}
    bare = " ".join(word for word in norm(said).split() if word not in own)
    return norm(str(value)) in {norm(said), bare}


def norm(text: str) -> str:
    return " ".join(re.sub(r"[_\-/]+", " ", text.lower()).split())


def typed(text: str, schema: dict[str, Any]) -> Any:
    """The value that was meant; what does not fit stays text, and the validator says so."""
    kinds = {schema.get("type"), *(part.get("type") for part in schema.get("anyOf", ()))}
    if kinds & {"integer", "number"} and re.fullmatch(r"-?\d+(\.\d+)?", text):
        return float(text) if "." in text else int(text)
    if "boolean" in kinds and text.lower() in {"yes", "no", "true", "false", "on", "off"}:
        return text.lower() in {"yes", "true", "on"}
    return text
