"""The card: a plan's one message in the channel. A pure function of the view."""

import json
from datetime import datetime

from pydantic import JsonValue

from bot.cards.blocks import (
    LIMIT,
    Block,
    actions,
    button,
    context,
    escape,
    linked,
    pack,
    permalink,
    rich,
    section,
    size,
)
from bot.cards.facts import questions
from bot.cards.previews import previews, written
from bot.cards.words import FAILURE, lasting, standing, timing, title, took, waiting
from bot.foreign import clip, inert
from bot.planner.asking import Form
from bot.planner.gate import allows
from bot.planner.model import cost
from bot.policy import who
from storage.contract import Check
from storage.spec import reference
from storage.states import PlanState, StepState
from storage.views import PlanView, StepView

STATUS = {
    StepState.pending: "pending",
    StepState.running: "in_progress",
    StepState.succeeded: "complete",
    StepState.failed: "error",
    StepState.unknown: "error",
    StepState.skipped: "pending",
    StepState.cancelled: "error",
}


SAID = {"True": "yes", "False": "no"}
LAYERS: tuple[tuple[set[str], int], ...] = (
    ({"boxes", "details", "output"}, 600),
    ({"details", "output"}, 600),
    ({"output"}, 600),
    (set(), 600),
    (set(), 80),
)
TASKS = 50  # in one plan block; a rollback of a long plan shows its undo steps alone


def card(view: PlanView, now: datetime, *, workers: bool = True, site: str = "") -> tuple[str, list[Block]]:
    """Fallback text and blocks. Boxes go first, then details, outputs, words, until it fits.

    `site` is the workspace's address, for links to other plans.
    """
    blocks: list[Block] = []
    for shown, room in LAYERS:
        tasks, told = _plan(view, now, shown, room), facts(view, workers=workers, room=room)
        boxes = previews(view) if "boxes" in shown else []
        blocks = [tasks, *told, *boxes, *holders(view, site), *_buttons(view)]
        if size(blocks) <= LIMIT:
            break
    return _text(view, now), blocks


def cut(view: PlanView, now: datetime) -> bool:
    """Whether the card has no room for what people must read: the plan goes beside it as a file."""
    whole = [_plan(view, now, {"details", "output"}, 600), *facts(view, workers=True), *_buttons(view)]
    return size(whole) > LIMIT


def in_full(view: PlanView) -> str:
    """Every step of the plan with all that an approver must know."""
    steps = enumerate(view.steps, 1)
    return written(view, [(f"{n}. {title(step.spec)}", details(view, step, room=5000)) for n, step in steps])


def simple(view: PlanView, now: datetime) -> tuple[str, list[Block]]:
    """The same in sections, for a Slack that refuses the plan block."""
    lines = [f"*{escape(_goal(view))}* — {escape(standing(view, now))}"]
    lines += [f"{number}. {escape(_title(step, now))}" for number, step in enumerate(view.steps, 1)]
    return _text(view, now), [
        section("\n".join(lines)),
        *facts(view, workers=True, room=120),
        *_buttons(view),
    ]


def _text(view: PlanView, now: datetime) -> str:
    """For notifications; Slack reads it as mrkdwn."""
    return escape(clip(f"{_goal(view)} — {standing(view, now)}", 300))


def _goal(view: PlanView) -> str:
    return view.spec.goal if view.spec else view.text


def _plan(view: PlanView, now: datetime, shown: set[str], room: int) -> Block:
    name = f"plan_{view.id}_r{view.revision}_v{view.version}"
    heading = clip(inert(f"{clip(_goal(view), 90)} — {clip(standing(view, now), 100)}"), 150)
    steps = [step for step in view.steps if step.undo] if len(view.steps) > TASKS else list(view.steps)
    tasks = [_task(view, step, number, now, shown, room) for number, step in enumerate(steps[:TASKS], 1)]
    if not tasks:
        open_ = view.state == PlanState.planning
        task = ("Making a plan", "in_progress") if open_ else ("No plan was made", "error")
        task = ("Waiting for an answer", "pending") if open_ and view.form else task
        tasks = [{"task_id": "planning", "title": task[0], "status": task[1]}]
    return {"type": "plan", "block_id": name, "title": heading, "tasks": tasks}


