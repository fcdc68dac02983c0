"""One round of the bot's own work: `tend` does what must not wait, `think` asks the planner."""

import logging
from functools import partial

from bot.context import Bot
from bot.plans.permits import permit
from bot.plans.propose import give_up, propose, stall
from bot.plans.review import Work, reviews
from bot.plans.reword import reword, tell_it_broke, tell_why_not
from bot.turns.circuit_breaker import guard
from bot.turns.recurring_runs import recur, stand_in
from storage.errors import Conflict, SignoffError

logger = logging.getLogger(__name__)


def tend(bot: Bot) -> None:
    """What must not wait for a planner that thinks."""
    bot.store.expire()
    guard(bot)
    recur(bot)
    stand_in(bot)
    permit(bot)


def think(bot: Bot) -> None:
    """Every wish that has no plan yet, and every plan that needs thought. One that breaks stops no other."""
    wishes = [Work(plan_id, propose, give_up, stall) for plan_id in bot.store.to_plan()]
    if not (work := [*reviews(bot), *changes(bot), *wishes]) or not bot.store.contracts():
        return  # without a worker that has said what it can do, a wish waits
    for one in work:
        try:
            attempt(bot, one)
        except Conflict as error:
            logger.info("plan=%s was decided elsewhere while it was thought about: %s", one.plan_id, error)


def attempt(bot: Bot, one: Work) -> None:
    """Think about one plan; Conflict when somebody else was faster, also with saying that it failed."""
    try:
        one.do(bot, one.plan_id)
    except Conflict:
        raise
    except SignoffError as error:
        one.refused(bot, one.plan_id, str(error))
    except Exception:
        logger.exception("thinking about plan %s broke", one.plan_id)
        one.broke(bot, one.plan_id)


def changes(bot: Bot) -> list[Work]:
    """What people want different in a proposal, in words that only a planner understands."""
    return [
        Work(
            one.body["plan"],
            partial(reword, asked=one),
            partial(tell_why_not, asked=one),
            partial(tell_it_broke, asked=one),
        )
        for one in bot.store.unhandled(thought=True)
    ]
