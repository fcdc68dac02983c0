"""What people see while a planner thinks about their plan: that it does, what it looked at, how far it is."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from bot.context import Bot
from bot.planner.model.streaming import Listener
from bot.plans.thought.spending import Spend
from storage.contract.saying import short
from storage.contract.spec import StepSpec
from storage.errors import SignoffError
from storage.reading.plan_view import PlanView


def say(bot: Bot, view: PlanView, text: str) -> None:
    """Have it shown, if it lasts. Whoever thinks does not fail because nobody can be told."""
    with suppress(SignoffError):
        bot.store.think_aloud(view.id, text, channel=view.channel, user=view.requester)


def listener(bot: Bot, view: PlanView, what: str, spend: Spend) -> Listener:
    """Who hears of a call of the model: the books, and those who wait."""
    seen, leases = looked(bot, view), bot.store.leases
    told = f"{what}{f' looked at {seen}.' if seen else ''}"

    def how_far(said: str) -> None:
        with bot.store.under(*leases):  # a reply comes in by a thread of its own
            say(bot, view, f"{told} {said}")

    say(bot, view, told)
    return Listener(spend, how_far)


@contextmanager
def thinking(bot: Bot, view: PlanView, what: str, spend: Spend) -> Iterator[Listener]:
    """The same, while it lasts."""
    try:
        yield listener(bot, view, what, spend)
    finally:
        say(bot, view, "")


def looked(bot: Bot, view: PlanView) -> str:
    """What was looked at for a wish, in a few words; nothing of what was found."""
    made = [one for one in bot.store.looked(view.id) if one.state == "made"] if not view.spec else []
    steps = (
        StepSpec(id="s", worker=one.worker, action=one.action, parameters=dict(one.parameters))
        for one in made
    )
    return ", ".join(dict.fromkeys(named(bot, step) for step in steps))


def named(bot: Bot, step: StepSpec) -> str:
    """A look without its verb: what it looks at."""
    said = short(bot.catalogue().find(step), step)
    return said.removeprefix("Look at ").removeprefix("Check ")
