"""What thinking costs: booked before anything else, and never over a budget by more than one call.

Calls at once share budgets: each sets aside what it may cost before it is made, and who finds no room beside
the others waits until they have booked.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from bot.context import Bot
from bot.planner.model.purse import Purse
from bot.planner.model.usage import ModelUnavailable, Usage
from storage.reading.plan_view import PlanView

PATIENCE = 120.0  # seconds that a thought waits for room
NAMES = ("this plan", "you, for today,", "everybody, for today,")


def over_budget(bot: Bot, view: PlanView) -> str:
    """Which budget of the model is used up, or ""."""
    for spent, limit, whom in zip(bot.store.spent(view.id), _limits(bot), NAMES, strict=True):
        if spent >= limit:
            return f"The model's budget for {whom} is used up ({spent:.2f} of {limit:.2f} USD)."
    return ""


@contextmanager
def affordable(bot: Bot, view: PlanView, clock: Callable[[], float] = time.monotonic) -> Iterator[None]:
    """Set aside what a thought may cost while it is under way; ModelUnavailable where a budget is used up."""
    purse, entry = bot.purse, (view.id, view.requester)
    with purse.room:
        until = clock() + PATIENCE
        while _crowded(bot, view, purse):
            if over := over_budget(bot, view):
                raise ModelUnavailable(over)
            if not purse.room.wait(timeout=max(until - clock(), 0.0)):
                raise ModelUnavailable("The model's budget is set aside by other calls; please try again.")
        if over := over_budget(bot, view):
            raise ModelUnavailable(over)
        purse.aside.append(entry)
    try:
        yield
    finally:
        with purse.room:
            purse.aside.remove(entry)
            purse.room.notify_all()


def _crowded(bot: Bot, view: PlanView, purse: Purse) -> bool:
    """Whether calls that are under way may use up what is left."""
    aside, spent = purse.beside(view.id, view.requester), bot.store.spent(view.id)
    return any(
        kept and used + kept >= limit for used, kept, limit in zip(spent, aside, _limits(bot), strict=True)
    )


def _limits(bot: Bot) -> tuple[float, float, float]:
    return bot.config.model.per_plan, bot.config.model.per_user, bot.config.model.per_day


def book(bot: Bot, view: PlanView, model: str, usage: Usage) -> None:
    """On record first; a plan whose budget is used up asks no further."""
    tokens = {"input": usage.input, "output": usage.output, "written": usage.written, "read": usage.read}
    bot.store.book(view.id, model=model, usd=usage.usd, tokens=tokens, prompt=usage.prompt)
    if over := over_budget(bot, view):
        raise ModelUnavailable(over)
