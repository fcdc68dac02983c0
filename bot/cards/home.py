"""The home tab: what waits for this person, what runs, what comes, what was. A pure function of the views."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TypeVar

from bot.cards.blocks import Block, actions, beside, button, context, escape, header, linked, moment, section
from bot.cards.face.ended import fact_of
from bot.cards.face.lines import brief, subject
from bot.cards.forms import modal
from bot.cards.phrases import doer, openings, standing, starting, wisher
from bot.planner.runbooks.book import Runbook
from bot.planner.runbooks.questions import Form
from bot.untrusted import clip
from storage.config import SignoffConfig
from storage.contract.states import OPEN, PlanState, StepState
from storage.database.tables import Recurring, Stop
from storage.journal.stories import NO_FAILURES, Recovery
from storage.reading.plan_view import PlanView

MOST = 8  # entries in one part; the tab has room for a hundred blocks
RECENT = 4
FETCHED = 50  # ended plans that are looked at; of more, the tab says so
PAGE = 10  # plans in one page of the list
T = TypeVar("T")
Line = Callable[[], str]


@dataclass(frozen=True)
class HomeFacts:
    """What is there to be shown, to whoever looks."""

    plans: Sequence[PlanView]  # open ones, oldest first
    past: Sequence[PlanView]  # newest first
    stops: Sequence[Stop]
    runbooks: Sequence[Runbook]
    config: SignoffConfig
    now: datetime
    link: Callable[[PlanView], str]  # the address of a plan's card
    recurring: Sequence[Recurring] = ()
    read: Callable[[PlanView], PlanView] = lambda view: view  # of what was changed behind our back only that
    recovery: Recovery = NO_FAILURES


def home(user: str, channel: str, scene: HomeFacts, groups: frozenset[str] = frozenset()) -> Block:
    """The tab of one person; `channel` are their direct messages with us, `groups` those they are in."""
    admin = not {user, *groups}.isdisjoint(scene.config.people.admins)
    mine = [v for v in scene.plans if waits(v, user, groups)]
    running = [v for v in scene.plans if _runs(v, scene.now)]
    blocks = [
        *_switches(scene, admin=admin),
        *_part("Waiting for you", mine, lambda v: _waiting(v, scene), "Nothing waits for you."),
        *_part("Running", running, lambda v: section(_told(scene.read(v), scene)), "Nothing runs."),
        *_lines("Coming up", coming(scene), "Nothing is scheduled."),
        *_times(scene),
        *_recent(scene),
        *_recovered(scene.recovery),
        context(f"As of {moment(scene.now)} · only plans that you may see"),
    ]
    return {"type": "home", "private_metadata": channel, "blocks": blocks}


def _recovered(found: Recovery) -> list[Block]:
    """How often a failure needed nobody; the same figure as in `signoff stats` and for monitors."""
    if not found.ended:
        return []
    share = f"{found.recovered} of {found.ended} ended plans with a failed attempt recovered without a person"
    attempts = f"{found.failed_attempts} failed attempt{'s' if found.failed_attempts != 1 else ''}"
    return [context(f"{share} ({attempts}, all plans)")]


def closed(why: str) -> Block:
    """The tab of somebody who may not look."""
    return {"type": "home", "blocks": [section(escape(why))]}


def waits(view: PlanView, user: str, groups: frozenset[str] = frozenset()) -> bool:
    """Whether this person's decision or answer is wanted."""
    able = not {user, *groups}.isdisjoint(view.approvers)
    if view.state == PlanState.proposed:
        mine = user in view.authors and not view.demands.authors
        return able and not view.demands.denied and not mine and user not in view.approved_by
    if view.state == PlanState.planning:
        return bool(view.form) and user == view.requester
    asks = view.state == PlanState.stalled or any(step.state == StepState.unknown for step in view.steps)
    return asks and (able or user == view.requester)


def _switches(scene: HomeFacts, *, admin: bool) -> Iterable[Block]:
    everything = any(stop.scope == "everything" for stop in scene.stops)
    stopping = [button("Stop Everything", "home_stop", "everything", "danger")]
    ask = button("Make a Plan", "home_plan", "plan", "primary")
    look = [button("All Plans", "home_list", "0"), button("Runbooks", "home_runbooks", "runbooks")]
    yield actions("home_do", ask, *look, *(stopping if admin and not everything else ()))
    for stop in scene.stops[:MOST]:
        why = escape(clip(stop.reason, 500))
        text = f":octagonal_sign: *{escape(stop.scope)}* is stopped by {doer(stop.by)}: {why}"
        yield beside(text, button("Resume", "home_resume", stop.scope)) if admin else section(text)


def _part(name: str, found: Sequence[T], draw: Callable[[T], Block], none: str) -> list[Block]:
    """Its heading with how many there are, whatever is drawn of them."""
    return [_heading(name, found), *([*map(draw, found[:MOST])] or [context(none)]), *_more(found)]


def _lines(name: str, lines: Sequence[Line], none: str) -> list[Block]:
    """The same in one block, a line each."""
    shown = section("\n".join(line() for line in lines[:MOST])) if lines else context(none)
    return [_heading(name, lines), shown, *_more(lines)]


def _heading(name: str, found: Sequence[object]) -> Block:
    return header(f"{name} ({len(found)})")


def _more(found: Sequence[object]) -> list[Block]:
    return [context(f"… and {len(found) - MOST} more under All Plans")] if len(found) > MOST else []


