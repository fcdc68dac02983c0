"""One turn of the bot: plan what was asked, let old proposals expire, give permits to changing steps."""

import logging

from bot.hands import Bot
from bot.people import Unsure
from bot.planner import runbooks
from bot.planner.prepare import prepare
from bot.policy import Refused, authorize, terms
from storage.errors import InvalidPlan, SignoffError
from storage.states import PlanState
from storage.views import PlanView

logger = logging.getLogger(__name__)


def take_turn(bot: Bot) -> None:
    bot.store.expire()
    think(bot)
    permit(bot)


def think(bot: Bot) -> None:
    """Every wish that has no plan yet. One that breaks must not stop the others."""
    contracts = bot.store.contracts()
    if not contracts:
        return  # no worker has said yet what it can do
    for plan_id in bot.store.in_state(PlanState.planning):
        try:
            propose(bot, plan_id)
        except SignoffError as error:
            give_up(bot, plan_id, str(error))
        except Exception:
            logger.exception("planning plan %s broke", plan_id)
            bot.store.stall(
                plan_id, actor="planner", reason="planning broke on my side; the log has the details"
            )


def propose(bot: Bot, plan_id: int) -> None:
    """From wish to revision 1, by the runbooks."""
    view, catalogue, now = bot.store.view(plan_id), bot.catalogue(), bot.store.clock()
    made = runbooks.plan(view.text, bot.runbooks, bot.config)
    try:
        spec = prepare(made.spec, catalogue, bot.config, now)
    except InvalidPlan as error:
        raise SignoffError(f"The plan {made.note} cannot be used:\n{error}") from None
    asked = terms(spec, catalogue, bot.config, authors=(view.requester,), now=now)
    able = [user for user in asked.approvers if user not in asked.authors]
    if len(able) < asked.needed:
        raise SignoffError(
            f"This needs {asked.needed} approval(s) by somebody other than you, and signoff.toml names only "
            f"{len(able)} such approver(s) under [people]."
        )
    bot.store.propose(plan_id, spec, asked, author="planner", note=made.note)


def give_up(bot: Bot, plan_id: int, why: str) -> None:
    """It does not become a plan: the person hears why, and their words are not lost."""
    view = bot.store.view(plan_id)
    bot.store.cancel(plan_id, user="planner", reason=why)
    text = f"{why}\nYou said: `{view.text.replace('`', '')}`"
    bot.store.whisper(
        f"why:{plan_id}", channel=view.channel, user=view.requester, text=text, thread=view.thread
    )


def permit(bot: Bot) -> None:
    """Fresh leave for each changing step that is due: approvers still entitled, policy not stricter."""
    for step in bot.store.unpermitted():
        view = bot.store.view(step.plan_id)
        refusals = [why for user in view.approved_by if (why := _still(bot, user, view))]
        if not refusals:
            bot.store.permit(step.id or 0, actor="bot")
        else:
            bot.store.withhold(step.id or 0, f"an approval no longer holds: {refusals[0]}", actor="bot")


def _still(bot: Bot, user: str, view: PlanView) -> str:
    """Why this approval would not be given today, or ""."""
    try:
        answer = authorize(bot.people.actor(user, fresh=True), "approve", view, bot.config)
    except Unsure as error:
        return str(error)
    return answer.reason if isinstance(answer, Refused) else ""
