"""Details: everything about a plan that its card has no room for. No inputs, so it opens at its top."""

from collections import Counter
from datetime import datetime

from bot.cards.blocks import Block, context, escape, section, split
from bot.cards.face.difference import pointed
from bot.cards.face.durations import usually
from bot.cards.face.lines import subject
from bot.cards.face.long_plan import named
from bot.cards.forms import modal
from bot.cards.phrases import cost, standing, wisher
from bot.cards.tasks import details
from bot.planner.review.gate import allows
from bot.times.zones import spoken
from bot.untrusted import clip
from storage.reading.plan_view import PlanView, StepView

STEPS = 90  # blocks in a form, without the rest


def details_form(view: PlanView, now: datetime) -> Block:
    head = section(f"*{escape(clip(subject(view), 300))}*\n{escape(standing(view, now))}")
    blocks = [head, *differences(view), *step_blocks(view), context(*facts(view))]
    return modal("details", "Details", "", {"p": view.id, "r": view.revision}, blocks)


def differences(view: PlanView) -> list[Block]:
    """All that this revision changes; the card has room for the first of it."""
    told = [f"• {clip(one, 500)}" for one in pointed(view.changes, view)]
    whole = "\n".join([f"*Revision {view.revision} changes*", *told])
    return [section(part) for part in split([whole])][:4] if told else []


def step_blocks(view: PlanView) -> list[Block]:
    """Every step in full, as many to a block as it holds; of a very long plan, where all of it stands."""
    told = [
        f"*{number}.*  {escape(clip(details(view, step), 2500))}{_takes(view, step)}"
        for number, step in enumerate(view.steps, 1)
    ]
    parts = [section(part) for part in split(told)] if len(told) <= STEPS else _packed(told)
    if len(parts) <= STEPS:
        return parts
    return [*parts[:STEPS], context(f"… the rest stands in `{named(view)}` in the thread.")]


def _takes(view: PlanView, step: StepView) -> str:
    said = "" if step.ended_at else usually(view, step.spec)
    return f"\nTakes {escape(said)}" if said else ""


def _packed(told: list[str]) -> list[Block]:
    return [section(part) for part in split(["\n".join(told)])]


def facts(view: PlanView) -> list[str]:
    """Whose words are whose, what it rests on, and what it may cost."""
    spec, lines = view.spec, [f"Plan {view.id} · revision {view.revision} · digest `{view.digest[:12]}`"]
    lines.append(f"*Risk: {view.risk}* — {escape(clip(', '.join(view.reasons), 600))}")
    lines += [f"*Rules:* {escape(clip('; '.join(view.demands.said), 600))}"] if view.demands.said else []
    lines += [f"Decide by {spoken(view.expires_at, 'UTC')}"] if view.expires_at else []
    lines.append(f"{wisher(view)} asked: “{escape(clip(' '.join(view.text.split()), 300))}”")
    lines += [escape(allows(spec.mandate))] if spec else []
    lines += [f"The planner calls it “{escape(clip(spec.goal, 300))}”"] if spec else []
    lines += [f"Planner's note: {escape(clip(view.note, 300))}"] if view.note else []
    return [*lines, *filter(None, [_thinking(view)])][:10]


def _thinking(view: PlanView) -> str:
    """What the planner did by itself on the way, and what thinking cost."""
    words = {"retry": "tried again", "alternative": "took another way", "simplify": "made it smaller"}
    asked = Counter(view.put_to_people)
    parts = [
        f"{how}, the planner {', '.join(done)}"
        for how, times in (("On its own", Counter(view.tried) - asked), ("After people were asked", asked))
        if (done := [f"{said} {times[verb]}×" for verb, said in words.items() if times[verb]])
    ]
    said = "; ".join([*parts, *filter(None, [cost(view.spent)])])
    return said[:1].upper() + said[1:]
