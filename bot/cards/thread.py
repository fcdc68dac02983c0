"""The messages in a plan's thread: one per outcome, each with the question it raises."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from bot.cards.blocks import (
    Block,
    actions,
    button,
    context,
    escape,
    linked,
    moment,
    pack,
    permalink,
    section,
)
from bot.cards.escalation import LABELS, advice, asking, called, undoable, updating
from bot.cards.face.difference import pointed
from bot.cards.face.lines import at, title
from bot.cards.face.once import elsewhere, named
from bot.cards.phrases import doer, first_clauses, lasting, person, placeless, spent, standing
from bot.cards.save_form import saved
from bot.cards.summary import summary
from bot.policy.authorize import who
from bot.times.zones import spoken
from bot.untrusted import clip
from storage.contract.states import PlanState, StepState
from storage.database.tables import Event
from storage.reading.plan_view import PlanView, StepView
from storage.settling.questions import PASSED, UNSTARTED

LINE = 90  # characters of what a step that went well reports: a line in the thread
Draw = Callable[[PlanView, Event | None], tuple[list[str], list[Block]]]
RESOLVE = {"ran": "It Happened", "did_not": "It Did Not", "look": "Check Again"}
RESOLVED = {
    "ran": "counts as done, and the plan goes on",
    "did_not": "runs it again",
    "look": "looks once more whether it happened",
}
CHOSEN = LABELS | RESOLVE


def message(
    kind: str,
    view: PlanView,
    event: Event | None,
    now: datetime,
    *,
    answer: Event | None = None,
    on_call: str = "",
    guides: bool = False,
    site: str = "",
) -> tuple[str, list[Block]]:
    """The thread message of that kind. `answer` is what a person has said to it, `on_call` whom it calls.

    `guides`: there is a planner that understands a person's own words. `site`: for a link to the card.
    """
    drawings: dict[str, Draw] = {
        "outcome": partial(_outcome, on_call=on_call, guides=guides, answer=answer),
        "question": partial(_question, on_call=on_call),
        "summary": summary,
        "decision": _decision,
        "changes": _changes,
        "waits": _waits,
        "moved": _moved,
        "standing": _standing,
        "outdated": _outdated,
        "overrun": _overrun,
        "saved": saved,
        "review": partial(_review, guides=guides),
    }
    lines, more = drawings[kind](silent(view) if settled(answer) else view, event)
    return clip(lines[0], 300), [section("\n".join(lines)), *more, *answered(answer, view, site)]


def needless(kind: str, view: PlanView, event: Event | None) -> bool:
    """What the card, or the summary that follows at once, says anyway."""
    by_policy = kind == "decision" and event is not None and event.actor == "policy"
    only = kind == "outcome" and len(view.steps) == 1 and view.outcome == "succeeded"
    unseen = kind == "changes" and not (event and event.data.get("void"))  # nobody had approved it yet
    return by_policy or only or unseen


def notice(kind: str, text: str, user: str) -> tuple[str, list[Block]]:
    """What concerns everybody in the channel."""
    name = doer(user)
    said = {
        "stop": f":octagonal_sign: {name} stopped {escape(text)}. An admin lets it go on by `/plan resume "
        f"{escape(text.partition(':')[0])}`.",
        "resume": f":white_check_mark: {name} resumed {escape(text)}.",
        "glass": f":rotating_light: {name} used the emergency override for plan {escape(text)}. Somebody "
        "else, please look at it afterwards: `/plan reviewed`, its number, and what you found.",
        "recurring": f":repeat: Recurring plan {user}: {escape(text)}",
    }[kind]
    return said, [section(said)]


def _outcome(
    view: PlanView, event: Event | None, *, on_call: str, guides: bool, answer: Event | None
) -> tuple[list[str], list[Block]]:
    data = event.data if event else {}
    if not view.has(data["step"]):  # of an earlier revision
        said = escape(str(data.get("summary") or data.get("reason", "")))
        return [f"{said.rstrip('.')}. (That step is no longer part of the plan.)"], []
    step = view.step(data["step"])
    name, said = escape(title(view, step.spec)), escape(_told(step, data))
    if event and event.verb == "succeed":
        short = escape(first_clauses(_told(step, data), LINE))
        return [f":white_check_mark: {named(f'*{name}*', short)}{spent(step, short)}"], []
    if step.state == StepState.succeeded and step.report and _by_hand(answer):
        now = f":white_check_mark: {named(f'*{name}*', escape(clip(step.report.summary, 500)))}"
        return [now, *([] if data.get("asks") else [f"Before: {said}"])], []
    failed = f"*{name} {_failed(step, elsewhere(name, said))}{spent(step, said)}"
    what = named(f"*{name}*", said) if data.get("asks") else failed
    if not step.choices:
        return [f"{':raised_hand:' if data.get('asks') else ':x:'} {what}", *advice(step)], []
    more, buttons = asking(view, step, guides)
    return [f"{called(view, on_call)}  {what}", *more], buttons


def _by_hand(answer: Event | None) -> bool:
    """Whether a person's word has made it done; what was tried again tells of that in a line of its own."""
    return answer is not None and answer.data.get("choice") in {"confirm", "take_over"}