def _task(view: PlanView, step: StepView, number: int, now: datetime, shown: set[str], room: int) -> Block:
    title_ = clip(f"{number}. {_title(step, now)}", 150 if shown else max(room // 10, 40))
    made: Block = {"task_id": step.spec.id, "title": title_, "status": STATUS[step.state]}
    boxed = "boxes" in shown and bool(previews(view))
    if "details" in shown:
        made["details"] = rich(clip(details(view, step, room=0 if boxed else 500), 900))
    if step.report and "output" in shown:
        made["output"] = rich(clip(step.report.summary + (f" ({took(step)})" if took(step) else ""), 600))
    return made


def _title(step: StepView, now: datetime) -> str:
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


def holders(view: PlanView, site: str) -> list[Block]:
    """The plans that hold what waiting steps touch, with the way to them."""
    held = {s.held_by: s.held_at for s in view.steps if s.held_by and s.state == StepState.pending}
    links = [linked(permalink(site, *at), f"plan {number}") for number, at in held.items()]
    return [context(f":lock: Waits for {', '.join(links)}, which holds what it touches")] if links else []


def facts(view: PlanView, *, workers: bool, room: int = 600) -> list[Block]:
    """Risk and why, who approves, how long, which revision; foreign words take this much room each."""
    if view.spec is None and view.form and view.state == PlanState.planning:
        return questions(view, Form.model_validate_json(view.form))
    if view.spec is None:
        why = [escape(clip(view.reason, 500))] if view.reason else []
        return [context(f"Asked by <@{view.requester}>: “{escape(clip(view.text, 300))}”", *why)]
    lines = [
        f"*Risk: {view.risk}* — {escape(clip(', '.join(view.reasons), room))}",
        _approval(view),
        *([f"*Rules:* {escape(clip('; '.join(view.demands.said), room))}"] if view.demands.said else []),
    ]
    if view.state in {PlanState.proposed, PlanState.approved}:
        lines.append(f"*Takes* about {lasting(view.seconds)}, without waiting")
    small = [f"Plan {view.id} · revision {view.revision} · digest `{view.digest[:12]}`", _asked(view, room)]
    if view.changes:
        changed = "; ".join(view.changes)
        author = "the planner" if view.author == "planner" else f"<@{view.author}>"
        small.append(f"Revision {view.revision} by {author}: {escape(clip(changed, room))}")
    small += [line for line in (_mandate(view), _thinking(view)) if line]
    if not workers and view.state == PlanState.approved:
        small.append(":warning: No workers process is connected; nothing runs until one is.")
    return [section("\n".join(lines)), context(*small)]


def _mandate(view: PlanView) -> str:
    """What people approve besides the steps."""
    return escape(allows(view.spec.mandate)) if view.spec and view.state == PlanState.proposed else ""


def _thinking(view: PlanView) -> str:
    """What the planner did by itself on the way, and what thinking cost."""
    words = {"retry": "tried again", "alternative": "took another way", "simplify": "made it smaller"}
    times = {said: view.tried.count(verb) for verb, said in words.items()}
    tried = ", ".join(f"{said} {number}×" for said, number in times.items() if number)
    parts = [f"On its own, the planner {tried}"] if tried else []
    said = "; ".join([*parts, *filter(None, [cost(view.spent)])])
    return said[:1].upper() + said[1:]


def _asked(view: PlanView, room: int) -> str:
    said, note = escape(clip(view.text, min(room, 200))), escape(clip(view.note, min(room, 300)))
    return f"Asked by <@{view.requester}>: “{said}”" + (f" · Planner's note: {note}" if note else "")


def _approval(view: PlanView) -> str:
    given = ", ".join(f"<@{user}>" for user in view.approved_by)
    if view.demands.denied and view.state == PlanState.proposed:
        why = escape(clip("; ".join(view.demands.denied), 600))
        return f"*Not allowed by policy:* {why}. Nobody may approve it as it is{_expiry(view)}"
    if view.needed == 0:
        why = "as the rules say" if view.risk != "low" else "since nothing is changed"
        return f"*Approval:* none needed, {why}"
    if view.state == PlanState.proposed:
        so_far = f"{len(view.approved_by)} of {view.needed}, by {given}; " if given else ""
        wanted = [(quorum.short(view.held), who(view, quorum)) for quorum in view.quorums]
        missing = " and ".join(f"{short} more needed, from {people}" for short, people in wanted if short)
        factor = ", each with a second factor" if view.demands.second_factor else ""
        return f"*Approval:* {so_far}{missing}{factor}{_authors(view)}{_expiry(view)}"
    if view.state == PlanState.rejected:
        return f"*Rejected:* {escape(clip(view.reason, 300))}"
    if "approvals" in view.overrides:
        return f"*Overridden by* <@{view.broken_by}>: {len(view.approved_by)} of {view.needed} approvals"
    return f"*Approved by* {given}" if given else "*Approval:* none was given"


def _authors(view: PlanView) -> str:
    if view.demands.authors:
        return f"; <@{view.requester}> asked, and may approve"
    return f"; <@{view.requester}> asked and may not approve" if view.requester in view.authors else ""


def _expiry(view: PlanView) -> str:
    if view.expires_at is None:
        return ""
    stamp, utc = int(view.expires_at.timestamp()), f"{view.expires_at:%a %H:%M} UTC"
    return f" · expires <!date^{stamp}^{{date_short_pretty}} {{time}}|{utc}>"


def editing(view: PlanView) -> list[Block]:
    """The Edit button alone, while there is something to change."""
    value = pack(view.id, view.revision, view.digest)
    made = [actions(f"edit_{view.id}_r{view.revision}", button("Edit", "edit", value))]
    return made if view.state == PlanState.proposed else []


def _buttons(view: PlanView) -> list[Block]:
    if view.state != PlanState.proposed:
        return []
    value = pack(view.id, view.revision, view.digest)
    # Nobody approves what they have not seen, or what policy does not allow.
    shown = not view.demands.denied and not any(step.previewing for step in view.steps)
    return [
        actions(
            f"decide_{view.id}_r{view.revision}",
            *([button("Approve", "approve", value, "primary")] if shown else []),
            button("Edit", "edit", value),
            button("Reject", "reject", value),
        )
    ]
