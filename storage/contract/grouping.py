"""Many steps in few lines, and nothing left out: steps that differ in one value are said together."""

import html
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from storage.contract.capability import Contract
from storage.contract.saying import line, value_words
from storage.contract.spec import PlanSpec, StepSpec

LINES = 15  # on a card
ROOM = 1900  # characters of them, of what undoes them and of who approves; the rest takes 1,100
TIMED, WAS = 60, 40  # characters that a step's time takes, and what its preview finds there now
_NUMBERED = re.compile(r"(.*?)(\d+)(\D*)", re.DOTALL)

Find = Callable[[StepSpec], Contract | None]


@dataclass(frozen=True)
class Group:
    """Steps `first` to `last`, from 0: alike but for the value of `varies`; chained: one after the other."""

    first: int
    last: int
    varies: str = ""
    chained: bool = False

    @property
    def size(self) -> int:
        return self.last - self.first + 1


def lines(spec: PlanSpec) -> list[Group]:
    """A line for each step; only where that is too much, one for several that are alike."""
    alone = [Group(number, number) for number in range(len(spec.steps))]
    return alone if len(alone) <= LINES else grouped(spec)


def grouped(spec: PlanSpec) -> list[Group]:
    made: list[Group] = []
    for number in range(len(spec.steps)):
        joined = _joined(spec.steps, made[-1], number) if made else None
        made[-1:] = [joined] if joined else [*made[-1:], Group(number, number)]
    return made


def _joined(steps: Sequence[StepSpec], group: Group, number: int) -> Group | None:
    """The group with this step in it, if one line can say it."""
    first, last, step = steps[group.first], steps[number - 1], steps[number]
    parallel, chained = step.depends_on == first.depends_on, step.depends_on == (last.id,)
    fits = chained if group.chained else parallel or (chained and group.size == 1)
    if not fits or _alike(first) != _alike(step) or first.parameters.keys() != step.parameters.keys():
        return None
    others = {name for name in step.parameters if step.parameters[name] != first.parameters[name]}
    if len(others) > 1 or (group.size > 1 and others - {group.varies}):
        return None
    varies = group.varies or next(iter(others), "")
    return None if bool(varies) != bool(others) else Group(group.first, number, varies, not parallel)


def _alike(step: StepSpec) -> dict[str, Any]:
    apart = {"id", "purpose", "parameters", "depends_on", "binding"}
    return step.model_dump(exclude=apart)


def said(spec: PlanSpec, group: Group) -> StepSpec:
    """One step that stands for all of a group: the value that varies is all of their values."""
    first, steps = spec.steps[group.first], spec.steps[group.first : group.last + 1]
    if not group.varies:
        return first
    values = ", ".join(ranges([value_words(step.parameters[group.varies]) for step in steps]))
    return first.model_copy(update={"parameters": first.parameters | {group.varies: values}})


def ranges(values: Sequence[str]) -> list[str]:
    """Values in their order; three or more that count up without a gap as the first and the last of them."""
    runs: list[list[str]] = []
    for value in values:
        if runs and _follows(runs[-1][-1], value):
            runs[-1].append(value)
        else:
            runs.append([value])
    return [text for run in runs for text in _run(run)]


def _run(run: list[str]) -> list[str]:
    return run if len(run) < 3 else [f"{run[0]} … {run[-1]} ({len(run)})"]


def _follows(one: str, two: str) -> bool:
    first, second = _NUMBERED.fullmatch(one), _NUMBERED.fullmatch(two)
    if not first or not second or (first[1], first[3]) != (second[1], second[3]):
        return False
    next_ = str(int(first[2]) + 1)
    return second[2] == (next_.zfill(len(first[2])) if first[2].startswith("0") else next_)


def lengthy(spec: PlanSpec, find: Find, approvers: Iterable[str]) -> bool:
    """Whether a card has no room for what people must read of this plan: then all of it goes into a file."""
    shown = lines(spec)
    told = [line(find(step := said(spec, group)), step) for group in shown]
    told += [line(find(undo), undo) for undo in spec.rollback]
    size = sum(len(html.escape(text, quote=False)) + TIMED + WAS for text in told)
    return len(shown) > LINES or size + sum(len(id_) + 20 for id_ in approvers) > ROOM
