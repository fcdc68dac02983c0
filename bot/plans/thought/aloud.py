"""What people see while a planner thinks about their plan: that it does, what it looked at, how far it is."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial

from bot.context import Bot
from bot.planner.model.streaming import Listener
from bot.plans.thought.spending import book
from storage.contract.saying import short
from storage.contract.spec import StepSpec
from storage.errors import SignoffError
from storage.reading.plan_view import PlanView


def say(bot: Bot, view: PlanView, text: str) -> None:
    """Have it shown, if it lasts. Whoever thinks does not fail because nobody can be told."""
    with suppress(SignoffError):
        bot.store.think_aloud(view.id, text, channel=view.channel, user=view.requester)


def listener(bot: Bot, view: PlanView, what: str) -> Listener:
    """Who hears of a call of the model: the books, and those who wait."""
    seen = looked(bot, view)
    told = f"{what}{f' looked at {seen}.' if seen else ''}"
    say(bot, view, told)
    return Listener(partial(book, bot, view), lambda how_far: say(bot, view, f"{told} {how_far}"))


@contextmanager
def thinking(bot: Bot, view: PlanView, what: str) -> Iterator[Listener]:
    """The same, while it lasts."""
    try:
        yield listener(bot, view, what)
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
