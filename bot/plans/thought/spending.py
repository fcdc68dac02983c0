"""What thinking costs: booked before anything else, and never over a budget by more than one call.

Calls at once share budgets, whichever bot makes them: each sets aside what it may cost before it is made, and
who finds no room beside the others waits until they have booked.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import partial

from bot.context import Bot
from bot.planner.model.usage import ModelUnavailable, Usage
from storage.config import DEADLINES
from storage.errors import Unavailable
from storage.reading.plan_view import PlanView
from storage.safeguards.spending import NoRoom

AT_MOST = 1.0  # USD that all calls for one thought may cost, repairs included
AROUND = 60.0  # seconds that a thought may take besides its call
AGAIN = 0.25  # seconds after which it is looked again whether there is room
NAMES = ("this plan", "you, for today,", "everybody, for today,")
Spend = Callable[[str, Usage], None]


def over_budget(bot: Bot, view: PlanView) -> str:
    """Which budget of the model is used up, or ""."""
    for spent, limit, whom in zip(bot.store.spent(view.id), _limits(bot), NAMES, strict=True):
        if spent >= limit:
            return f"The model's budget for {whom} is used up ({spent:.2f} of {limit:.2f} USD)."
    return ""


@contextmanager
def affordable(
    bot: Bot, view: PlanView, clock: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> Iterator[Spend]:  # fmt: skip
    """Set aside what a thought may cost while it is under way; what is handed out books each of its calls.

    ModelUnavailable where a budget is used up. Others wait as long as what a dead one has set aside lasts.
    """
    lasts = max((DEADLINES | bot.config.model.deadlines).values()) + AROUND
    until = clock() + lasts
    while not (aside := _set_aside(bot, view, timedelta(seconds=lasts), last=clock() >= until)):
        pause(AGAIN)
    try:
        yield partial(book, bot, view, aside)
    finally:
        with suppress(Unavailable), bot.store.under():  # it is ours, whoever has the plan by now
            bot.store.release(aside)


def _set_aside(bot: Bot, view: PlanView, lasts: timedelta, *, last: bool) -> int:
    """The number of what was set aside; 0 where it may be tried again, unless this is the last try."""
    try:
        return bot.store.set_aside(view.id, usd=AT_MOST, limits=_limits(bot), lasts=lasts)
    except NoRoom as error:
        if (over := over_budget(bot, view)) or last:
            raise ModelUnavailable(over or str(error)) from None
        return 0


def _limits(bot: Bot) -> tuple[float, float, float]:
    return bot.config.model.per_plan, bot.config.model.per_user, bot.config.model.per_day


def book(bot: Bot, view: PlanView, aside: int, model: str, usage: Usage) -> None:
    """On record first; a plan whose budget is used up asks no further.

    Also by a bot that stood still and has lost the plan to another one: it was paid for.
    """
    tokens = {"input": usage.input, "output": usage.output, "written": usage.written, "read": usage.read}
    with bot.store.under():
        bot.store.book(
            view.id, model=model, usd=usage.usd, tokens=tokens, prompt=usage.prompt, aside=aside
        )  # fmt: skip
    if over := over_budget(bot, view):
        raise ModelUnavailable(over)
