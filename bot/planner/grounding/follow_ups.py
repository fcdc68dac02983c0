"""Words that lean on what was before: the same for another, again, undo the last, two more. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from bot.planner.grounding.names import named
from bot.planner.runbooks.questions import NoPlan
from storage.config import SignoffConfig
from storage.contract.spec import PlanSpec, StepSpec

AnyStep = TypeVar("AnyStep", bound=StepSpec)
LEAD = r"(?:(?:and|now|then|please|ok|okay|can you|could you)[, ]+)*"
REPLICAS = r"(?:more )?(?:replicas?|pods?|instances?|copies)"
NUMBERS = {"a": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
NUMBER = rf"(?P<number>\d{{1,3}}|{'|'.join(NUMBERS)})"
FORMS: tuple[tuple[str, str], ...] = (
    ("same", rf"{LEAD}(?:do |plan |run )?(?:exactly )?(?:the )?same(?: thing)?(?: again)? "
             r"(?:for|on|with|to) (?P<rest>.+)"),
    ("again", rf"{LEAD}(?:do |run )?(?:it |that |this )?"
              r"(?:again|once more|(?:like|as|the same as) last time)(?:,? please)?"),
    ("undo", rf"{LEAD}(?:undo|revert|roll ?back|take back) (?:the )?(?:last|latest|previous|most recent) "
             r"(?:deploy(?:ment)?|release|rollout)(?: (?:of|to|on|for|in) (?P<rest>.+))?"),
    ("more", rf"{LEAD}(?:add|give|start) {NUMBER} {REPLICAS}(?: (?:to|for|of) (?P<rest>.+))?"),
    ("fewer", rf"{LEAD}(?:remove|take away|drop) {NUMBER} {REPLICAS}(?: (?:from|of) (?P<rest>.+))?"),
    ("more", rf"{LEAD}scale (?P<rest>.+?) up by {NUMBER}(?: {REPLICAS})?(?P<tail> .+)?"),
    ("fewer", rf"{LEAD}scale (?P<rest>.+?) down by {NUMBER}(?: {REPLICAS})?(?P<tail> .+)?"),
)  # fmt: skip


@dataclass(frozen=True)
class FollowUp:
    """What is meant: of which thing, and by how much."""

    kind: Literal["same", "again", "undo", "more", "fewer"]
    rest: str = ""
    number: int = 0


def follow_up(text: str) -> FollowUp | None:
    """What these words ask for beside what was before; None where they stand for themselves."""
    said = " ".join(text.split()).rstrip(".!?")
    for kind, form in FORMS:
        if found := re.fullmatch(form, said, re.I):
            parts = found.groupdict()
            number = (parts.get("number") or "0").lower()
            rest = f"{parts.get('rest') or ''}{parts.get('tail') or ''}"
            return FollowUp(kind, rest, NUMBERS.get(number) or int(number))  # type: ignore[arg-type] # one of FORMS
    return None


def same_for(spec: PlanSpec, rest: str, config: SignoffConfig) -> PlanSpec | None:
    """The plan with another thing in the place of its own; None where it is not plain which is meant."""
    for table, new in named([rest], config):
        old = sorted({name for name in config.inventory[table] if name != new and _names(spec, name)})
        if len(old) == 1:
            return _replaced(spec, _swaps(table, old[0], new, config))
    return None


def scaled(said: FollowUp, replicas: int) -> str:
    """The wish with the number itself."""
    total = replicas + (said.number if said.kind == "more" else -said.number)
    if total < 0:
        raise NoPlan(f"{replicas} run now, so {said.number} cannot be taken away.")
    thing, _, tail = said.rest.partition(" ")
    return " ".join(f"scale {thing} to {total} replicas {tail}".split())


def _names(spec: PlanSpec, name: str) -> bool:
    return any(name == value for step in spec.steps for value in step.parameters.values())


def _swaps(table: str, old: str, new: str, config: SignoffConfig) -> dict[str, str]:
    """The name, and what the inventory says belongs to it: database, endpoint, environment."""
    was, is_ = config.inventory[table][old], config.inventory[table][new]
    swaps = {old: new}
    for field, value in was.items():
        if isinstance(value, str) and isinstance(is_.get(field), str):
            swaps.setdefault(value, is_[field])
        elif isinstance(value, str):
            swaps.setdefault(value, "")  # the other one has none
    return swaps


def _replaced(spec: PlanSpec, swaps: Mapping[str, str]) -> PlanSpec:
    steps = tuple(_step(step, swaps) for step in spec.steps)
    undos = tuple(_step(undo, swaps) for undo in spec.rollback)
    return spec.model_copy(update={"goal": _prose(spec.goal, swaps), "steps": steps, "rollback": undos})


def _step(step: AnyStep, swaps: Mapping[str, str]) -> AnyStep:
    given: dict[str, Any] = {}
    for name, value in step.parameters.items():
        new = swaps.get(value, value) if isinstance(value, str) else value
        if new == "" and value != "":
            raise NoPlan(f"I cannot do the same there: the inventory says no {name} for it, as {value} was.")
        given[name] = new
    return step.model_copy(update={"parameters": given, "purpose": _prose(step.purpose, swaps)})


def _prose(text: str, swaps: Mapping[str, str]) -> str:
    for old, new in swaps.items():
        if new:
            text = re.sub(rf"(?<![\w-]){re.escape(old)}(?![\w-])", new, text)
    return text
