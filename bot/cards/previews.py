"""What the steps would do, collapsed under the plan."""

from bot.cards.blocks import Block, escape, plain, section
from bot.untrusted import clip
from storage.reading.plan_view import PlanView, StepView

MOST = 8  # previews under one card; the others stand in their steps


def previews(view: PlanView) -> list[Block]:
    """One closed box for each step whose worker has said what it would do."""
    told = [(number, step) for number, step in enumerate(view.steps, 1) if step.preview]
    return [_box(number, step) for number, step in told] if len(told) <= MOST else []


def _box(number: int, step: StepView) -> Block:
    lines = escape(clip(step.preview, 700)).splitlines() or ["nothing"]
    said = "\n".join(f"> {line}" for line in lines)
    return {
        "type": "container", "title": plain(f"What step {number} would do"), "is_collapsible": True,
        "default_collapsed": True, "child_blocks": [section(said)],
    }  # fmt: skip
