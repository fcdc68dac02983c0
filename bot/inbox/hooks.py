"""What hooks said: a matter becomes one plan by the operator's route, is counted, and is over once."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from bot.context import READ_BY_OTHERS, Bot
from bot.inbox.machines import NOW, demand_known, runbook, summed_up
from bot.people import Unidentified
from bot.planner.runbooks.book import Runbook
from bot.planner.runbooks.questions import Given
from bot.planner.runbooks.slots import exact, names_of
from bot.untrusted import clip
from storage.contract.doors import Hook, Route
from storage.contract.states import OPEN, PlanState
from storage.database.tables import Alarm
from storage.errors import NotAllowed, NotFound, SignoffError, Unavailable
from storage.exchange.alarms import Said, Sounding
from storage.exchange.asks import Asker
from storage.plans.hooked import Wanted

NO_ROUTE = "No route of this hook fits."
COUNTED = "counted"
OVER = "over"
UNHEARD = "over, and nobody had heard of it"


@dataclass(frozen=True)
class Outcome:
    """What one call comes to."""

    answer: str
    matter: Sounding | None = None
    wanted: Wanted | None = None
    tried: bool = False
    told: str = ""


def on_hook(bot: Bot, body: dict[str, Any]) -> str:
    """All of it in one commit, with what was said; a hook is told nothing."""
    found = _outcome(bot, body)
    said = Said(body["key"], body["team"], body["hook"], body["heard"], found.answer)
    bot.store.hook_called(said, found.matter, wanted=found.wanted, tried=found.tried, told=found.told)
    return ""


def _outcome(bot: Bot, body: dict[str, Any]) -> Outcome:
    hook, heard = bot.config.hooks.get(body["hook"]), body["heard"]
    if hook is None or body["team"] != bot.people.home.team:
        return Outcome("There is no such hook any more.")
    route = routed(hook, heard["fields"])
    if route is None:
        return Outcome(NO_ROUTE)
    key = matter(route, heard)
    known = bot.store.alarm_of(body["team"], body["hook"], key)
    if not heard["open"]:
        return _over(bot, body, key, known)
    sounding = Sounding(body["team"], body["hook"], key, heard["count"], heard["words"])
    unanswered = bool(body.get("again")) and known is not None and not known.plan_id
    if known is not None and not unanswered and not _again(bot, known, route):
        return Outcome(COUNTED, sounding)
    try:
        return Outcome("became a plan", sounding, wanted=_wanted(bot, body, hook, route))
    except (Unidentified, Unavailable):
        raise
    except SignoffError as error:
        return Outcome(str(error), sounding, tried=True)


def routed(hook: Hook, fields: dict[str, str]) -> Route | None:
    """The first route whose every condition holds."""
    fitting = (
        route
        for route in hook.routes
        if all(field(fields, name) == want for name, want in route.when.items())
    )
    return next(fitting, None)


def field(fields: dict[str, str], name: str) -> str:
    """A field by its path; a label by its name alone."""
    return fields.get(name) or fields.get(f"labels.{name}", "")


def matter(route: Route, heard: dict[str, Any]) -> str:
    said = field(heard["fields"], route.one_per) if route.one_per else ""
    return f"{route.runbook}:{said or heard['key']}"


def _again(bot: Bot, known: Alarm, route: Route) -> bool:
    """Whether a known matter becomes a plan once more: its plan is over, and so is the pause."""
    view = bot.store.view(known.plan_id) if known.plan_id else None
    if view is not None and view.state in OPEN:
        return False
    return bot.store.clock() - known.planned_at >= timedelta(minutes=route.pause_minutes)


def _over(bot: Bot, body: dict[str, Any], key: str, known: Alarm | None) -> Outcome:
    """It is over: said once, in its plan's thread. What runs goes on; people decide what is left."""
    if known is None or not known.open:
        return Outcome(UNHEARD)
    view = bot.store.view(known.plan_id) if known.plan_id else None
    undecided = view is not None and view.state == PlanState.proposed
    more = " Nothing is decided yet: reject the plan if nobody wants it any more." if undecided else ""
    often = f"it was said {known.count:,} time{'s' if known.count != 1 else ''}"
    text = f":ballot_box_with_check: This is over, says the hook {body['hook']}; {often}.{more}"
    gone = Sounding(body["team"], body["hook"], key, 0, known.words, open=False)
    return Outcome(OVER, gone, told=text)


def _wanted(bot: Bot, body: dict[str, Any], hook: Hook, route: Route) -> Wanted:
    actor = bot.demand_machine(body["user"], hook.owner, "request")
    if bot.people.outside(hook.channel, fresh=True):
        raise NotAllowed(READ_BY_OTHERS)
    book = runbook(bot, route.runbook)
    slots = filled(bot, book, route, body["heard"]["fields"])
    people = behind(bot, hook, body["heard"]["sender"])
    demand_known(bot, people)
    asker = Asker(
        machine=body["user"], team=body["team"], key=f"ask:{body['key']}", print=body["key"],
        behind=people, runbooks=(book.id,),
    )  # fmt: skip
    given = Given(runbook=book.id, values=NOW | slots).model_dump_json()
    return Wanted(summed_up(book, slots), actor.user, hook.channel, given, asker)


def behind(bot: Bot, hook: Hook, sender: str) -> tuple[str, ...]:
    """Who is behind a call: a person here, or a handle that keeps changes from being allowed."""
    known = bot.config.people.known(sender) if sender else ""
    if ":" in known and hook.unknown_sender == "owner":
        return ()
    return (known,) if known else ()


def filled(bot: Bot, book: Runbook, route: Route, fields: dict[str, str]) -> dict[str, str]:
    """Slots from named fields. Only what is a name, a choice or a number passes: never anybody's words."""
    found = dict(route.values)
    for name, path in route.slots.items():
        slot, said = book.slots.get(name), field(fields, path)
        if slot is None:
            raise NotFound(f"The runbook {book.id} has no slot {name}.")
        closed = (
            names_of(slot, bot.config)
            or slot.inventory
            or slot.number
            or slot.kind in {"percent", "seconds", "version"}
        )
        value = exact(slot, said, bot.config) if closed else ""
        if not value:
            raise SignoffError(f"“{clip(said, 60)}” ({path}) is nothing that {name} could be here.")
        found[name] = value
    return found
