"""A plan that has no room on its card: what the card says instead, and the file with all of it."""

import json
from collections import Counter

from bot.cards.blocks import Block, escape, section
from bot.cards.phrases import title
from bot.cards.tasks import details, goal
from bot.untrusted import clip, inert
from storage.contract.states import PlanState
from storage.reading.plan_view import PlanView


def named(view: PlanView) -> str:
    return f"plan-{view.id}-revision-{view.revision}.txt"


def instead(view: PlanView) -> Block:
    """How many steps of which kind, and where all of them can be read."""
    steps = view.spec.steps if view.spec else ()
    kinds = Counter(f"{step.worker} {step.action}" for step in steps).most_common()
    said = ", ".join(f"{many} × {escape(kind)}" for kind, many in kinds[:6])
    more = f" and {len(kinds) - 6} other kinds" if len(kinds) > 6 else ""
    please = " Please read it before you decide." if view.state == PlanState.proposed else ""
    where = f"All of it stands in the thread, in `{named(view)}`.{please}"
    return section(f"*{len(steps)} steps:* {clip(said, 600)}{more}. {where}")


def in_full(view: PlanView) -> str:
    """Every step with all that an approver must know, and the plan itself, word by word."""
    head = f"{inert(goal(view))}\nPlan {view.id}, revision {view.revision}, digest {view.digest}\n"
    steps = "".join(
        f"\n{number}. {inert(title(step.spec))}\n{inert(details(view, step, room=5000))}\n"
        for number, step in enumerate(view.steps, 1)
    )
    # As ASCII, so that no character can hide or turn what stands around it.
    exact = (
        json.dumps(view.spec.model_dump(mode="json", exclude_defaults=True), indent=2) if view.spec else ""
    )
    return f"{head}{steps}\nThe plan itself:\n\n{exact}\n"
