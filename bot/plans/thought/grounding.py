"""What is known before a wish is planned: from rows and the thread, for whoever reads its channel."""

import logging
from collections.abc import Iterable, Iterator
from datetime import timedelta
from functools import partial
from typing import Any

from bot.context import Bot
from bot.people import Unidentified
from bot.planner.grounding import facts
from bot.planner.grounding.facts import Said
from bot.planner.grounding.names import belonging, environment, named
from bot.planner.model.advice import bounded
from bot.planner.model.prompt import Ground, plain
from bot.policy.authorize import terms
from storage.contract.capability import Contract
from storage.contract.spec import PlanSpec, StepSpec
from storage.contract.states import OPEN, StepState
from storage.plans.planning_reads import Found
from storage.reading.plan_view import PlanView

RECENT = 60  # plans that are looked through
FRESH = timedelta(hours=24)  # how old a report may be that is told as a state
CALLS = 12  # actions whose policy is told
logger = logging.getLogger(__name__)


def ground(bot: Bot, view: PlanView, text: str) -> Ground:
    """Everything, by the tag that a model reads it under; empty ones are left out."""
    said = thread(bot, view)
    others = readable(bot, view)
    near = before(view, others)
    words = [text, *(one.text for one in said), *(other.text for other in near)]
    return {
        "thread": facts.thread(said),
        "earlier": facts.earlier(near),
        "known": known(bot, view, words, others),
        "looked": [told(one) for one in bot.store.looked(view.id)],
    }


def ground_of_change(bot: Bot, view: PlanView) -> Ground:
    """For a change of a proposal: what was said about it, and what holds changes back."""
    return {"thread": facts.thread(thread(bot, view)), "known": around(bot, view)}


def readable(bot: Bot, view: PlanView) -> list[PlanView]:
    """The newest other plans, as far as whoever reads this one's channel could read of them."""
    return [other for other in bot.store.recent(RECENT) if other.id != view.id and shared(bot, view, other)]


def shared(bot: Bot, view: PlanView, other: PlanView) -> bool:
    """Whether everybody who reads the card of one could have read the other's."""
    if other.team != view.team:
        return False
    if other.channel == view.channel or bot.people.public(other.channel):
        return True
    return view.channel.startswith("D") and bot.people.reads(view.requester, other.channel)


def before(view: PlanView, others: Iterable[PlanView]) -> list[PlanView]:
    """The plans that "again" or "the same" may mean: of this thread, then this person's last ones here."""
    made = [other for other in others if other.spec and other.channel == view.channel]
    here = [other for other in made if view.thread and view.thread in {other.thread, other.card}]
    mine = [other for other in made if other.requester == view.requester]
    return [*{other.id: other for other in (*here, *mine, *made)}.values()][: facts.LAST]


def thread(bot: Bot, view: PlanView) -> list[Said]:
    """What was said above the wish, by people and other programs; our own words come as plans."""
    place = view.thread or view.card
    if not place or bot.thread is None:
        return []
    try:
        found = bot.thread(view.channel, place)
    except Unidentified as error:
        logger.info("plan=%s is planned without its thread: %s", view.id, error)
        return []
    ours = {bot.people.home.user, bot.people.home.bot} - {""}
    kept = [one for one in found if one.get("user") not in ours and one.get("bot_id") not in ours]
    return [_said(bot, view, one) for one in kept if one.get("text") and not _the_wish(view, one["text"])]


def _said(bot: Bot, view: PlanView, one: dict[str, Any]) -> Said:
    user = str(one.get("user", ""))
    person = bool(user) and not one.get("bot_id")
    name = bot.people.called(user) if person else "a program"
    text = bot.store.redact.text(str(one["text"]))
    return Said(name, text, str(one.get("ts", "")), person and _instructs(bot, view, user))


def _instructs(bot: Bot, view: PlanView, user: str) -> bool:
    try:
        return bot.may(user, "amend", view)
    except Unidentified:
        return False


def _the_wish(view: PlanView, text: str) -> bool:
    return " ".join(text.split()).endswith(" ".join(view.text.split()))


