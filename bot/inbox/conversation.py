"""Words in a plan's thread are about that plan: what each act does. No words approve."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any

from bot.cards.about_plan import tell
from bot.cards.blocks import linked, permalink
from bot.cards.face.durations import informed
from bot.context import Bot
from bot.inbox.answers import verb_of
from bot.inbox.words import plan_by_runbook, problem, words
from bot.planner.conversation.acts import Act
from bot.planner.conversation.hearing import hear
from bot.planner.conversation.standing import Deed, becomes
from bot.planner.edits.pointing import EditContext
from bot.plans.amend import amend
from bot.plans.once_more import propose_again, propose_back
from bot.plans.postpone import postpone
from bot.plans.reword import keep_for_planner
from bot.policy.authorize import mention
from storage.contract.spec import PlanSpec, StepSpec
from storage.contract.states import OPEN, PlanState
from storage.errors import InvalidPlan, SignoffError
from storage.reading.plan_view import PlanView

Do = Callable[[Bot, dict[str, Any], PlanView, Act], str]
APPROVED = (
    "It was approved as it is. It can be moved later, or cancelled; for anything else, ask for a new plan."
)
NOTHING_TO_UNDO = "There is no change to take back. To end the plan, say “cancel”."
UNSPOKEN = frozenset({"cancel", "hello", "talk", "thanks"})  # these tell nothing of the plan
CLOSED = "This plan has ended. Say “do it again”, or ask for a new one with `/plan`."


def plan_here(bot: Bot, body: dict[str, Any]) -> PlanView | None:
    """The newest plan of this thread, if there is one that was put before people."""
    number = bot.store.plan_at(body["channel"], body.get("thread", ""))
    view = bot.store.view(number) if number else None
    return view if view and view.spec else None


def heard(bot: Bot, body: dict[str, Any], view: PlanView) -> Act:
    """What these words are, said about this plan."""
    assert view.spec is not None  # noqa: S101 # `plan_here` gives no other
    plan = partial(plan_by_runbook, bot)
    return hear(words(body), EditContext(view.spec, bot.catalogue(), bot.config, bot.store.clock(), plan))


def converse(bot: Bot, body: dict[str, Any], view: PlanView, act: Act) -> str:
    """Do what the act becomes, as the plan stands; "" where nothing needs to be said."""
    if act.kind not in UNSPOKEN:
        bot.demand_untouched(body["user"], "look", view)
    if body.get("pressed") and act.kind == "cancel" and view.state in OPEN:
        return withdraw(bot, body, view, act)
    return DEEDS[becomes(act.kind, view.state)](bot, body, view, act)


def over(bot: Bot, body: dict[str, Any], view: PlanView, act: Act) -> str:
    return "It has ended already; there is nothing to cancel."


def ask_to_cancel(bot: Bot, body: dict[str, Any], view: PlanView, act: Act) -> str:
    """What is under way ends by a button that says what becomes of it."""
    if why := _not_theirs(bot, body, view):
        return why
    offer(bot, body, view, "Cancel it? What runs is told to stop, and nothing else starts.", CANCEL)
    return ""


def withdraw(bot: Bot, body: dict[str, Any], view: PlanView, act: Act) -> str:
    """A proposal is withdrawn at once; so is what is under way, when the button was pressed."""
    if why := _not_theirs(bot, body, view):
        return why
    actor = bot.demand(body["user"], "cancel", view)
    bot.store.cancel(view.id, user=actor.user, reason=words(body)[:200])
    return ""


def _not_theirs(bot: Bot, body: dict[str, Any], view: PlanView) -> str:
    if bot.may(body["user"], "cancel", view):
        return ""
    able = " or ".join(map(mention, dict.fromkeys([view.requester, *view.approvers])))
    return f"Only {able} can cancel this."


def point_to_button(bot: Bot, body: dict[str, Any], view: PlanView, act: Act) -> str:
    """To those who could: the button does it. The others need no lecture."""
    if not bot.may(body["user"], "approve", view):
        return ""
    way = linked(permalink(bot.site, view.channel, view.card), "open the plan")
    return f"Words don't approve here, the button does: {way}."


def question(bot: Bot, body: dict[str, Any], view: PlanView, act: Act) -> str:
    return tell(informed(view, bot.store.contracts()), act.topic, act.step, bot.store.clock())


def not_yet(bot: Bot, body: dict[str, Any], view: PlanView, act: Act) -> str:
    return "It has not ended yet; then I can do it again."


def again(bot: Bot, body: dict[str, Any], view: PlanView, act: Act) -> str:
    propose_again(bot, body["user"], view)
    return ""


def way_back(bot: Bot, body: dict[str, Any], view: PlanView, act: Act) -> str:
    """What is done is undone by a proposal."""
    propose_back(bot, body["user"], view)
    return ""


def step_back(bot: Bot, body: dict[str, Any], view: PlanView, act: Act) -> str:
    """A proposal goes back to how it was before."""
    before = bot.store.spec_before(view.id, view.revision)
    return _amend(bot, body, view, before) if before else NOTHING_TO_UNDO


def nothing_to_undo(bot: Bot, body: dict[str, Any], view: PlanView, act: Act) -> str:
    return NOTHING_TO_UNDO


def retry(bot: Bot, body: dict[str, Any], view: PlanView, act: Act) -> str:
    """As the button, with the rights of the button."""
    failed = [step for step in view.steps if "retry" in step.choices]
    if len(failed) != 1:
        return "Nothing waits to be tried again."
    value = {"s": failed[0].spec.id, "choice": "retry"}
    actor = bot.demand(body["user"], verb_of(view, value), view)
    bot.store.answer(view.id, value["s"], "retry", user=actor.user)
    return ""


def change(bot: Bot, body: dict[str, Any], view: PlanView, act: Act) -> str:
    """A draft like any other."""
    if not _may_amend(bot, body, view) or act.draft is None:
        return ""
    return _amend(bot, body, view, act.draft)


def move_later(bot: Bot, body: dict[str, Any], view: PlanView, act: Act) -> str:
    """After the approval only later, with the approval that there is."""
    if not _may_amend(bot, body, view) or act.draft is None:
        return ""
    moved = [step for step in act.draft.steps if step.schedule.at and not step.schedule.not_before]
    if len(moved) != 1 or not _only_timed(view, act.draft, moved[0]):
        return APPROVED
    done = postpone(bot, body["user"], view, moved[0].schedule.at, key=moved[0].id)
    _nod(bot, body)
    return done


def closed(bot: Bot, body: dict[str, Any], view: PlanView, act: Act) -> str:
    return CLOSED if _may_amend(bot, body, view) else ""


def _only_timed(view: PlanView, draft: PlanSpec, step: StepSpec) -> bool:
    """Whether nothing but the time of this step is different."""
    old = view.spec.find(step.id) if view.spec else step
    back = step.model_copy(update={"schedule": old.schedule})
    steps = tuple(back if one.id == step.id else one for one in draft.steps)
    return draft.model_copy(update={"steps": steps}) == view.spec


def unclear(bot: Bot, body: dict[str, Any], view: PlanView, act: Act) -> str:
    """Ask back, with what can be answered as buttons; a planner, where there is one, may understand it."""
    if not _may_amend(bot, body, view):
        return ""
    if (
        view.state == PlanState.proposed
        and bot.revise
        and not act.choices
        and not re.search(r"\d", words(body))
    ):
        keep_for_planner(bot, body, view, words(body))
        return ""
    offer(bot, body, view, act.asks, act.choices)
    return ""


def _may_amend(bot: Bot, body: dict[str, Any], view: PlanView) -> bool:
    """Said to us, it is refused with the reason; what others say there is not read."""
    if body.get("mentioned"):
        bot.demand(body["user"], "amend", view)
    return bot.may(body["user"], "amend", view)


def greet(bot: Bot, body: dict[str, Any], view: PlanView, act: Act) -> str:
    bot.store.react(body["channel"], body["ts"], "wave")
    return ""


def silent(bot: Bot, body: dict[str, Any], view: PlanView, act: Act) -> str:
    return ""


def offer(
    bot: Bot, body: dict[str, Any], view: PlanView, text: str, choices: tuple[tuple[str, str], ...]
) -> None:
    """A question to this person alone, its answers as buttons."""
    thread = "" if body["channel"].startswith("D") else body.get("thread", "")
    place = {"channel": body["channel"], "user": body["user"], "thread": thread}
    bot.store.choose(
        f"choose:{body['channel']}:{body['ts']}", plan_id=view.id, text=text, choices=choices, **place
    )


def _amend(bot: Bot, body: dict[str, Any], view: PlanView, draft: PlanSpec) -> str:
    assert view.spec is not None  # noqa: S101 # `plan_here` gives no other
    bot.demand(body["user"], "amend", view)
    try:
        amend(bot, body["user"], view, view.spec, draft)
    except InvalidPlan as error:
        find = bot.catalogue().find
        raise SignoffError(" ".join(problem(issue, view.spec, find) for issue in error.issues)) from None
    _nod(bot, body)
    return ""


def _nod(bot: Bot, body: dict[str, Any]) -> None:
    if body.get("ts"):
        bot.store.react(body["channel"], body["ts"], "ok_hand")


CANCEL = (("Cancel Plan", "cancel"),)
DEEDS: dict[Deed, Do] = {
    "withdraw": withdraw, "ask whether to cancel": ask_to_cancel, "it is over": over,
    "point to the button": point_to_button, "answer": question, "amend": change, "move later": move_later,
    "it is closed": closed, "propose again": again, "not yet": not_yet, "step back": step_back,
    "nothing to undo": nothing_to_undo, "propose the way back": way_back, "retry": retry, "ask back": unclear,
    "wave": greet, "nothing": silent,
}  # fmt: skip
