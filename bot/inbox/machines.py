"""What machines ask for, whichever door they came by: a wish like any other, in the name of a person."""

from collections.abc import Iterable
from typing import Any

from bot.context import READ_BY_OTHERS, Bot
from bot.people import Unidentified
from bot.planner import importing, planning
from bot.planner.prepare import prepare
from bot.planner.runbooks.book import Runbook
from bot.planner.runbooks.questions import Given, Missing, NoPlan
from bot.plans import clarify
from bot.plans.propose import demand_in_scope, demand_room
from bot.policy.apply_rules import is_handle
from bot.policy.authorize import terms
from bot.untrusted import clip
from storage.contract.states import PlanState
from storage.errors import Conflict, NotAllowed, NotFound, SignoffError
from storage.exchange.asks import Asker

FOREIGN = "This token was made for another workspace."
RECURS = "What recurs is set up by a person: /plan every …"
NOW = {"when": "now"}


def asker(body: dict[str, Any]) -> Asker:
    """Who asks, as the door has put it into the row."""
    lists = {name: tuple(body[name]) for name in ("behind", "runbooks", "environments")}
    return Asker(machine=body["user"], team=body["team"], key=body["key"], print=body["print"], **lists)


def on_machine(bot: Bot, body: dict[str, Any]) -> str:
    """Make it a wish, or a plan to be approved; else the sentence that is its answer."""
    if body["team"] != bot.people.home.team:
        raise NotAllowed(FOREIGN)
    if "answers" in body:
        return _inform(bot, body)
    actor = bot.demand_machine(body["user"], body["owner"], "request")
    demand_known(bot, body["behind"])
    if bot.people.outside(body["channel"], fresh=True):
        raise NotAllowed(READ_BY_OTHERS)
    place = {"team": actor.team, "user": actor.user, "channel": body["channel"]}
    if body["plan"] is not None:
        return _planned(bot, body, place)
    if body["runbook"]:
        book = runbook(bot, body["runbook"])
        given = Given(runbook=book.id, values=NOW | body["slots"])
        said = summed_up(book, body["slots"])
        bot.store.request(said, **place, asker=asker(body), given=given.model_dump_json())
        return ""
    demand_wish(bot, body["text"])
    bot.store.request(body["text"], **place, asker=asker(body))
    return ""


def demand_known(bot: Bot, behind: Iterable[str]) -> None:
    """Whom a machine names is a person of Slack, or a handle that keeps changes from being allowed."""
    for user in behind:
        try:
            is_handle(user) or bot.people.actor(user)
        except Unidentified:
            raise Unidentified(f"Slack does not say who {user} is, so nothing was asked for.") from None


def runbook(bot: Bot, name: str) -> Runbook:
    """A runbook that can be used here, by its id."""
    known = {book.id: book for book in bot.usable()}
    if name not in known:
        raise NotFound(f"There is no runbook “{clip(name, 60)}” that could be used here.")
    return known[name]


def summed_up(book: Runbook, slots: dict[str, str]) -> str:
    """A wish without words: what was chosen."""
    return f"{book.title} ({', '.join(f'{name}: {value}' for name, value in slots.items())})"


def demand_wish(bot: Bot, text: str) -> None:
    """What leaves no plan is refused at once: a recurrence, and what nobody here can plan."""
    contracts = bot.store.contracts()
    if not contracts:
        return
    try:
        made = planning.plan(text, bot.runbooks, bot.config, contracts=contracts, now=bot.store.clock())
    except Missing:
        return
    except NoPlan as error:
        if not error.offers and bot.ask_model is None:
            raise
        return
    except SignoffError:
        return
    if made.every:
        raise NotAllowed(RECURS)


def _planned(bot: Bot, body: dict[str, Any], place: dict[str, str]) -> str:
    """A plan that comes whole: checked, priced by policy and put before people as any other."""
    asks, catalogue, now = asker(body), bot.catalogue(), bot.store.clock()
    draft, notes = importing.read(body["plan"], catalogue, bot.runbooks, bot.config)
    spec = prepare(draft, catalogue, bot.config, now)
    demand_in_scope("", spec, catalogue, asks.runbooks, asks.environments)
    authors = (*dict.fromkeys((place["user"], *asks.behind)),)
    asked = terms(spec, catalogue, bot.config, authors=authors, now=now, machine=asks.machine)
    demand_room(bot, spec, catalogue, asked)
    bot.store.request_planned(
        spec.goal, spec, asked, **place, thread="", notes=notes, asker=asks, private=False
    )
    return ""


def _inform(bot: Bot, body: dict[str, Any]) -> str:
    """What was missing, from whoever asked; before there is a plan, so nothing is decided by it."""
    ask = bot.store.ask_of(body["key"])
    view = bot.store.view(ask.plan_id) if ask and ask.plan_id else None
    if view is None or view.state != PlanState.planning or view.machine != body["user"]:
        raise Conflict("Nothing is missing (any more).")
    bot.demand_machine(body["user"], body["owner"], "request", view)
    clarify.fill_in(bot, body["user"], view, body["answers"])
    return ""
