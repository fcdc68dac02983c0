"""What a plan answers to a question about itself, in a sentence or two. From the view alone; no model."""

from collections.abc import Callable
from datetime import datetime

from bot.cards.blocks import escape
from bot.cards.face.difference import pointed
from bot.cards.face.durations import seconds, usually
from bot.cards.face.ended import fact_of
from bot.cards.face.lines import at, failing, step_lines, subject, title, when
from bot.cards.face.running import asking, stands
from bot.cards.phrases import lasting, person, placeless, standing
from bot.cards.tasks import details
from bot.policy.authorize import who
from bot.untrusted import clip
from storage.contract.states import PlanState, StepState
from storage.reading.plan_view import PlanView, StepView

ROOM = 1500
Tell = Callable[[PlanView, datetime], str]


def tell(view: PlanView, topic: str, step: str, now: datetime) -> str:
    """The answer; about one step, where one was named."""
    found = _step(view, step)
    if step and found is None:
        return f"This plan has {len(view.steps)} steps."
    if found is not None and topic in {"step", "when"}:
        return _one(view, found, now)
    return clip(TOPICS.get(topic, _status)(view, now), ROOM)


def _step(view: PlanView, said: str) -> StepView | None:
    if said == "last":
        return view.steps[-1] if view.steps else None
    return view.steps[int(said) - 1] if said.isdigit() and 0 < int(said) <= len(view.steps) else None


def _one(view: PlanView, step: StepView, now: datetime) -> str:
    number = view.steps.index(step) + 1
    how = stands(step, now)
    told = f"*{number}. {escape(title(view, step.spec))}*" + (f": {escape(how)}" if how else "")
    return f"{told}\n{escape(clip(details(view, step), 1000))}"


def _status(view: PlanView, now: datetime) -> str:
    if view.state == PlanState.done and view.outcome == "succeeded":
        return f"Done: {escape(fact_of(view))}."
    told = f"*{escape(subject(view))}*: {escape(standing(view, now))}."
    return f"{told} {_who(view, now)}" if view.state == PlanState.proposed else told


def _who(view: PlanView, now: datetime) -> str:
    if view.state != PlanState.proposed:
        given = " and ".join(f"<@{user}>" for user in view.approved_by)
        return f"{given} approved it." if given else "Nobody had to approve it."
    if view.demands.denied:
        return f"Nobody: policy does not allow it. {escape('; '.join(view.demands.denied))}."
    wanted = [(quorum.short(view.held), who(view, quorum)) for quorum in view.quorums]
    people = " and ".join(f"{short} of {able}" if short > 1 else able for short, able in wanted if short)
    mine = (
        f"; not {person(view.requester)}, who asked"
        if view.requester in view.authors and not view.demands.authors
        else ""
    )
    return f"{people or 'Nobody'} can approve it{mine}."


def _risk(view: PlanView, now: datetime) -> str:
    why = "; ".join(view.reasons) or "it changes nothing"
    why = f"it {why}" if why.startswith("changes ") else why
    return f"{view.risk.capitalize()} risk, because {escape(clip(why, 400))}."


def _when(view: PlanView, now: datetime) -> str:
    if view.spec is None:
        return _status(view, now)
    times = [(n, s) for n, s in enumerate(view.spec.steps, 1) if s.schedule.not_before]
    told = [f"step {n} {at(s.schedule, now)}" for n, s in times[:5]]
    first = when(view.spec, 0, now)
    start = "It starts on approval" if first == "on approval" else "Its first step has a time"
    start = start if view.state == PlanState.proposed else escape(standing(view, now)).capitalize()
    return f"{start}{'; ' + '; '.join(told) if told else ''}."


def _long(view: PlanView, now: datetime) -> str:
    """The sum, without waiting, and of each step by what it is known; of many, the longest."""
    steps = sorted(view.spec.steps if view.spec else (), key=lambda step: -seconds(view, step))[:3]
    each = [f"• {escape(title(view, step))}: {usually(view, step)}" for step in steps if usually(view, step)]
    return "\n".join([f"About {lasting(view.seconds)} of work, without waiting.", *each])


def _fails(view: PlanView, now: datetime) -> str:
    return "\n".join(failing(view)) or "Nothing is known about that."


def _failure(view: PlanView, now: datetime) -> str:
    wrong = {StepState.failed, StepState.unknown}
    bad = [step for step in view.steps if step.state in wrong and not asking(step)]
    if not bad:
        return f"Nothing of it has failed. {_status(view, now)}"
    return "\n".join(f"*{escape(title(view, step.spec))}*: {escape(_why(step, now))}" for step in bad[:3])


def _why(step: StepView, now: datetime) -> str:
    """All that it reports of its failure: whoever asks wants more than the card's line."""
    failed = step.state == StepState.failed and step.report
    return clip(placeless(step.report.summary), 450) if failed and step.report else stands(step, now)


def _rollback(view: PlanView, now: datetime) -> str:
    undos = [title(view, undo) for undo in (view.spec.rollback if view.spec else ())]
    return (
        f"Rolling it back would: {escape(', '.join(undos))}." if undos else "It has no way back of its own."
    )


def _changed(view: PlanView, now: datetime) -> str:
    if not view.changes:
        return "Nothing: this is how it was proposed."
    by = "The planner" if view.author == "planner" else f"<@{view.author}>"
    told = "; ".join(pointed(view.changes, view))
    return f"{by} made revision {view.revision}: {told}."


def _what(view: PlanView, now: datetime) -> str:
    return "\n".join([f"*{escape(subject(view))}*", *step_lines(view, now)])


TOPICS: dict[str, Tell] = {
    "status": _status, "who": _who, "risk": _risk, "when": _when, "long": _long, "fails": _fails,
    "failure": _failure, "rollback": _rollback, "changed": _changed, "what": _what,
}  # fmt: skip
