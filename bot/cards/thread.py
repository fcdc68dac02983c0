"""The messages in a plan's thread: one per outcome, each with the question it raises."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import partial

from bot.cards.blocks import Block, actions, button, context, escape, pack, section
from bot.cards.escalation import advice, asking, mention, undoable
from bot.cards.phrases import doer, lasting, spent, standing, title
from bot.cards.save_form import saved
from bot.cards.summary import summary
from bot.cards.tasks import TASKS
from bot.policy.authorize import who
from bot.untrusted import clip
from storage.contract.states import PlanState, StepState
from storage.database.tables import Event
from storage.reading.plan_view import PlanView

SAID = {"confirm": "to go on", "retry": "to try it again", "skip": "to go on without it",
        "rollback": "to roll back what was done", "take_over": "that they did it by hand",
        "guide": "how it shall go on", "abort": "to stop here", "ran": "that it ran",
        "did_not": "that it did not run", "look": "to look again"}  # fmt: skip

Draw = Callable[[PlanView, Event | None], tuple[list[str], list[Block]]]
RESOLVE = {"ran": "It Ran", "did_not": "It Did Not", "look": "Look Again"}


def message(
    kind: str,
    view: PlanView,
    event: Event | None,
    now: datetime,
    *,
    answer: Event | None = None,
    on_call: str = "",
    guides: bool = False,
) -> tuple[str, list[Block]]:
    """The thread message of that kind. `answer` is what a person has said to it, `on_call` whom it calls.

    `guides`: there is a planner that understands a person's own words.
    """
    drawings: dict[str, Draw] = {
        "outcome": partial(_outcome, on_call=on_call, guides=guides),
        "question": partial(_question, on_call=on_call),
        "summary": summary,
        "decision": _decision,
        "changes": _changes,
        "waits": _waits,
        "overrun": _overrun,
        "saved": saved,
        "review": partial(_review, guides=guides),
    }
    lines, more = drawings[kind](silent(view) if settled(answer) else view, event)
    return clip(lines[0], 300), [section("\n".join(lines)), *more, *answered(answer)]


def needless(kind: str, view: PlanView, event: Event | None) -> bool:
    """What the card, or the summary that follows at once, says anyway; a long plan tells what went wrong."""
    by_policy = kind == "decision" and event is not None and event.actor == "policy"
    only = kind == "outcome" and len(view.steps) == 1 and view.outcome == "succeeded"
    smooth = kind == "outcome" and event is not None and event.verb == "succeed"
    return by_policy or only or (smooth and len(view.steps) > TASKS)


def notice(kind: str, text: str, user: str) -> tuple[str, list[Block]]:
    """What concerns everybody in the channel."""
    name = doer(user)
    said = {
        "stop": f":octagonal_sign: {name} stopped {escape(text)}. An admin lets it go on by `/plan resume "
        f"{escape(text.partition(':')[0])}`.",
        "resume": f":white_check_mark: {name} resumed {escape(text)}.",
        "glass": f":rotating_light: {name} broke the glass for plan {escape(text)}. Somebody else, please "
        "look at it afterwards: `/plan reviewed`, its number, and what you found.",
        "recurring": f":repeat: Recurring plan {user}: {escape(text)}",
    }[kind]
    return said, [section(said)]


def _outcome(
    view: PlanView, event: Event | None, *, on_call: str, guides: bool
) -> tuple[list[str], list[Block]]:
    data = event.data if event else {}
    if not view.has(data["step"]):  # of an earlier revision
        return [f"*{escape(data['step'])}*: {escape(str(data.get('summary') or data.get('reason', '')))}"], []
    step = view.step(data["step"])
    summary = data.get("summary") or (step.report.summary if step.report else data.get("reason", ""))
    if event and event.verb == "succeed":
        return [f":white_check_mark: *{escape(title(step.spec))}*: {escape(summary)}{spent(step)}"], []
    failed = f":x: *{escape(title(step.spec))}* failed: {escape(summary)}{spent(step)}"
    lines = [f":raised_hand: *{escape(title(step.spec))}*: {escape(summary)}" if data.get("asks") else failed]
    if step.choices:
        more, buttons = asking(view, step, on_call, guides)
        return [*lines, *more], buttons
    return [*lines, *advice(step)], []


def _review(view: PlanView, event: Event | None, *, guides: bool) -> tuple[list[str], list[Block]]:
    """What the planner decided by itself, on which rung, or what it must ask."""
    data = event.data if event else {}
    step = view.step(data["step"]) if view.has(str(data.get("step"))) else None
    name, why = escape(title(step.spec) if step else str(data.get("step", ""))), escape(str(data["reason"]))
    rung = f" ({data['number']} of {data['of']})" if "of" in data else ""
    line = {
        "retry": f":repeat: *{name}* is tried again in {lasting(data['wait'])}{rung}: {why}",
        "alternative": f":twisted_rightwards_arrows: Another way instead of *{name}*{rung}: {why}",
        "simplify": f":scissors: Smaller steps instead of *{name}*{rung}: {why}",
        "amend": f":arrow_forward: How it goes on: {why}",
        "finish": f":checkered_flag: {why}",
        "abort": f":octagonal_sign: It ends here: {why}",
    }.get(data["verb"], f":raised_hand: I need a person to say how it goes on: {why}")
    if beyond := data.get("changes"):
        lines = [f"• {escape(str(change))}" for change in beyond]
        return [line, "This goes beyond what was approved; please decide it on the card:", *lines], []
    asked = data["verb"] == "ask" and view.state == PlanState.stalled and not view.looking
    if asked and step and step.choices:  # its own message has the question and the buttons, and has called
        return [f"{line.rstrip('.')}. Please answer above, where it failed."], []
    value = pack(view.id, view.revision, view.digest)
    made = [button("Go On", "answer_confirm", value)] if view.spec and view.spec.review == "always" else []
    made += [button("Roll Back", "answer_rollback", value)] if undoable(view) else []
    made += [button("Give Guidance", "answer_guide", value)] if guides else []
    made.append(button("End It", "answer_abort", value))
    return [line], [actions(f"answer_{view.id}", *made)] if asked and not data.get("step") else []


def _overrun(view: PlanView, event: Event | None) -> tuple[list[str], list[Block]]:
    data = event.data if event else {}
    name = title(view.step(data["step"]).spec) if view.has(str(data.get("step"))) else ""
    then = {
        "finish": "It is left to finish.",
        "ask": f"{who(view)}: shall it go on? If not: `/plan cancel {view.id} <reason>`. Else it finishes.",
        "stop": "As was approved, it is told to stop, and the plan ends.",
    }[data.get("then", "finish")]
    return [f":warning: *{escape(name)}* still runs, and its approved time is over. {then}"], []


def _waits(view: PlanView, event: Event | None) -> tuple[list[str], list[Block]]:
    data = event.data if event else {}
    name = title(view.step(data["step"]).spec) if view.has(str(data.get("step"))) else ""
    return [f":warning: *{escape(name)}* waits and does not start: {escape(str(data.get('reason', '')))}"], []


def _question(view: PlanView, event: Event | None, *, on_call: str) -> tuple[list[str], list[Block]]:
    data = event.data if event else {}
    if not view.has(str(data.get("step"))):
        return [f":warning: {mention(on_call)}I cannot go on: {escape(str(data.get('reason', '')))}"], []
    step = view.step(data["step"])
    lines = [
        f":warning: *{escape(title(step.spec))}* was interrupted, and may or may not have happened.",
        f"It changes something and is not safe to repeat, so it does not run again by itself."
        f" {escape(str(data.get('reason', '')))}",
    ]
    if step.state != StepState.unknown:
        return [*lines, f"Resolved: it is {step.state} now."], []
    if step.probing:
        return [*lines, "Looking again…"], []
    value = pack(view.id, view.revision, view.digest, step.spec.id)
    buttons = [button(label, f"resolve_{answer}", value) for answer, label in RESOLVE.items()]
    ask = f"{mention(on_call)}Please look, and say what happened:"
    return [*lines, ask], [actions(f"resolve_{step.spec.id}", *buttons)]


def _decision(view: PlanView, event: Event | None) -> tuple[list[str], list[Block]]:
    if event is None:
        return [standing(view, view.created_at)], []
    actor = doer(event.actor)
    data = event.data
    if event.verb == "approve" and data.get("given", 0) < data.get("needed", 0):
        count = f"{data['given']} of {data['needed']}"
        return [f":white_check_mark: {actor} approved {_which(view, data)}: {count}"], []
    if event.verb == "approve" and "parts" in data:
        return [f":rotating_light: {actor} broke the glass: it runs without the approvals that it needs."], []
    asked, why = f"<@{view.requester}>", f"“{escape(str(data.get('reason', '')))}”"
    line = {
        "approve": f":white_check_mark: {actor} approved {_which(view, data)}; {asked}, it runs as planned.",
        "reject": f":no_entry: {actor} rejected it; {asked}: {why}",
        "withdraw": f":leftwards_arrow_with_hook: {_turned_down(event)} {asked}: {why}",
        "expire": f":hourglass: Nobody decided in time, so this proposal expired. {asked}, please ask again.",
        "cancel": f":no_entry: {actor} cancelled it: {why}",
    }[event.verb]
    return [line], []


def _turned_down(event: Event) -> str:
    late = event.data.get("by") == "expire"
    return "The change is off the table;" if late else f"{doer(event.actor)} rejected the change;"


def _which(view: PlanView, data: dict[str, object]) -> str:
    if "revision" not in data:
        return "this plan, since it changes nothing"
    standing = f" by a standing approval ({data.get('left', 0)} runs left)" if "standing" in data else ""
    return f"revision {data['revision']}{standing}"


def _changes(view: PlanView, event: Event | None) -> tuple[list[str], list[Block]]:
    data = event.data if event else {}
    changed = [f"• {escape(line)}" for line in data.get("changes", [])]
    actor = event.actor if event else view.author
    lines = [f":repeat: <@{actor}> made revision {data.get('revision', view.revision)}:", *changed]
    return lines, [context("Earlier approvals no longer count, and earlier buttons do nothing.")]


def settled(answer: Event | None) -> bool:
    """Whether a person has answered for good: words to the planner still leave the buttons."""
    return answer is not None and answer.data.get("choice") != "guide"


def silent(view: PlanView) -> PlanView:
    """The same without its questions: what was answered asks nothing, even if the step fails again."""
    return replace(view, steps=tuple(replace(step, choices=()) for step in view.steps))


def answered(answer: Event | None) -> list[Block]:
    """Who said what, in the place of the buttons."""
    if (
        answer is None
        or (said := SAID.get(str(answer.data.get("choice") or answer.data.get("answer")))) is None
    ):
        return []
    words = str(answer.data.get("text", ""))
    told = f": “{escape(clip(words, 500))}”" if words else ""
    who = f"<@{answer.actor}>" if answer.actor != "planner" else "The planner"
    return [context(f":speech_balloon: {who} said {said}{told}")]