def _failed(step: StepView, said: str) -> str:
    """How it failed; one whose time has passed did nothing."""
    more, planned = said.removeprefix(UNSTARTED), step.spec.schedule
    if more != PASSED and "next" not in step.choices:
        return f"failed:* {said}"
    time = f" ({at(planned, planned.not_before)})" if step.choices and planned.not_before else ""
    return f"missed its time*{time}{'' if more == PASSED else f': {more}'}"


def _told(step: StepView, data: dict[str, Any]) -> str:
    said = data.get("summary") or (step.report.summary if step.report else data.get("reason", ""))
    return placeless(str(said))


def _review(view: PlanView, event: Event | None, *, guides: bool) -> tuple[list[str], list[Block]]:
    """What the planner decided by itself, on which rung, or what it must ask."""
    data = event.data if event else {}
    step = view.step(data["step"]) if view.has(str(data.get("step"))) else None
    name, why = (
        escape(title(view, step.spec) if step else str(data.get("step", ""))),
        escape(str(data["reason"])),
    )
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
        lines = [f"• {change}" for change in pointed([str(one) for one in beyond], view)]
        return [line, "This goes beyond what was approved; please decide it on the card:", *lines], []
    asked = data["verb"] == "ask" and view.state == PlanState.stalled and not view.looking
    if asked and step and step.choices:  # its own message has the question and the buttons, and has called
        return [f"{line.rstrip('.')}. Please answer above, where it failed."], []
    value = pack(view.id, view.revision, view.digest)
    made = [button("Go On", "answer_confirm", value)] if view.spec and view.spec.review == "always" else []
    made += [button("Roll Back", "answer_rollback", value)] if undoable(view) else []
    made += [button("Tell It How", "answer_guide", value)] if guides else []
    made.append(button("Stop", "answer_abort", value))
    return [line], [actions(f"answer_{view.id}", *made)] if asked and not data.get("step") else []


def _overrun(view: PlanView, event: Event | None) -> tuple[list[str], list[Block]]:
    data = event.data if event else {}
    name = title(view, view.step(data["step"]).spec) if view.has(str(data.get("step"))) else ""
    then = {
        "finish": "It is left to finish.",
        "ask": f"{who(view)}: shall it go on? If not: `/plan cancel {view.id} <reason>`. Else it finishes.",
        "stop": "As was approved, it is told to stop, and the plan ends.",
    }[data.get("then", "finish")]
    return [f":warning: *{escape(name)}* still runs, and its approved time is over. {then}"], []


def _standing(view: PlanView, event: Event | None) -> tuple[list[str], list[Block]]:
    """Asked once of those who approved a run: whether that shall hold for the next ones."""
    data, people = event.data if event else {}, " ".join(f"<@{user}>" for user in view.approved_by)
    often = f":repeat: This recurs every {escape(str(data.get('said')))} in {escape(str(data.get('zone')))}."
    if view.stands:
        return [f"{often} It is approved for {view.stands} more runs."], []
    asked = f"{often} {people}, shall your approval hold for the next {data.get('runs')} runs?"
    how = "Only while the plan stays exactly this one. Each run has its card, and can be cancelled there."
    value = pack(view.id, view.revision, view.digest)
    press = button(f"Approve {data.get('runs')} More Runs", "stand", value)
    return [asked, how], [actions(f"stand_{view.id}_r{view.revision}", press)]


def _moved(view: PlanView, event: Event | None) -> tuple[list[str], list[Block]]:
    """To those who approved it: the time is another one, and they may not be there then."""
    data, mover = (event.data, event.actor) if event else ({}, "")
    people = " ".join(f"<@{user}>" for user in view.approved_by if user != mover)
    name = doer(mover) if mover else "Somebody"
    kept = " The approval stays." if view.approved_by else ""
    stays = f" {people}, your approval stays; Cancel is on the card." if people else kept
    if not view.has(str(data.get("step"))) or "to" not in data:
        return [f":clock2: {name} moved it later.{stays}"], []
    step, to = view.step(data["step"]).spec, datetime.fromisoformat(data["to"])
    what = escape(title(view, step))
    return [f":clock2: {name} moved *{what}* to {spoken(to, step.schedule.zone)}.{stays}"], []


