"""What was asked for by another door than Slack: a wish or a whole plan, for a person whom Slack knows."""

from typing import Any

from bot.context import Bot
from bot.inbox.machines import on_machine
from bot.planner import importing
from bot.planner.prepare import prepare
from bot.plans.problems import problem
from bot.policy.authorize import Actor, terms
from storage.contract.spec import PlanSpec
from storage.errors import InvalidPlan, NotAllowed, SignoffError

PLANNED = "plan "  # before the number of what was made
NOBODY = (
    "Nobody in Slack stands behind the login “{login}”, so only a plan that changes nothing is proposed. An "
    "administrator can name the person in signoff.toml, under [people.logins]."
)
TEXT_LONGEST = 2000


def on_ask(bot: Bot, body: dict[str, Any]) -> str:
    """Put it before people as if its person had said it in Slack; "plan 7", or why not."""
    if "owner" in body:
        return on_machine(bot, body)
    actor = _behind(bot, body)
    place = {"team": actor.team, "user": actor.user, "channel": body["channel"], "thread": ""}
    if "plan" not in body:
        return f"{PLANNED}{bot.store.request(_wish(body, actor), **place)}"
    spec, notes = _whole(bot, body["plan"])
    asked = terms(spec, bot.catalogue(), bot.config, authors=(actor.user,), now=bot.store.clock())
    if actor.terminal and _changes(bot, spec):
        raise NotAllowed(NOBODY.format(login=_name(body)))
    number = bot.store.request_planned(spec.goal, spec, asked, notes=notes, **place)
    return f"{PLANNED}{number}"


def _behind(bot: Bot, body: dict[str, Any]) -> Actor:
    """The person of this login, as Slack knows them; nobody's login is an operator's, and changes nothing."""
    user = bot.config.people.logins.get(_name(body), "")
    if user:
        return bot.demand_asking(user, body["channel"])
    if bot.people.outside(body["channel"], fresh=True):
        raise NotAllowed("That channel is shared with another organisation, so I plan nothing there.")
    return Actor(bot.people.home.team, body["user"], terminal=True)


def _name(body: dict[str, Any]) -> str:
    return str(body["user"]).partition(":")[2]


def _wish(body: dict[str, Any], actor: Actor) -> str:
    if actor.terminal:  # what it will become nobody knows yet
        raise NotAllowed(NOBODY.format(login=_name(body)))
    wish = " ".join(str(body["text"]).split())
    if not wish or len(wish) > TEXT_LONGEST:
        raise SignoffError(f"A wish has between 1 and {TEXT_LONGEST} characters; this has {len(wish)}.")
    return wish


def _whole(bot: Bot, raw: Any) -> tuple[PlanSpec, list[str]]:
    catalogue, now = bot.catalogue(), bot.store.clock()
    try:
        draft, notes = importing.read(raw, catalogue, bot.runbooks, bot.config)
    except InvalidPlan as error:
        raise SignoffError(f"This is no plan. {'; '.join(map(str, error.issues))}.") from None
    try:
        return prepare(draft, catalogue, bot.config, now), notes
    except InvalidPlan as error:
        told = " ".join(problem(issue, draft, catalogue.find) for issue in error.issues)
        raise SignoffError(f"This cannot be proposed. {told}") from None


def _changes(bot: Bot, spec: PlanSpec) -> bool:
    found = (bot.catalogue().find(step) for step in (*spec.steps, *spec.rollback))
    return any(contract is None or contract.changes for contract in found)
