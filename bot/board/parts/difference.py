"""What one revision changes against the one before, field by field: what was, and what is."""

import json
from collections.abc import Iterator
from typing import Any

from bot.board.html import Safe, tag
from bot.untrusted import clip
from storage.contract.spec import PlanSpec, StepSpec

LONGEST = 300  # characters of one value
Line = tuple[str, str]  # same, del or add; the text
QUIET = {"contract", "binding"}  # hashes: the digest tells of them


def difference(old: PlanSpec | None, new: PlanSpec) -> list[Line]:
    """Step by step, then what belongs to the whole plan."""
    if old is None:
        return [line for step in new.steps for line in _whole(step)]
    before = {step.id: step.model_dump(mode="json") for step in old.steps}
    after = {step.id: step.model_dump(mode="json") for step in new.steps}
    found: list[Line] = []
    for key in [*after, *(gone for gone in before if gone not in after)]:
        lines = [*_fields(before.get(key), after.get(key))]
        found += [("same", f"  {key}"), *lines] if lines else []
    whole = {"id", "steps"}
    parts = [spec.model_dump(mode="json", exclude=whole) for spec in (old, new)]
    return [*found, *_fields(*parts)]


def _whole(step: StepSpec) -> Iterator[Line]:
    """A step of a first revision: what it does with what, when, and what follows if it fails."""
    yield "same", f"  {step.id}  {step.worker}.{step.action}"
    for name, value in step.parameters.items():
        if _is(value):
            yield "add", f"+   {name}: {_said(value)}"
    if step.depends_on:
        yield "add", f"+   after: {', '.join(step.depends_on)}"
    if step.schedule.not_before:
        yield "add", f"+   not before: {step.schedule.not_before:%Y-%m-%d %H:%M} UTC"
    yield "add", f"+   if it fails: {step.failure_action}"


def _fields(old: dict[str, Any] | None, new: dict[str, Any] | None) -> Iterator[Line]:
    for name in {**(old or {}), **(new or {})}:
        was, is_ = (old or {}).get(name), (new or {}).get(name)
        if name == "parameters":
            yield from _fields(was or {}, is_ or {})
        elif was != is_ and name not in QUIET | {"id"}:
            yield from ([("del", f"−   {name}: {_said(was)}")] if _is(was) else [])
            yield from ([("add", f"+   {name}: {_said(is_)}")] if _is(is_) else [])


def _is(value: Any) -> bool:
    return value not in (None, "", [], {}, ())


def _said(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
    return clip(" ".join(text.split()), LONGEST)


def drawn(lines: list[Line], about: str) -> Safe:
    spans = [tag("span", text, class_=None if kind == "same" else kind) for kind, text in lines]
    return tag("div", *spans, class_="diff", tabindex="0", role="region", aria_label=about)
