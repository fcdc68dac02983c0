"""One round of the bot's own work: `tend` does what must not wait, `to_think` says what waits."""

import logging
import time
from collections.abc import Mapping
from functools import partial

from bot.context import Bot
from bot.plans.permits import permit
from bot.plans.propose import give_up, propose, stall
from bot.plans.review import Work, reviews
from bot.plans.reword import reword, tell_it_broke, tell_why_not
from bot.plans.up_to_date import compare
from bot.turns.circuit_breaker import guard
from bot.turns.recurring_runs import invite, recur, stand_in
from bot.turns.reminders import remind
from storage.errors import Conflict, SignoffError, Unavailable

AGAIN = 30.0  # seconds in which what is thought about again comes last
logger = logging.getLogger(__name__)


def tend(bot: Bot) -> None:
    """What must not wait for a planner that thinks."""
    bot.store.expire()
    bot.store.give_up_looking()
    guard(bot)
    recur(bot)
    stand_in(bot)
    invite(bot)
    permit(bot)
    bot.store.redraw_due()


def look_after(bot: Bot, site: str = "") -> None:
    """Plans that wait: what has changed under them, and who shall hear that they do."""
    compare(bot)
    remind(bot, site)
    bot.store.note_visits()
    bot.store.tell_stories()


def to_think(bot: Bot, served: Mapping[str, float]) -> list[tuple[str, Work]]:
    """What needs thought, each with whose wish it is: reviews, then changes, then wishes."""
    whose = dict(bot.store.wishes(served))
    planning = [Work(plan_id, propose, give_up, stall) for plan_id in whose]
    if not (work := [*reviews(bot), *changes(bot), *planning]) or not bot.store.contracts():
        return []  # without a worker that has said what it can do, a wish waits
    return [(whose.get(one.plan_id, ""), one) for one in _latest_last(work, served, time.monotonic())]


def _latest_last(work: list[Work], served: Mapping[str, float], now: float) -> list[Work]:
    """What was just thought about, and is still there, lets the others go first."""
    return sorted(work, key=lambda one: served.get(line(one), -AGAIN) > now - AGAIN)


def line(one: Work) -> str:
    """Where it stands in line: alone at its plan."""
    return f"plan {one.plan_id}"


def attempt(bot: Bot, one: Work) -> None:
    """Think about one plan; Conflict when somebody else was faster, also with saying that it failed."""
    try:
        one.do(bot, one.plan_id)
    except (Conflict, Unavailable):
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