def _waiting(given: PlanView, scene: HomeFacts) -> Block:
    view = scene.read(given)
    named = {"block_id": f"home_plan_{view.id}"}
    if view.state == PlanState.proposed:
        return beside(_told(view, scene), button("Review", "home_review", str(view.id))) | named
    if view.state == PlanState.planning and view.form:
        labels = [f.label for f in Form.model_validate_json(view.form).fields if not f.value]
        asked = f"*{escape(clip(' '.join(labels) or 'One more thing', 200))}*"
        said = f"{asked}\nYou asked: “{escape(clip(view.text, 200))}”"
        return beside(said, button("Answer", "home_clarify", str(view.id))) | named
    return section(_told(view, scene))


def _told(view: PlanView, scene: HomeFacts) -> str:
    goal = linked(scene.link(view), clip(subject(view), 200))
    risk = f"{view.risk.capitalize()} risk · " if view.risk and view.state == PlanState.proposed else ""
    asked = f"{wisher(view)} asked · plan {view.id}"
    return f"*{goal}*\n{risk}{escape(standing(view, scene.now))} · {asked}"


def _comes(view: PlanView, now: datetime) -> bool:
    """Approved, and nothing of it happens before its time."""
    left = [step for step in view.steps if step.state in {StepState.pending, StepState.running}]
    later = [step for step in left if step.state == StepState.pending and (step.not_before or now) > now]
    busy = starting(view, now) or any(step.state == StepState.running for step in left)
    return view.state == PlanState.approved and bool(later) and not busy


def _runs(view: PlanView, now: datetime) -> bool:
    return view.state == PlanState.approved and not _comes(view, now)


def coming(scene: HomeFacts) -> list[Line]:
    """What is approved and waits for its time, and what recurs, by time; how each is said, if it is."""
    found: list[tuple[datetime, Line]] = [
        (at, partial(_plan_line, view, at, scene)) for view in scene.plans if (at := _next(view, scene.now))
    ]
    found += [(one.next_at, partial(_recurring_line, one, scene)) for one in scene.recurring if one.next_at]
    return [line for _, line in sorted(found, key=lambda pair: pair[0])]


def _next(view: PlanView, now: datetime) -> datetime | None:
    """When a plan goes on that waits for its time."""
    times = (step.not_before for step in view.steps if step.state == StepState.pending)
    ahead = [at for at in times if at and at > now]
    return min(ahead) if ahead and _comes(view, now) else None


def _plan_line(given: PlanView, at: datetime, scene: HomeFacts) -> str:
    view = scene.read(given)
    zones = [step.spec.schedule.zone for step in view.steps if step.not_before == at]
    when = brief(at, zones[0] if zones else scene.config.zone, scene.now)
    return f"*{when}*  {linked(scene.link(view), clip(subject(view), 150))} · plan {view.id}"


def _recurring_line(one: Recurring, scene: HomeFacts) -> str:
    when = brief(one.next_at, one.zone, scene.now) if one.next_at else ""
    return f"*{when}*  {escape(clip(one.text, 150))} · recurring plan {one.id}"


def _times(scene: HomeFacts) -> list[Block]:
    lines = openings(scene.config, scene.now)
    return [context(escape(clip(" · ".join(lines), 1500)))] if lines else []


def _recent(scene: HomeFacts) -> list[Block]:
    ended = [view for view in scene.past if view.state not in OPEN and view.revision]
    if not ended:
        return [header("Recent"), context("No plan has ended yet.")]
    many = f"more than {len(ended)}" if len(scene.past) >= FETCHED else str(len(ended))
    shown = "\n".join(entry(view, scene.link(view), scene.now) for view in map(scene.read, ended[:RECENT]))
    return [header(f"Recent ({min(RECENT, len(ended))} of {many})"), section(shown)]


def entry(view: PlanView, link: str, now: datetime) -> str:
    """One line of a list: how it ended, what it was, whose."""
    good = view.state == PlanState.done and view.outcome == "succeeded"
    sign = ":white_check_mark:" if good else ":x:" if view.state == PlanState.done else ":white_circle:"
    what = linked(link, clip(fact_of(view) if good else subject(view), 150))
    how = "" if good else f" · {escape(standing(view, now))}"
    return f"{sign}  {what}{how} · {wisher(view)} · plan {view.id}"


def plan_list(plans: Sequence[PlanView], page: int, link: Callable[[PlanView], str], now: datetime) -> Block:
    """A page of all plans that this person sees, newest first; the button turns it."""
    first, many = page * PAGE, len(plans)
    shown = [section(entry(view, link(view), now)) for view in plans[first : first + PAGE]]
    last = min(first + PAGE, many)
    said = f"{first + 1} to {last} of {many}" if shown else "There are no plans."
    turn = f"Next {min(PAGE, many - last)}" if last < many else ""
    return modal("plans", "All plans", turn, {"page": page}, [*shown, context(said)])


def runbook_list(books: Sequence[Runbook]) -> Block:
    """What can be asked for without a model."""
    shown = [section(_book(book)) for book in books[:90]]
    return modal("runbooks", "Runbooks", "", {}, shown or [context("There are no runbooks.")])


def _book(book: Runbook) -> str:
    example = f"\n`/plan {escape(clip(str(book.examples[0]), 200))}`" if book.examples else ""
    return f"*{escape(clip(book.title, 200))}*{example}"
