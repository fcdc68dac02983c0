"""Words in a plan's thread: they may change the proposal, and never approve it."""

import re
from functools import partial
from typing import Any

from bot.cards.phrases import title
from bot.context import Bot
from bot.planner.edits.grammar import NotUnderstood, approves, meant, understand
from bot.planner.edits.pointing import EditContext
from bot.planner.runbooks import book as runbooks
from bot.planner.runbooks.questions import Missing, NoPlan
from bot.plans.amend import amend
from bot.plans.reword import keep_for_planner
from bot.untrusted import clip
from storage.contract.spec import PlanSpec
from storage.errors import BadTime, InvalidPlan, Issue, SignoffError

BUTTON = "Words approve nothing here. If you mean it, please press Approve on the card of this plan."


def proposal_meant(bot: Bot, body: dict[str, Any]) -> int:
    """The proposal that these words are about, if they are: 0 for talk, and for a wish of its own."""
    here = approves(words(body)) or meant(words(body))
    return bot.store.proposal_at(body["channel"], body.get("thread", "")) if here else 0


def on_reply(bot: Bot, body: dict[str, Any]) -> str:
    """Somebody who may amend asks for a change; what we do not understand, a planner may."""
    try:
        return change(bot, body)
    except (NotUnderstood, NoPlan, BadTime) as error:
        # A time with a number in it is a time; other words that begin like one may mean anything.
        if bot.revise is None or (isinstance(error, BadTime) and re.search(r"\d", words(body))):
            raise
    keep_for_planner(bot, body, bot.store.view(proposal_meant(bot, body)), words(body))
    return ""


def change(bot: Bot, body: dict[str, Any]) -> str:
    """A change that the grammar knows. What others say there is not read."""
    plan_id, said = proposal_meant(bot, body), words(body)
    view = bot.store.view(plan_id) if plan_id else None
    if view is None or view.spec is None or not bot.may(body["user"], "amend", view):
        return ""
    if approves(said):
        return BUTTON
    now, plan = bot.store.clock(), partial(plan_by_runbook, bot)
    about = EditContext(view.spec, bot.catalogue(), bot.config, now, plan)
    try:
        amend(bot, body["user"], view, view.spec, understand(said, about))
    except InvalidPlan as error:
        raise SignoffError(" ".join(problem(issue, view.spec) for issue in error.issues)) from None
    bot.store.react(body["channel"], body["ts"], "ok_hand")
    return ""


def plan_by_runbook(bot: Bot, wish: str) -> PlanSpec:
    """What a runbook makes of a few words."""
    return runbooks.plan(wish, bot.usable(), bot.config).spec


def plannable(bot: Bot, wish: str) -> bool:
    """Whether these words are a wish of their own."""
    try:
        plan_by_runbook(bot, wish)
    except Missing:
        return True  # a form will ask for the rest
    except NoPlan:
        return False
    return True


def problem(issue: Issue, spec: PlanSpec) -> str:
    """What is wrong, where people look for it: at a step, not at a path."""
    found = re.match(r"steps\[(\d+)\]\.(?:parameters\.)?(\w+)", issue.path)
    number = int(found[1]) if found else len(spec.steps)
    if found is None or number >= len(spec.steps):
        return f"{issue.message}."
    return f"Step {number + 1} ({clip(title(spec.steps[number]), 60)}), {found[2]}: {issue.message}."


def words(body: dict[str, Any]) -> str:
    """What was said, without whom it was said to."""
    return re.sub(r"<@[UW][A-Z0-9]+>", " ", body["text"]).strip()
