"""One step in full: what, with which worker, when, what must hold, and what if not."""

from bot.cards.face.lines import checked, spans, title
from bot.cards.phrases import FAILURE, placeless, timing
from bot.untrusted import clip
from storage.contract.saying import line, value_words
from storage.contract.spec import StepSpec
from storage.reading.plan_view import PlanView, StepView


def details(view: PlanView, step: StepView, *, room: int = 500) -> str:
    """Everything that was chosen, defaults too, and the planner's reason as its own words.

    `room`: characters for its preview.
    """
    spec = step.spec
    lines = [line(view.contract(spec), spec, was=step.was), f"by {spec.worker} · {spec.action}"]
    given = {name: value for name, value in spec.parameters.items() if value not in (None, "", [], {})}
    lines += [f"{_words(name)}: {value_words(value)}" for name, value in given.items()]
    lines.append(f"When: {_when(view, spec)}")
    criteria = dict.fromkeys(
        c.replace("_", " ") if isinstance(c, str) else c.name.replace("_", " ") or checked(c)
        for c in spec.success_criteria
    )
    lines += [f"Done only if: {', '.join(criteria)}"] if criteria else []
    would = clip(placeless(step.preview), room).replace("\n", "\n│ ")  # its lines are none of ours
    lines += [f"Would do: {would}"] if step.preview and room else []
    if not step.undo:
        lines.append(
            f"If it fails: {FAILURE[spec.failure_action]}{_undo(view, spec.id, spec.failure_action)}"
        )
    why = " ".join(spec.purpose.split())
    return "\n".join([*lines, *([f"Why, in the planner's words: “{why}”"] if why else [])])


def _words(name: str) -> str:
    return " ".join(name.replace("_", " ").split())


def _when(view: PlanView, step: StepSpec) -> str:
    """When it may start; after which steps, by their numbers."""
    if step.schedule.not_before is not None or not step.depends_on:
        return timing(step)
    known = {one.spec.id: number for number, one in enumerate(view.steps, 1)}
    return f"after {spans(known[key] for key in step.depends_on if key in known)}"


def _undo(view: PlanView, key: str, way: str) -> str:
    undo = [u for u in (view.spec.rollback if view.spec else ()) if u.undoes == key]
    return f" ({title(view, undo[0])})" if undo and way == "rollback" else ""
