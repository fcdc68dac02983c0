"""What a revision changes, as it stands directly above Approve. Pure."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from bot.cards.blocks import escape
from bot.cards.face.lines import spans, when, within
from bot.cards.phrases import FIELDS, REFRESHED
from bot.planner.edits.difference import ADDED
from storage.contract.saying import wording
from storage.contract.spec import PlanSpec, Schedule
from storage.reading.plan_view import PlanView

WAITS = "waits for "
YES = {"True": "yes", "False": "no"}
CHANGED = 500  # characters of differences; all of them stand in Details
MEANT = tuple(f": {FIELDS[field]} changed" for field in ("contract", "binding"))  # as a reason says already
EVER = datetime.min.replace(tzinfo=UTC)
_ZONED = re.compile(r" \(\d\d:\d\d UTC\)")  # a time in UTC, too: that stands in Details


def changed(view: PlanView) -> list[str]:
    """The difference to the revision before: what was is struck, what is is bold."""
    if not view.changes or view.spec is None:
        return []
    author = "The planner" if view.author == "planner" else f"<@{view.author}>"
    fresh = view.changes[0].startswith(REFRESHED)
    shown = [change for change in view.changes if not (fresh and change.endswith(MEANT))]
    plain = [change.removeprefix(REFRESHED) for change in shown]
    told = "; ".join(within(pointed(plain, view), CHANGED))
    did = "brought it up to date:" if fresh else "changed"
    return [f"{author} *{did}* {told}"]


def pointed(changes: Sequence[str], view: PlanView) -> list[str]:
    """As people point at them: by the numbers of their steps; what is added for one reason is one line."""
    spec, groups = view.spec or PlanSpec(goal="", steps=()), dict[str, list[int]]()
    known = {step.id: number for number, step in enumerate(spec.steps, start=1)}
    for change in changes:
        key, _, rest = change.partition(": ")
        if rest.startswith(ADDED) and key in known:
            groups.setdefault(rest, []).append(known[key])
        else:
            groups[change] = []
    return [_added(told, at) if at else _difference(told, view, spec) for told, at in groups.items()]


def _added(told: str, at: Sequence[int]) -> str:
    return f"step{'s' if len(at) > 1 else ''} {spans(at)} *added*; {escape(told.removeprefix(ADDED))}"


def _difference(change: str, view: PlanView, spec: PlanSpec) -> str:
    """By the number of its step, where it has one."""
    key, _, rest = change.partition(": ")
    known = {step.id: number for number, step in enumerate(spec.steps)}
    if key not in known:
        return f"without *{escape(key.replace('_', ' '))}*" if rest == "removed" else escape(change)
    if rest.startswith(WAITS):
        return f"step {known[key] + 1}: {_turn(rest.removeprefix(WAITS), known)}"
    before, arrow, after = _ZONED.sub("", rest).rpartition(" → ")
    words = YES | wording(view.contract(spec.steps[known[key]]), before.partition(" ")[0])
    was, is_ = _struck(before, spec, known[key], words), escape(words.get(after, after))
    said = f"{was} → *{is_}*" if arrow else escape(rest)
    return f"step {known[key] + 1}: {said}"


def _turn(after: str, known: Mapping[str, int]) -> str:
    """Behind which steps it comes now, by their numbers."""
    numbers = [known[key] + 1 for key in after.split(", ") if key in known]
    return f"now after *{spans(numbers)}*" if numbers else "now *first*"


def _struck(before: str, spec: PlanSpec, number: int, words: Mapping[str, str]) -> str:
    """What was: its name stays, its value is struck; without a time of its own a step came in its turn."""
    if before == "at once":
        untimed = spec.steps[number].model_copy(update={"schedule": Schedule()})
        steps = (*spec.steps[:number], untimed, *spec.steps[number + 1 :])
        turn = when(spec.model_copy(update={"steps": steps}), number, EVER) or f"after {number}"
        return f"~{escape(turn)}~"
    name, _, value = before.rpartition(" ") if before.count(" ") == 1 else ("", "", before)
    return f"{escape(name.replace('_', ' '))} ~{escape(words.get(value, value))}~".strip()
