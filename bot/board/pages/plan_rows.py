"""The steps of a plan: rails, what each does and how it stands, planned and actual."""

from bot.board.html import Safe, joined, tag
from bot.board.parts.cut import Cut, Planned, actual, plans, scale
from bot.board.parts.frame import panel
from bot.board.parts.lanes import axis, bar, label, lane, planned
from bot.board.parts.rails import HEIGHT, Rail, drawn, rails
from bot.board.parts.status import COLOURS, of_step, status
from bot.board.parts.telling import Telling, elapsed
from bot.board.parts.times import brief
from bot.cards.face.lines import title
from bot.cards.face.running import stands
from bot.untrusted import clip
from storage.contract.states import StepState
from storage.reading.plan_view import PlanView, StepView

ROOMY = 40  # a longer plan has narrow rows


def steps_panel(view: PlanView, tell: Telling) -> Safe:
    times = plans(view, tell)
    drawing = scale(view.steps, times, tell.now.at)
    tracks = rails([step.spec for step in view.steps if not step.undo])
    rows = [
        _row(view, n, step, tell, drawing, times.get(step.spec.id), tracks)
        for n, step in enumerate(view.steps)
    ]
    head = tag("li", tag("span", class_="rail"), tag("div", class_="l"), axis(drawing, tell.now), class_="ax")
    narrow = " narrow" if len(view.steps) > ROOMY else ""
    return panel("Steps", tag("ol", head, *rows, class_=f"gantt steps{narrow}"), _undo(view), aside=_key())


def _row(
    view: PlanView,
    n: int,
    step: StepView,
    tell: Telling,
    drawing: Cut,
    plan: Planned | None,
    tracks: list[Rail] | None,
) -> Safe:
    kind, word = of_step(step)
    hollow = step.state in {StepState.pending, StepState.skipped}
    found = tracks[n] if tracks and n < len(tracks) else Rail(0, (), ())
    height = 24 if len(view.steps) > ROOMY else HEIGHT
    rail = drawn(found, COLOURS.get(kind, "f-idle"), hollow=hollow, height=height)
    told = clip(stands(step, tell.now.at), 140) or _after(view, step)
    words = [part for part in (step.spec.worker, told) if part]
    order = f" · after {_numbers(view, step)}" if tracks is None and step.spec.depends_on else ""
    name = tag(
        "div",
        tag("b", f"{n + 1}. {clip(title(view, step.spec), 120)}"),
        tag("small", " · ".join(words) + order),
    )
    return tag(
        "li",
        rail,
        tag("div", name, status(kind, word), class_="l"),
        _lane(view, step, tell, drawing, plan),
        id=f"s-{step.spec.id}",
    )


def _lane(view: PlanView, step: StepView, tell: Telling, drawing: Cut, plan: Planned | None) -> Safe:
    parts: list[Safe | None] = []
    said = "not planned"
    if plan:
        parts += planned(drawing, plan.start, plan.p50, plan.p90, y=8, height=9, guess=plan.guess)
        said = f"planned at {tell.now.clock(plan.start)} for {brief((plan.p50 - plan.start).total_seconds())}"
    if ran := actual(step, tell.now.at):
        kind, _ = of_step(step)
        parts.append(bar(drawing, *ran, COLOURS.get(kind, "f-idle"), y=21, height=14))
        text = _took(view, step, tell)
        parts.append(label(drawing, *ran, text, y=32))
        said += f", {text}"
    return lane(drawing, tell.now.at, said, *parts)


def _took(view: PlanView, step: StepView, tell: Telling) -> str:
    tries = f"{step.attempt - 1} retr{'y' if step.attempt == 2 else 'ies'}, " if step.attempt > 1 else ""
    if step.state == StepState.running:
        return (
            f"{tries}{brief(elapsed(step, tell.now.at))} of usually {brief(tell.span(view, step.spec).p50)}"
        )
    if step.state == StepState.unknown:
        return "did it run?"
    return f"{tries}{brief(step.took.total_seconds())}" if step.took else tries.rstrip(", ")


def _after(view: PlanView, step: StepView) -> str:
    waits = step.state == StepState.pending and step.spec.depends_on
    return f"after {_numbers(view, step)}" if waits else ""


def _numbers(view: PlanView, step: StepView) -> str:
    numbers = {one.spec.id: n for n, one in enumerate(view.steps, 1)}
    return ", ".join(f"step {numbers.get(key, key)}" for key in step.spec.depends_on)


def _undo(view: PlanView) -> Safe | None:
    if not view.spec or not view.spec.rollback or any(step.undo for step in view.steps):
        return None
    numbers = {step.spec.id: n for n, step in enumerate(view.steps, 1)}
    told = [
        f"{title(view, undo)} (undoes step {numbers.get(undo.undoes, undo.undoes)})"
        for undo in view.spec.rollback
    ]
    return tag(
        "p",
        tag("span", joined("Prepared, not needed so far: ", tag("b", "; ".join(told)))),
        class_="note mute",
    )


def _key() -> Safe:
    plan = tag(
        "svg",
        tag("rect", class_="f-plan2", width="22", y="2", height="8", rx="2"),
        tag("rect", class_="f-plan", width="14", y="2", height="8", rx="2"),
        tag("rect", class_="f-mute", x="20", width="2", height="12"),
        aria_hidden="true",
    )
    done = tag("svg", tag("rect", class_="f-ok", width="22", y="2", height="8", rx="2"), aria_hidden="true")
    return tag("span", tag("span", plan, "planned: p50, p90"), tag("span", done, "actual"), class_="key")
