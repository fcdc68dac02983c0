"""The card: a plan's one message in the channel. A pure function of the view."""

from datetime import datetime

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
    section,
    size,
)
from bot.cards.clarify_form import questions
from bot.cards.long_plan import instead
from bot.cards.phrases import cost, lasting, overrode, standing
from bot.cards.tasks import TASKS, goal, heading, plan_block, previews, stretch
from bot.planner.review.gate import allows
from bot.planner.runbooks.questions import Form
from bot.policy.authorize import who
from bot.untrusted import clip
from storage.contract.states import PlanState, StepState
from storage.reading.plan_view import PlanView

LAYERS: tuple[tuple[set[str], int], ...] = (
    ({"boxes", "details", "output"}, 600),
    ({"details", "output"}, 600),
    ({"output"}, 600),
    (set(), 600),
    (set(), 80),
)


def card(view: PlanView, now: datetime, *, workers: bool = True, site: str = "") -> tuple[str, list[Block]]:
    """Fallback text and blocks. Boxes go first, then details, outputs, words, until it fits.

    `site` is the workspace's address, for links to other plans.
    """
    blocks: list[Block] = []
    more = [instead(view)] if cut(view, now) else []
    for shown, room in LAYERS:
        tasks, told = plan_block(view, now, shown, room), facts(view, workers=workers, room=room)
        boxes = previews(view) if "boxes" in shown else []
        blocks = [tasks, *more, *told, *boxes, *holders(view, site), *_buttons(view)]
        if size(blocks) <= LIMIT:
            break
    return _text(view, now), blocks


def cut(view: PlanView, now: datetime) -> bool:
    """Whether the card has no room for what people must read: the plan goes beside it as a file."""
    whole = [plan_block(view, now, {"details"}, 600), *facts(view, workers=True), *_buttons(view)]
    steps = view.spec.steps if view.spec else ()
    return len(steps) > TASKS or (view.state == PlanState.proposed and size(whole) > LIMIT)


def simple(view: PlanView, now: datetime) -> tuple[str, list[Block]]:
    """The same in sections, for a Slack that refuses the plan block."""
    lines = [f"*{escape(goal(view))}* — {escape(standing(view, now))}"]
    lines += [f"{number + 1}. {escape(heading(view.steps[number], now))}" for number in stretch(view.steps)]
    return _text(view, now), [
        section("\n".join(lines)),
        *([instead(view)] if cut(view, now) else []),
        *facts(view, workers=True, room=120),
        *_buttons(view),
    ]


def _text(view: PlanView, now: datetime) -> str:
    """For notifications; Slack reads it as mrkdwn."""
    return escape(clip(f"{goal(view)} — {standing(view, now)}", 300))


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
    said = f"*Approved by* {given}" if given else "*Approval:* none was given"
    return f"{said}{overrode(view)}"


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
