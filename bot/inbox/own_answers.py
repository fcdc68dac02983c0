"""Questions about us and our plans, from the rows: no plan, no model, nothing that one may not see."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from bot.cards.blocks import escape, linked, permalink
from bot.cards.face.lines import subject
from bot.cards.home import entry, waits
from bot.cards.phrases import standing
from bot.context import Bot
from bot.policy.authorize import mention
from storage.contract.states import OPEN, PlanState
from storage.reading.plan_view import PlanView

MOST = 10
Answer = Callable[[Bot, str], str]


def own_answer(bot: Bot, topic: str, user: str) -> str:
    """What these rows say about it."""
    bot.demand(user, "look", None)
    return ANSWERS[topic](bot, user)


def _waiting(bot: Bot, user: str) -> str:
    groups = bot.people.actor(user).groups
    mine = [view for view in _open(bot, user) if waits(view, user, groups)]
    return _list(bot, mine, f"{len(mine)} wait for you:", "Nothing waits for you.")


def _running(bot: Bot, user: str) -> str:
    found = [view for view in _open(bot, user) if view.state == PlanState.approved]
    return _list(bot, found, "Under way:", "Nothing runs.")


def _mine(bot: Bot, user: str) -> str:
    found = [view for view in bot.store.recent(100) if view.requester == user and view.revision]
    return _list(bot, found, "Yours, newest first:", "You have asked for no plan yet.")


def _lately(bot: Bot, user: str) -> str:
    """What ended within a day."""
    since = bot.store.clock() - timedelta(days=1)
    ended = [view for view in bot.store.recent(100) if view.state not in OPEN and view.revision]
    found = [view for view in bot.visible(user, ended) if _end(view, since)]
    return _list(bot, found, "Ended within the last 24 hours:", "Nothing ended within the last 24 hours.")


def _end(view: PlanView, since: Any) -> bool:
    ends = [step.ended_at for step in view.steps if step.ended_at]
    return bool(ends) and max(ends) >= since


def _all(bot: Bot, user: str) -> str:
    """The newest, however they stand."""
    planned = [view for view in bot.store.recent(50) if view.planned]
    return _list(bot, bot.visible(user, planned)[:MOST], "The newest plans:", "There are no plans yet.")


def _approvers(bot: Bot, user: str) -> str:
    people = " or ".join(map(mention, bot.config.people.approvers)) or "nobody"
    rules = [rule for rule in bot.config.policy.rules if rule.require]
    more = f" {len(rules)} rules ask for others besides; each card says whom." if rules else ""
    return f"In general {people}. Nobody approves what they asked for, unless a rule says so.{more}"


def _open(bot: Bot, user: str) -> list[PlanView]:
    return bot.visible(user, bot.store.open_plans(limit=100))


def _list(bot: Bot, views: list[PlanView], head: str, none: str) -> str:
    now = bot.store.clock()

    def line(view: PlanView) -> str:
        link = permalink(bot.site, view.channel, view.card)
        if view.state not in OPEN:
            return entry(view, link, now)
        return f"•  {linked(link, subject(view))}: {escape(standing(view, now))} · plan {view.id}"

    rest = [f"… and {len(views) - MOST} more"] if len(views) > MOST else []
    shown = map(bot.store.as_recorded, views[:MOST])
    return "\n".join([head, *map(line, shown), *rest]) if views else none


def _joke(bot: Bot, user: str) -> str:
    return "I only know one: it works on my machine. For plans: `/plan help`."


def _reminder(bot: Bot, user: str) -> str:
    return "I keep no reminders; `/remind me …` is Slack's own. What shall run at a time, I can plan."


ANSWERS: dict[str, Answer] = {
    "waiting": _waiting,
    "running": _running,
    "mine": _mine,
    "lately": _lately,
    "all": _all,
    "approvers": _approvers,
    "joke": _joke,
    "reminder": _reminder,
}
