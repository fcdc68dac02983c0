"""A plan that has no room on its card: what the card says instead, and the file with all of it."""

import json
from collections import Counter
from datetime import datetime

from bot.cards.blocks import escape
from bot.cards.face.lines import ran, step_lines, subject, title, verb_of
from bot.cards.tasks import details
from bot.untrusted import clip, legible
from storage.contract.grouping import lines
from storage.reading.plan_view import PlanView

FIRST = 5  # lines of it on the card
WIDE = 300  # characters of each


def named(view: PlanView) -> str:
    return f"plan-{view.id}-revision-{view.revision}.txt"


def instead(view: PlanView, now: datetime) -> str:
    """How many steps of which kind, how many of them are shown here, and where all of them can be read."""
    spec = view.spec
    steps = spec.steps if spec else ()
    kinds = Counter(verb_of(view, step) for step in steps).most_common()
    told = ", ".join(f"{many} × {escape(clip(kind, 60))}" for kind, many in kinds[:6])
    more = f" and {len(kinds) - 6} other kinds" if len(kinds) > 6 else ""
    first = step_lines(view, now)[:FIRST]
    whole = (
        [group.size for group, line in zip(lines(spec), first, strict=False) if len(line) <= WIDE]
        if spec
        else []
    )
    shown = [clip(line, WIDE) for line in first]
    count = f"Shown here: {sum(whole)} of {len(steps)} steps. {_where(view)}"
    return "\n".join([f"*{len(steps)} steps:* {told}{more}", *shown, count])


def _where(view: PlanView) -> str:
    if view.filed:
        return (
            f"All {len(view.steps)} stand in `{named(view)}` in the thread; please read it before you decide."
        )
    if view.unfiled:
        why = escape(clip(view.unfiled, 100))
        late = f":warning: `{named(view)}` could not be posted yet ({why}); I try again."
        return f"{late} _Approve_ appears when it is there."
    return f"All of it is coming as `{named(view)}` in the thread; _Approve_ appears when it is there."


def _stands(view: PlanView, key: str) -> str:
    return "Done already, and not run again.\n" if ran(view, key) else ""


def in_full(view: PlanView) -> str:
    """Every step with all that an approver must know, and the plan itself, word by word."""
    head = f"{legible(subject(view))}\nPlan {view.id}, revision {view.revision}, digest {view.digest}\n"
    head += f"Who can approve: {', '.join(view.approvers)}\n"
    steps = "".join(
        f"\n{number}. {legible(title(view, step.spec))}\n"
        f"{_stands(view, step.spec.id)}{legible(details(view, step, room=0))}\n"
        for number, step in enumerate(view.steps, 1)
    )
    # As ASCII, so that no character can hide or turn what stands around it.
    exact = (
        json.dumps(view.spec.model_dump(mode="json", exclude_defaults=True), indent=2) if view.spec else ""
    )
    return f"{head}{steps}\nThe plan itself:\n\n{exact}\n"