def known(bot: Bot, view: PlanView, words: list[str], others: list[PlanView]) -> dict[str, Any]:
    """State of what is named, last plans on it, and everything that will hold a change back."""
    now, config = bot.store.clock(), bot.config
    things = named(words, config)
    reads = [*_reports(others), *_looks(bot, view, others)]
    about = {
        f"{table} {name}": _filled({
            "environment": environment(table, name, config),
            "belongs": belonging(table, name, config),
            "last_seen": facts.last_seen(name, (r for r in reads if now - r[3] < FRESH)),
            "last_plans": facts.last_plans(name, others),
        })
        for table, name in things
    }  # fmt: skip
    return _filled({
        "named": about,
        "freezes": facts.freezes(config, now),
        "windows": facts.windows(config, now),
        "holidays": facts.holidays(config, now),
        "stops": [{"scope": stop.scope, "reason": plain(stop.reason, 200)} for stop in bot.store.stops()],
        "open_plans": [_open(other) for other in others if other.state in OPEN and other.spec][:10],
        "locks": [*_locks(bot, view, things, others)],
        "policy": [*_policy(bot, view, things)][:CALLS],
    })  # fmt: skip


def around(bot: Bot, view: PlanView) -> dict[str, Any]:
    """What holds changes back now, for a plan that runs."""
    now, config = bot.store.clock(), bot.config
    stops = [{"scope": stop.scope, "reason": plain(stop.reason, 200)} for stop in bot.store.stops()]
    found = {"freezes": facts.freezes(config, now), "windows": facts.windows(config, now), "stops": stops}
    return _filled(found)


def told(one: Found) -> dict[str, Any]:
    """One planning read, as a model reads it."""
    return {
        "call": f"{one.worker}.{one.action}", "parameters": bounded(dict(one.parameters), facts.DETAIL),
        "found": one.state == "made", "summary": plain(one.summary), "data": bounded(dict(one.data or {})),
    }  # fmt: skip


def _filled(given: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if value}


Read = tuple[StepSpec, dict[str, Any], str, Any]


def _reports(views: Iterable[PlanView]) -> Iterator[Read]:
    for view in views:
        for step in view.steps:
            if step.state == StepState.succeeded and not step.changes and step.report and step.ended_at:
                yield step.spec, step.report.data or {}, step.report.summary, step.ended_at


def _looks(bot: Bot, view: PlanView, others: Iterable[PlanView]) -> Iterator[Read]:
    """What was looked at for other plans whose channel may know."""
    mine = {other.id for other in others}
    for plan_id, one in bot.store.looked_lately(bot.store.clock() - FRESH):
        if plan_id in mine and one.at:
            step = StepSpec(id="look", worker=one.worker, action=one.action, parameters=dict(one.parameters))
            yield step, dict(one.data or {}), one.summary, one.at


def _open(view: PlanView) -> dict[str, Any]:
    return {"plan": view.id, "state": str(view.state), "request": plain(view.text, 200)}


def _changing(bot: Bot, things: list[tuple[str, str]]) -> Iterator[tuple[Contract, str, StepSpec]]:
    """Each action that changes something which was named, as a step on it."""
    for contract in bot.catalogue().contracts():
        for parameter, entries in contract.names.items() if contract.changes else ():
            for table, name in things:
                if name in entries:
                    place = environment(table, name, bot.config)
                    fields = contract.parameters.get("properties", {})
                    given: dict[str, Any] = {parameter: name}
                    given |= {"environment": place} if place and "environment" in fields else {}
                    yield (
                        contract,
                        name,
                        StepSpec(id="step", worker=contract.worker, action=contract.action, parameters=given),
                    )


def _locks(
    bot: Bot, view: PlanView, things: list[tuple[str, str]], others: Iterable[PlanView]
) -> Iterator[dict[str, Any]]:
    """Who holds what was named; of plans elsewhere only that there is one."""
    seen, told_of = set[str](), {other.id for other in others}
    for contract, name, step in _changing(bot, things):
        target = contract.locks(step.parameters)
        if target and target not in seen:
            seen.add(target)
            held = bot.store.holders([target]) - {view.id}
            numbers = sorted(held & told_of)
            if held:
                yield {"of": name, "held_by_plans": numbers or "a plan that is not told of here"}


def _policy(bot: Bot, view: PlanView, things: list[tuple[str, str]]) -> Iterator[dict[str, Any]]:
    """What each change of what was named would ask for, if it were asked for now."""
    ask = partial(
        terms, catalogue=bot.catalogue(), config=bot.config, now=bot.store.clock(), machine=view.machine
    )
    for contract, name, step in _changing(bot, things):
        asked = ask(PlanSpec(goal="x", steps=(step,)), authors=view.askers)
        yield _filled({
            "call": f"{contract.worker}.{contract.action}", "on": name, "risk": asked.risk,
            "approvals": asked.needed, "rules": [plain(said, 160) for said in asked.demands.said],
            "denied": [plain(why, 160) for why in asked.demands.denied],
        })  # fmt: skip
