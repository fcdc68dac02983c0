"""Whether the words of a plan are those that were put on record: wish, goal, purposes, previews, reports."""

from collections.abc import Sequence
from dataclasses import replace

from sqlmodel import col

from storage.database.tables import Event, Plan, Preview, Step
from storage.journal.chain import broken_link
from storage.journal.words import PREVIEWED, report_hash, words_hash
from storage.memory import Memory
from storage.reading.plan_view import PlanView
from storage.transaction import Transaction, of_revision


def as_recorded(memory: Memory, view: PlanView) -> PlanView:
    """The plan for a list; of one whose words were changed behind our back only that they were."""
    return unless(tampered(memory, view.id), view)


def unless(why: str, view: PlanView) -> PlanView:
    """The plan; without its words where it was found why they are not to be shown."""
    return replace(view, text=f"{HIDDEN}{why}", reason="", form="", spec=None, steps=()) if why else view


HIDDEN = "not shown: "


def tampered(memory: Memory, plan_id: int) -> str:
    """What in a plan's words its journal does not bear out, or "".

    PostgreSQL reads row after row as each stands: what others put on record meanwhile is no forgery, and the
    look is repeated until nobody has moved the plan during it.
    """
    why = ""
    for _ in range(LOOKS):
        with memory.read() as t:
            plan = t.plan(plan_id)
            why = _found(t, plan)
            after = t.plan(plan_id)
        if not why or (plan.version, plan.head) == (after.version, after.head):
            break
    return why


LOOKS = 10


def _found(t: Transaction, plan: Plan) -> str:
    events = t.rows(Event, col(Event.plan_id) == plan.id, order=col(Event.seq))
    if not events and plan.state in ENDED:
        return ""  # forgotten by retention, which is on record elsewhere
    found = _broken(plan, events) or _misquoted(t, plan, events)
    return found or _misreported(t, plan, events) or _mispreviewed(t, plan, events)


ENDED = {"done", "rejected", "expired", "cancelled"}


def _broken(plan: Plan, events: Sequence[Event]) -> str:
    whole = events and broken_link([*events]) is None
    return "" if whole and (plan.events, plan.head) == (len(events), events[-1].hash) else JOURNAL


JOURNAL = "its journal was changed behind the bot's back"


def _misquoted(t: Transaction, plan: Plan, events: Sequence[Event]) -> str:
    asked = events[0].data
    if (asked.get("text"), asked.get("channel")) != (plan.text, plan.channel):
        return "its wish or its channel was changed behind the bot's back"
    said = [event.data["words"] for event in events if "words" in event.data]
    if said and plan.revision and words_hash(vars(t.revision(plan))) != said[-1]:
        return "it does not read as it was proposed: it was changed behind the bot's back"
    return ""


def _misreported(t: Transaction, plan: Plan, events: Sequence[Event]) -> str:
    ended = {event.data["step"]: event for event in events if _reports(event)}
    for step in t.steps(plan):
        if step.report is not None and not _bears_out(ended.get(step.key), step):
            return "a report in it was changed behind the bot's back"
    return ""


def _reports(event: Event) -> bool:
    """Whether this wrote a step's report. An earlier release did not name it by its hash everywhere."""
    said = event.data.get("answer") == "ran" or event.data.get("choice") in {"confirm", "take_over"}
    return "step" in event.data and ("report" in event.data or event.verb == "fail" or said)


def _bears_out(event: Event | None, step: Step) -> bool:
    return event is not None and event.data.get("report") in {None, report_hash(step.report or {})}


def _mispreviewed(t: Transaction, plan: Plan, events: Sequence[Event]) -> str:
    shown = _shown(events, plan.revision)
    told = {event.data["step"]: event.data for event in events if _previews(event, shown)}
    for preview in t.rows(Preview, *of_revision(Preview, plan)):
        said = told.get(preview.key, {})
        known = [name for name in PREVIEWED if name in said]  # an earlier release told of text and basis only
        if preview.state != "wanted" and (
            not known or any(said[name] != getattr(preview, name) for name in known)
        ):
            return "a preview in it was changed behind the bot's back"
    return ""


def _shown(events: Sequence[Event], revision: int) -> int:
    """The revision whose previews this one shows: what was only moved later keeps those of the one before."""
    moved = {event.data["revision"] for event in events if event.verb == "postpone"}
    while revision in moved:
        revision -= 1
    return revision


def _previews(event: Event, revision: int) -> bool:
    return event.verb == "preview" and event.data.get("revision") == revision
