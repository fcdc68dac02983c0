"""The plan block: its steps as tasks, each with what, by which worker, when, what must hold, what if not."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime

from pydantic import JsonValue

from bot.cards.blocks import Block, escape, plain, rich, section
from bot.cards.phrases import FAILURE, standing, timing, title, took, waiting
from bot.untrusted import clip, inert
from storage.contract.capability import Check
from storage.contract.spec import reference
from storage.contract.states import PlanState, StepState
from storage.reading.plan_view import PlanView, StepView

MOST_PREVIEWS = 8  # under one card; the others stand in their steps

STATUS = {
    StepState.pending: "pending",
    StepState.running: "in_progress",
    StepState.succeeded: "complete",
    StepState.failed: "error",
    StepState.unknown: "error",
    StepState.skipped: "pending",
    StepState.cancelled: "error",
}
COUNTED = {
    StepState.succeeded: "done",
    StepState.failed: "failed",
    StepState.unknown: "unknown whether they happened",
    StepState.cancelled: "cancelled",
    StepState.skipped: "not run",
    StepState.running: "running",
    StepState.pending: "to come",
}
LEFT = {StepState.pending, StepState.running, StepState.unknown}
SAID = {"True": "yes", "False": "no"}
TASKS = 50  # in one plan block; of a longer plan it shows where the plan stands, and counts the rest


def plan_block(view: PlanView, now: datetime, shown: set[str], room: int) -> Block:
    name = f"plan_{view.id}_r{view.revision}_v{view.version}"
    title_ = clip(inert(f"{clip(goal(view), 90)} — {clip(standing(view, now), 100)}"), 150)
    tasks = list(_tasks(view, now, shown, room)) or [_none(view)]
    return {"type": "plan", "block_id": name, "title": title_, "tasks": tasks}


def goal(view: PlanView) -> str:
    return view.spec.goal if view.spec else view.text


def stretch(steps: Sequence[StepView], most: int = TASKS) -> range:
    """The steps that are shown: all, or those from where the plan stands on, two fewer than fit."""
    if len(steps) <= most:
        return range(len(steps))
    left = [n for n, step in enumerate(steps) if step.state in LEFT]
    bad = [n for n, step in enumerate(steps) if step.state == StepState.failed]
    here = next(iter([*left, *bad]), 0)
    start = max(0, min(here - 2, len(steps) - (most - 2)))
    return range(start, start + most - 2)


def counted(steps: Sequence[StepView]) -> str:
    """How many of these steps are done, failed, to come."""
    found = Counter(step.state for step in steps)
    return ", ".join(f"{found[state]} {said}" for state, said in COUNTED.items() if found[state])


def _tasks(view: PlanView, now: datetime, shown: set[str], room: int) -> Iterator[Block]:
    here = stretch(view.steps)
    yield from _rest(view.steps, 0, here.start)
    for number in here:
        yield _task(view, view.steps[number], number + 1, now, shown, room)
    yield from _rest(view.steps, here.stop, len(view.steps))


def _rest(steps: Sequence[StepView], start: int, stop: int) -> Iterator[Block]:
    """One task for all that have no room."""
    if part := steps[start:stop]:
        said = f"Steps {start + 1} to {stop} — {counted(part)}"
        yield {"task_id": f"{start + 1}..{stop}", "title": said, "status": _status(part)}


def _status(steps: Sequence[StepView]) -> str:
    found = {STATUS[step.state] for step in steps}
    return next((status for status in ("error", "in_progress", "pending") if status in found), "complete")


def _none(view: PlanView) -> Block:
    open_ = view.state == PlanState.planning
    said, status = ("Making a plan", "in_progress") if open_ else ("No plan was made", "error")
    said, status = ("Waiting for an answer", "pending") if open_ and view.form else (said, status)
    return {"task_id": "planning", "title": said, "status": status}


def _task(view: PlanView, step: StepView, number: int, now: datetime, shown: set[str], room: int) -> Block:
    title_ = clip(f"{number}. {heading(step, now)}", 150 if shown else max(room // 10, 40))
    made: Block = {"task_id": step.spec.id, "title": title_, "status": STATUS[step.state]}
    boxed = "boxes" in shown and bool(previews(view))
    if "details" in shown:
        made["details"] = rich(clip(details(view, step, room=0 if boxed else 500), 900))
    if step.report and "output" in shown:
        made["output"] = rich(clip(step.report.summary + (f" ({took(step)})" if took(step) else ""), 600))
    return made


def heading(step: StepView, now: datetime) -> str:
    name = inert(clip(title(step.spec), 150))
    if step.state == StepState.skipped:
        return f"{name} — not run"
    if step.state == StepState.unknown:
        return f"{name} — unknown whether it happened"
    if step.state == StepState.running:
        again = f"Again: {name} (attempt {step.attempt})" if step.attempt > 1 else name
        return f"{again} — {inert(clip(step.progress, 150))}" if step.progress else again
    if step.previewing:
        return f"{name} — finding out what it would do"
    why = waiting(step, now)
    return f"{name} — {inert(clip(why, 150))}" if why else name


def _said(value: JsonValue) -> str:
    """A parameter for people: yes and no, where a reference comes from, and JSON for what has parts."""
    if found := reference(value):
        return f"{'.'.join(found)} (when it is known)"
    return (
        json.dumps(value, ensure_ascii=False)
        if isinstance(value, dict | list)
        else SAID.get(str(value), str(value))
    )


def details(view: PlanView, step: StepView, *, room: int = 500) -> str:
    """What, with which worker, when, what must hold, what happens on failure; room for its preview."""
    spec = step.spec
    lines = [f"{spec.worker} · {spec.action}"]
    if spec.parameters:
        given = {name: value for name, value in spec.parameters.items() if value not in ("", [], None)}
        lines.append(", ".join(f"{name}: {_said(value)}" for name, value in given.items()))
    lines.append(f"When: {timing(spec)}")
    criteria = dict.fromkeys(c if isinstance(c, str) else c.name or _check(c) for c in spec.success_criteria)
    if criteria:
        lines.append(f"Must hold: {', '.join(criteria)}")
    if step.preview and room:
        lines.append(f"Would do: {clip(step.preview, room)}")
    if not step.undo:
        lines.append(
            f"If it fails: {FAILURE[spec.failure_action]}{_undo(view, spec.id, spec.failure_action)}"
        )
    return "\n".join(lines)


def _check(check: Check) -> str:
    return f"{check.field} {check.op} {check.value}"


def _undo(view: PlanView, key: str, way: str) -> str:
    undo = [u for u in (view.spec.rollback if view.spec else ()) if u.undoes == key]
    return f" ({title(undo[0])})" if undo and way == "rollback" else ""


def previews(view: PlanView) -> list[Block]:
    """One closed box for each step whose worker has said what it would do."""
    told = [(number, step) for number, step in enumerate(view.steps, 1) if step.preview]
    return [_box(number, step) for number, step in told] if len(told) <= MOST_PREVIEWS else []


def _box(number: int, step: StepView) -> Block:
    lines = escape(clip(step.preview, 700)).splitlines() or ["nothing"]
    said = "\n".join(f"> {line}" for line in lines)
    return {
        "type": "container", "title": plain(f"What step {number} would do"), "is_collapsible": True,
        "default_collapsed": True, "child_blocks": [section(said)],
    }  # fmt: skip
