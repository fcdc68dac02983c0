"""Those whose decision is wanted hear of it: where they cannot see the card, at half time, near the end."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from bot.cards.blocks import escape
from bot.context import Bot
from bot.people import Unidentified
from bot.untrusted import clip
from storage.config import SignoffConfig
from storage.contract.states import PlanState
from storage.reading.plan_view import PlanView

HALF, LATE = 0.5, 0.1  # what is left of a proposal's life when people are reminded, and when others hear


def remind(bot: Bot) -> None:
    """Each of these is said once; the outbox's keys remember it."""
    now = bot.store.clock()
    soon = bot.store.waiting(now + HALF * timedelta(hours=longest(bot.config)))
    unseen = bot.store.in_direct_messages(PlanState.proposed)
    for plan_id in dict.fromkeys([*unseen, *soon]):
        try:
            view = bot.store.view(plan_id)
            view = replace(view, approvers=bot.people.expanded(view.approvers))
        except Unidentified:
            continue  # who is in a group is asked again in the next round
        wanted = {(key, user): text for key, user, text in due(view, bot.config, now)}
        told = bot.store.told(key for key, _ in wanted)
        for (key, user), text in wanted.items():
            if key not in told:
                bot.store.tell(key, user=user, text=text)


def longest(config: SignoffConfig) -> float:
    """The most hours that any proposal waits."""
    rules = (rule.require.within_hours for rule in config.policy.rules if rule.require)
    return max([config.policy.expires_hours, *(hours for hours in rules if hours)])


def due(view: PlanView, config: SignoffConfig, now: datetime) -> Iterator[tuple[str, str, str]]:
    """(key, person, what to tell them) for everything that should have been said by now."""
    if (
        view.expires_at is None
        or view.made_at is None
        or view.demands.denied
        or any(step.previewing for step in view.steps)
    ):
        return
    left = (view.expires_at - now) / (view.expires_at - view.made_at)
    mine = () if view.demands.authors else view.authors
    able = [user for user in view.approvers if user not in (*mine, *view.approved_by)]
    where = f"in <#{view.channel}> or in my home tab" if view.channel[:1] != "D" else "in my home tab"
    what = f"“{escape(clip(view.spec.goal if view.spec else view.text, 300))}” (plan {view.id})"
    for user in able:
        if view.channel.startswith("D"):  # nobody else sees the card there
            yield (
                _key("waits", view, user),
                user,
                f"<@{view.requester}> asks for {what}. Please decide {where}.",
            )
        if left <= HALF:
            yield _key("half", view, user), user, f"{what} still waits for your decision, {where}."
    for user in dict.fromkeys((view.requester, *config.people.admins)) if left <= LATE else ():
        text = f":hourglass: {what} expires soon, and nobody has decided. Those who may: {_names(able)}."
        yield _key("late", view, user), user, text


def _key(kind: str, view: PlanView, user: str) -> str:
    return f"{kind}:{view.id}:{view.revision}:{user}"


def _names(users: list[str]) -> str:
    return " or ".join(f"<@{user}>" for user in users) or "nobody"