def _waits(view: PlanView, event: Event | None) -> tuple[list[str], list[Block]]:
    data = event.data if event else {}
    name = title(view, view.step(data["step"]).spec) if view.has(str(data.get("step"))) else ""
    return [f":warning: *{escape(name)}* waits and does not start: {escape(str(data.get('reason', '')))}"], []


def _outdated(view: PlanView, event: Event | None) -> tuple[list[str], list[Block]]:
    """What has changed since it was approved: said once, and with the way on as long as it holds."""
    reasons = [f"• {escape(str(line))}" for line in (event.data if event else {}).get("reasons", [])]
    line = (
        ":warning: What this plan rests on has changed since it was approved, so it does not go on as it is:"
    )
    return [line, *reasons], updating(view)


def _question(view: PlanView, event: Event | None, *, on_call: str) -> tuple[list[str], list[Block]]:
    data = event.data if event else {}
    if not view.has(str(data.get("step"))):
        return [f"{called(view, on_call)}  *It cannot go on:* {escape(str(data.get('reason', '')))}"], []
    step = view.step(data["step"])
    name, why = escape(title(view, step.spec)), escape(str(data.get("reason", "")))
    cut = f"*{name} was cut off.* {why}"
    then = "I cannot tell whether it happened, so it does not run again by itself."
    if step.state != StepState.unknown:
        return [f":white_check_mark: {cut}", f"Since then it is known: {step.state}."], []
    if step.probing:
        return [cut, f"{then} Checking…"], []
    value = pack(view.id, view.revision, view.digest, step.spec.id)
    meant = "\n".join(f"*{label}*: {RESOLVED[answer]}" for answer, label in RESOLVE.items())
    buttons = [button(label, f"resolve_{answer}", value) for answer, label in RESOLVE.items()]
    lines = [f"{called(view, on_call)}  {cut}", then]
    return lines, [section(meant), actions(f"resolve_{step.spec.id}", *buttons)]


def _decision(view: PlanView, event: Event | None) -> tuple[list[str], list[Block]]:
    if event is None:
        return [standing(view, view.created_at)], []
    actor = doer(event.actor)
    data = event.data
    if event.verb == "approve" and data.get("given", 0) < data.get("needed", 0):
        count = f"{data['given']} of {data['needed']}"
        return [f":white_check_mark: {actor} approved {_which(view, data)}: {count}"], []
    if event.verb == "approve" and "parts" in data:
        return [f":rotating_light: {actor} used the emergency override: it runs without its approvals."], []
    why = f"“{escape(str(data.get('reason', '')).strip('“”'))}”"
    asked = person(view.requester)
    whom = "" if event.actor == view.requester else f"; {asked}"
    runs = f"{whom}{',' if whom else ':'} it runs as planned."
    line = {
        "approve": f":white_check_mark: {actor} approved {_which(view, data)}{runs}",
        "reject": f":no_entry: {actor} rejected it{whom}: {why}",
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
    standing = f", for {data.get('left', 0)} more runs too" if data.get("left") else ""
    standing = standing or (", the last run that this was good for" if "standing" in data else "")
    return f"revision {data['revision']}{standing}"


def _changes(view: PlanView, event: Event | None) -> tuple[list[str], list[Block]]:
    """To those whose approval no longer counts; what is different stands on the card, above Approve."""
    data = event.data if event else {}
    void = " and ".join(f"<@{user}>" for user in data.get("void", []))
    changed = [f"• {escape(line)}" for line in data.get("changes", [])]
    name = doer(event.actor if event else view.author)
    return [f":repeat: {name} changed the plan. {void}, your approval no longer counts:", *changed], []


def settled(answer: Event | None) -> bool:
    """Whether a person has answered for good: words to the planner still leave the buttons."""
    return answer is not None and answer.data.get("choice") != "guide"


def silent(view: PlanView) -> PlanView:
    """The same without its questions: what was answered asks nothing, even if the step fails again."""
    return replace(view, steps=tuple(replace(step, choices=()) for step in view.steps))


def answered(answer: Event | None, view: PlanView, site: str) -> list[Block]:
    """Who chose what, in the place of the buttons, and who decides next."""
    chosen = CHOSEN.get(str(answer.data.get("choice") or answer.data.get("answer"))) if answer else None
    if answer is None or chosen is None:
        return []
    words = str(answer.data.get("text", ""))
    told = f": “{escape(clip(words, 500))}”" if words else ""
    who_ = "The planner" if answer.actor == "planner" else f"<@{answer.actor}>"
    return [context(f"{who_} chose *{chosen}*{told} · {moment(answer.at)}{_next(answer, view, site)}")]


def _next(answer: Event, view: PlanView, site: str) -> str:
    if answer.data.get("choice") != "skip" or view.state != PlanState.proposed:
        return ""
    where = linked(permalink(site, view.channel, view.card), "the changed plan")
    return f" · {who(view)}, please approve {where}"
