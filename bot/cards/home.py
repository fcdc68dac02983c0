"""The home tab: what waits for this person, what runs, what comes, what was. A pure function of the views."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from bot.cards.blocks import Block, actions, beside, button, context, escape, header, linked, section
from bot.cards.phrases import doer, openings, standing
from bot.planner.runbooks.book import Runbook
from bot.untrusted import clip
from storage.config import SignoffConfig
from storage.contract.states import OPEN, PlanState, StepState
from storage.database.tables import Stop
from storage.reading.plan_view import PlanView

MOST = 8  # entries in one part; the tab has room for a hundred blocks


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


def home(user: str, channel: str, scene: HomeFacts, groups: frozenset[str] = frozenset()) -> Block:
    """The tab of one person; `channel` are their direct messages with us, `groups` those they are in."""
    held = {user, *groups}
    admin = not held.isdisjoint(scene.config.people.admins)
    blocks = [
        header("Signoff"), *_switches(scene, admin=admin),
        *_part("Waiting for you", [_waiting(v, user, scene) for v in scene.plans if waits(v, user, groups)],
               "Nothing waits for you."),
        *_part("Running now", [_entry(v, scene) for v in scene.plans if _runs(v, scene.now)],
               "Nothing runs."),
        *_part("Coming up", [_entry(v, scene) for v in scene.plans if _comes(v, scene.now)] + _times(scene),
               "Nothing is scheduled."),
        *_part("Recent outcomes", [_entry(v, scene) for v in scene.past if v.state not in OPEN],
               "No plan has ended yet."),
        *_part("Runbooks", [_book(book) for book in scene.runbooks], "There are no runbooks.",
               more="runbooks"),
    ]  # fmt: skip
    return {"type": "home", "private_metadata": channel, "blocks": blocks}


def closed(why: str) -> Block:
    """The tab of somebody who may not look."""
    return {"type": "home", "blocks": [section(escape(why))]}


def waits(view: PlanView, user: str, groups: frozenset[str] = frozenset()) -> bool:
    """Whether this person's decision or answer is wanted."""
    able = not {user, *groups}.isdisjoint(view.approvers)
    if view.state == PlanState.proposed:
        mine = user in view.authors and not view.demands.authors
        return able and not view.demands.denied and not mine and user not in view.approved_by
    asks = view.state == PlanState.stalled or any(step.state == StepState.unknown for step in view.steps)
    return asks and (able or user == view.requester)


def _switches(scene: HomeFacts, *, admin: bool) -> Iterable[Block]:
    stopping = [button("Stop Everything", "home_stop", "everything", "danger")]
    everything = any(stop.scope == "everything" for stop in scene.stops)
    ask = button("Plan Something", "home_plan", "plan", "primary")
    yield actions("home_do", ask, *(stopping if admin and not everything else ()))
    for stop in scene.stops[:MOST]:
        why = escape(clip(stop.reason, 500))
        text = f":octagonal_sign: *{escape(stop.scope)}* is stopped by {doer(stop.by)}: {why}"
        yield beside(text, button("Resume", "home_resume", stop.scope)) if admin else section(text)


def _part(name: str, entries: Sequence[Block], none: str, more: str = "list") -> list[Block]:
    rest = [context(f"… and {len(entries) - MOST} more: `/plan {more}`")] if len(entries) > MOST else []
    return [{"type": "divider"}, section(f"*{name}*"), *(entries[:MOST] or [context(none)]), *rest]


def _waiting(view: PlanView, user: str, scene: HomeFacts) -> Block:
    if view.state != PlanState.proposed:
        return _entry(view, scene)
    review = button("Review", "home_review", str(view.id))
    return beside(_told(view, scene), review) | {"block_id": f"home_plan_{view.id}"}


def _entry(view: PlanView, scene: HomeFacts) -> Block:
    return section(_told(view, scene))


def _told(view: PlanView, scene: HomeFacts) -> str:
    goal = linked(scene.link(view), clip(view.spec.goal if view.spec else view.text, 200))
    risk = f" · risk {view.risk}" if view.risk and view.state == PlanState.proposed else ""
    return (
        f"*{goal}*\n{escape(standing(view, scene.now))} · plan {view.id}, asked by <@{view.requester}>{risk}"
    )


def _comes(view: PlanView, now: datetime) -> bool:
    """Approved, and nothing of it happens before its time."""
    left = [step for step in view.steps if step.state in {StepState.pending, StepState.running}]
    later = [step for step in left if step.state == StepState.pending and (step.not_before or now) > now]
    busy = any(step.state == StepState.running for step in left)
    return view.state == PlanState.approved and bool(later) and not busy


def _runs(view: PlanView, now: datetime) -> bool:
    return view.state in {PlanState.planning, PlanState.approved} and not _comes(view, now)


def _times(scene: HomeFacts) -> list[Block]:
    lines = openings(scene.config, scene.now)
    return [context(*[f":clock2: {escape(line)}" for line in lines])] if lines else []


def _book(book: Runbook) -> Block:
    example = f": `/plan {escape(clip(str(book.examples[0]), 200))}`" if book.examples else ""
    return context(f"*{escape(clip(book.title, 200))}*{example}")
