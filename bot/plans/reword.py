"""Words about a proposal that the grammar of edits does not know: a model drafts what they ask for.

The words wait as a delivery of their own, since nobody else may wait for a model. What comes out is a draft
like any other: prepared, shown as a difference, and approved by somebody else.
"""

from typing import Any

from bot.context import Bot
from bot.planner.edits.grammar import examples
from bot.planner.edits.pointing import EditContext
from bot.planner.model.prompt import Ground
from bot.planner.model.usage import ModelFailed
from bot.planner.model.wire import Asked, Declined, Inquiry
from bot.plans.amend import amend
from bot.plans.thought import aloud, grounding
from bot.plans.thought.spending import affordable, over_budget
from bot.untrusted import clip, inert
from storage.contract.spec import PlanSpec
from storage.database.tables import Delivery
from storage.errors import Conflict, SignoffError
from storage.exchange.deliveries import THOUGHT
from storage.reading.plan_view import PlanView

BROKE = "Something broke on my side while I thought about that, and nothing was changed."


def keep_for_planner(bot: Bot, body: dict[str, Any], view: PlanView, said: str) -> None:
    """It is heard; the planner's next turn thinks about it."""
    kept = {name: body[name] for name in ("user", "channel", "thread", "ts")}
    facts = kept | {"text": said, "plan": view.id, "revision": view.revision}
    bot.store.deliver(f"{THOUGHT}:{body['channel']}:{body['ts']}", THOUGHT, facts)
    bot.store.react(body["channel"], body["ts"], "eyes")


def reword(bot: Bot, plan_id: int, *, asked: Delivery) -> None:
    """The revision that these words ask for, or a sentence to whoever said them."""
    view, body = bot.store.view(plan_id), asked.body
    try:
        old = _demand_unchanged(bot, view, body)
        known = grounding.ground_of_change(bot, view)
        spec = _drafted(bot, view, old, body["text"], known)
        with bot.store.handling(asked.key):
            amend(bot, body["user"], view, old, spec, asked=body["text"])
            bot.store.grounded(view.id, told=known)
    except Conflict as error:  # somebody was faster
        tell_why_not(bot, plan_id, str(error), asked=asked)


def tell_why_not(bot: Bot, plan_id: int, why: str, *, asked: Delivery) -> None:
    body = asked.body
    place = {"channel": body["channel"], "user": body["user"], "thread": body["thread"], "plan_id": plan_id}
    with bot.store.handling(asked.key):
        bot.store.whisper(
            f"answer:{asked.key}", text=f"{why}\nYou said: “{clip(inert(body['text']), 300)}”", **place
        )
        bot.store.handled()


def tell_it_broke(bot: Bot, plan_id: int, *, asked: Delivery) -> None:
    tell_why_not(bot, plan_id, BROKE, asked=asked)


def _demand_unchanged(bot: Bot, view: PlanView, body: dict[str, Any]) -> PlanSpec:
    """Meanwhile the plan may have moved, and the person may have lost their right."""
    bot.demand(body["user"], "amend", view)
    if view.spec is None or view.revision != body["revision"]:
        raise Conflict(f"Meanwhile revision {view.revision} was made; please look at it, and say it again.")
    return view.spec


def _drafted(bot: Bot, view: PlanView, spec: PlanSpec, text: str, known: Ground) -> PlanSpec:
    about = EditContext(spec, bot.catalogue(), bot.config, bot.store.clock())
    if bot.revise is None:
        raise SignoffError(f"There is no planner now. {examples(about)}")
    if over := over_budget(bot, view):
        raise SignoffError(f"{over} {examples(about)}")
    try:
        with (
            affordable(bot, view) as spend,
            aloud.thinking(bot, view, "Thinking about what was said …", spend) as listener,
        ):
            made = bot.revise(spec, text, listener, known)
    except ModelFailed as error:
        why = str(error).partition("\n")[0]
        raise SignoffError(f"I do not understand that by myself, and: {why} {examples(about)}") from None
    if isinstance(made, Asked):
        raise SignoffError(f"Before I can change it, please say it with this: {' '.join(made.questions)}")
    if isinstance(made, Inquiry):
        raise SignoffError(
            f"I would have to look at something first, and a change waits for nothing. {examples(about)}"
        )
    if isinstance(made, Declined):
        raise SignoffError(f"I do not change it so: {made.reason} {examples(about)}")
    return made.spec
