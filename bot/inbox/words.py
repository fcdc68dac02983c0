"""What somebody said, and what a runbook makes of it: for every way in that takes words."""

import re
from typing import Any

from bot.context import Bot
from bot.planner import planning
from bot.planner.runbooks.questions import Missing, NoPlan
from bot.plans.problems import problem as problem
from storage.contract.spec import PlanSpec


def plan_by_runbook(bot: Bot, wish: str) -> PlanSpec:
    """What a runbook makes of a few words."""
    now, contracts = bot.store.clock(), bot.store.contracts()
    return planning.plan(wish, bot.usable(), bot.config, contracts=contracts, now=now).spec


def plannable(bot: Bot, wish: str) -> bool:
    """Whether these words are a wish of their own."""
    try:
        plan_by_runbook(bot, wish)
    except Missing:
        return True  # a form will ask for the rest
    except NoPlan:
        return False
    return True


def words(body: dict[str, Any]) -> str:
    """What was said, without whom it was said to."""
    return re.sub(r"<@[UW][A-Z0-9]+>", " ", body["text"]).strip()
