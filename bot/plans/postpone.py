"""Moving what waits to a later time with the approval that it has: by button, by form, or in words."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import chain, islice

from bot.cards.phrases import differences
from bot.context import Bot
from bot.policy import apply_rules as rules
from bot.times import when
from bot.times.windows import next_opening
from bot.times.zones import instant, spoken
from storage.config import Window, local
from storage.contract.postponing import moved
from storage.contract.spec import PlanSpec, StepSpec
from storage.errors import BadTime, Conflict, NotAllowed, SignoffError
from storage.reading.plan_view import PlanView, StepView

OFFERED = 3
AHEAD = 30  # openings that are looked at for as many that may be offered


def postpone(bot: Bot, user: str, view: PlanView, said: str, *, key: str = "") -> str:
    """Move it to the time that these words say; what was done, in a sentence."""
    bot.demand(user, "postpone", view)
    step = waiting(view, key)
    return move(bot, user, view, _understood(bot, step, said), key=step.spec.id)


def move(bot: Bot, user: str, view: PlanView, start: datetime, *, key: str = "") -> str:
    """Move a step that waits to `start`, and with it what waits behind it; the approval stays."""
    actor = bot.demand(user, "postpone", view)
    step = waiting(view, key)
    old, new = _moved(view, step, start)
    if why := _not_then(bot, view, step, start) or _untimely(bot, view, old, new):
        bot.store.refuse(view.id, "postpone", user=user, reason=why)
        raise NotAllowed(why)
    wait = timedelta(days=bot.config.policy.longest_wait_days)
    changes, about = differences(old, new), (step.spec.id, start)
    bot.store.postpone(
        view.id, new, user=actor.user, after=view.revision, wait=wait, changes=changes, about=about
    )
    return f"Moved to {spoken(start, step.spec.schedule.zone)}; the approval stays."


def waiting(view: PlanView, key: str = "") -> StepView:
    """The step of that id, or the first one, that waits for its time or has missed it."""
    found = [step for step in view.steps if step.movable and key in ("", step.spec.id)]
    if not found or view.spec is None:
        raise Conflict("Nothing of this plan waits for a time of its own.")
    return min(found, key=_begins)


def openings(bot: Bot, view: PlanView, step: StepView) -> list[tuple[datetime, datetime | None]]:
    """The next times that it could be moved to: as its windows open, or at the same hour of the next days."""
    when_, now = step.spec.schedule, bot.store.clock()
    length = when_.not_after - when_.not_before if when_.not_after and when_.not_before else None
    found = ((start, start + length if length is not None else None) for start in _starts(bot, step))
    good = ((start, end) for start, end in found if start > now and _may(bot, view, step, start))
    return [*islice(good, OFFERED)]


def opening(bot: Bot, view: PlanView) -> PlanView:
    """The plan with the next time of what has missed its own, for the button that moves it there."""

    def told(step: StepView) -> StepView:
        found = openings(bot, view, step) if "next" in step.choices else []
        return replace(step, opens=found[0][0]) if found else step

    return replace(view, steps=tuple(map(told, view.steps)))


def _may(bot: Bot, view: PlanView, step: StepView, start: datetime) -> bool:
    return not (_not_then(bot, view, step, start) or _untimely(bot, view, *_moved(view, step, start)))


def _starts(bot: Bot, step: StepView) -> Iterator[datetime]:
    after = _begins(step)
    if windows := _windows(bot, step.spec):
        return islice(iter(sorted(set(chain(*(_opens(window, after) for window in windows))))), AHEAD)
    zone = step.spec.schedule.zone
    there = local(after, zone)
    return (instant(there.date() + timedelta(days=n), there.time(), zone) for n in range(1, AHEAD))


def _opens(window: Window, after: datetime) -> Iterator[datetime]:
    """When it opens again and again after that moment."""
    for _ in range(AHEAD):
        try:
            start, after = next_opening(window, after)
        except BadTime:
            return
        yield start


def _understood(bot: Bot, step: StepView, said: str) -> datetime:
    """The instant that was said; “the next window” is the one after the one it has."""
    spec, now = step.spec, bot.store.clock()
    contract = bot.catalogue().find(spec)
    needs = timedelta(seconds=contract.timeout if contract else 0)
    wants = when.Wants(contract.environment(spec.parameters) if contract else "", needs)
    named = {*map(str.lower, bot.config.windows)} & {*re.findall(r"[\w-]+", said.lower())}
    if named or re.search(r"\bwindow\b", said, re.I):
        now = max(now, spec.schedule.not_after or _begins(step))
    found = when.resolve(said, now, zone=spec.schedule.zone, windows=bot.config.windows, wants=wants)
    if found.not_before is None:
        raise BadTime(_too_early(step))
    return found.not_before


def _not_then(bot: Bot, view: PlanView, step: StepView, start: datetime) -> str:
    """Why this is no later time, or ""."""
    return _too_early(step) if start <= max(_begins(step), bot.store.clock()) else ""


def _too_early(step: StepView) -> str:
    now = spoken(_begins(step), step.spec.schedule.zone)
    return f"It is planned for {now}, and only a later time keeps the approval. An earlier one is an edit."


def _untimely(bot: Bot, view: PlanView, old: PlanSpec, new: PlanSpec) -> str:
    """Which step would then stand in a freeze or outside its window, or ""."""
    now = bot.store.clock()
    found = rules.case(new, bot.catalogue(), bot.config, requester=view.requester, now=now)
    facts = {fact.step.id: fact for fact in found.facts}
    for before, after in zip(old.steps, new.steps, strict=True):
        start = after.schedule.not_before
        if before.digest() == after.digest() or start is None:
            continue
        fact = facts[after.id]
        if why := _frozen(bot, fact.environment, start) or _outside(bot, before, after):
            return why
        contract = bot.catalogue().find(after)
        if why := rules.closed(found, fact, timedelta(seconds=contract.timeout if contract else 0), start):
            return why
    return ""


def _frozen(bot: Bot, environment: str, start: datetime) -> str:
    for freeze in bot.config.freezes.values():
        if freeze.holds(environment, start):
            until = spoken(freeze.until, freeze.zone)
            return f"{environment or 'everything'} is frozen then, until {until}: {freeze.reason}"
    return ""


def _outside(bot: Bot, before: StepSpec, after: StepSpec) -> str:
    """What was approved in a window stays in one."""
    windows = _windows(bot, before)
    if not windows or any(_inside(window, after) for window in windows):
        return ""
    names = ", ".join(name for name, window in bot.config.windows.items() if window in windows)
    when_ = after.schedule
    if when_.not_after and any(_inside(window, _begun(after)) for window in windows):
        until = spoken(when_.not_after, when_.zone)
        return f"It keeps its length, until {until} then, and that goes past the end of its window ({names})."
    return f"It was approved for a window, and no window is open then. There is: {names}."


def _begun(step: StepSpec) -> StepSpec:
    """The same, if it took no time."""
    return step.model_copy(update={"schedule": step.schedule.model_copy(update={"not_after": None})})


def _windows(bot: Bot, step: StepSpec) -> list[Window]:
    """The windows that serve what it changes, if it was approved for one of them."""
    contract = bot.catalogue().find(step)
    place = contract.environment(step.parameters) if contract else ""
    serving = [w for w in bot.config.windows.values() if not place or w.serves(place)]
    return serving if _named(bot, step) or any(_inside(window, step) for window in serving) else []


def _named(bot: Bot, step: StepSpec) -> bool:
    return bool(step.schedule.window) and step.schedule.window in bot.config.windows


def _inside(window: Window, step: StepSpec) -> bool:
    start, end = step.schedule.not_before, step.schedule.not_after
    if start is None:
        return False
    try:
        opens, closes = next_opening(window, start)
    except BadTime:
        return False
    return opens <= start and (end or start) <= closes


def _moved(view: PlanView, step: StepView, start: datetime) -> tuple[PlanSpec, PlanSpec]:
    if view.spec is None:
        raise SignoffError("There is no plan to move yet.")
    return view.spec, moved(view.spec, _pending(view.steps), step.spec.id, start)


def _pending(steps: Iterable[StepView]) -> set[str]:
    return {step.spec.id for step in steps if step.movable}


def _begins(step: StepView) -> datetime:
    start = step.spec.schedule.not_before
    if start is None:
        raise Conflict("It waits for no time of its own.")
    return start
