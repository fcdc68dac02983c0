"""What thinking costs: booked before anything else, and never over a budget by more than one call."""

from bot.context import Bot
from bot.planner.model.usage import ModelUnavailable, Usage
from storage.reading.plan_view import PlanView


def over_budget(bot: Bot, view: PlanView) -> str:
    """Which budget of the model is used up, or ""."""
    limits = (bot.config.model.per_plan, bot.config.model.per_user, bot.config.model.per_day)
    names = ("this plan", "you, for today,", "everybody, for today,")
    for spent, limit, whom in zip(bot.store.spent(view.id), limits, names, strict=True):
        if spent >= limit:
            return f"The model's budget for {whom} is used up ({spent:.2f} of {limit:.2f} USD)."
    return ""


def book(bot: Bot, view: PlanView, model: str, usage: Usage) -> None:
    """On record first; a plan whose budget is used up asks no further."""
    tokens = {"input": usage.input, "output": usage.output, "written": usage.written, "read": usage.read}
    bot.store.book(view.id, model=model, usd=usage.usd, tokens=tokens)
    if over := over_budget(bot, view):
        raise ModelUnavailable(over)
