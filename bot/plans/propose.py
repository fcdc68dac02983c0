"""From a wish to revision 1: by the model, if there is one, else by a runbook; or a sentence says why not."""

from dataclasses import replace

from bot.context import Bot
from bot.planner.model.usage import ModelFailed
from bot.planner.model.wire import Asked, Declined
from bot.planner.prepare import prepare
from bot.planner.runbooks import book as runbooks
from bot.planner.runbooks.questions import Form, NeedsAnswers
from bot.planner.validate import Catalogue
from bot.plans import clarify
from bot.plans.spending import book, over_budget
from bot.policy.authorize import terms
from storage.config import is_group
from storage.contract.demands import Quorum
from storage.contract.spec import PlanSpec
from storage.contract.states import PlanState
from storage.errors import InvalidPlan, SignoffError
from storage.plans.lifecycle import Terms
from storage.reading.plan_view import PlanView


def propose(bot: Bot, plan_id: int) -> None:
    """From wish to revision 1."""
    view, catalogue, now = bot.store.view(plan_id), bot.catalogue(), bot.store.clock()
    try:
        made = drafted(bot, view)
    except NeedsAnswers as question:
        clarify.clarify(bot, view, question.form)
        return
    try:
        draft = made.spec.model_copy(update={"review": bot.config.model.review})
        spec = prepare(draft, catalogue, bot.config, now)
    except InvalidPlan as error:
        raise SignoffError(f"The plan {made.note} cannot be used:\n{error}") from None
    _refuse_crowded(bot, plan_id, spec, catalogue)
    asked = terms(spec, catalogue, bot.config, authors=(view.requester,), now=now)
    for quorum in asked.demands.quorums:
        _check_enough_approvers(asked, quorum)
    bot.store.propose(plan_id, spec, asked, author="planner", note=made.note)


def _refuse_crowded(bot: Bot, plan_id: int, spec: PlanSpec, catalogue: Catalogue) -> None:
    """A plan on what too many open plans touch already is refused, with their numbers."""
    most = bot.config.policy.limits.plans_per_target
    for target in sorted(_targets(spec, catalogue)) if most else ():
        known = bot.store.holders([target])
        known |= {id_ for id_, other in bot.store.proposals().items() if target in _targets(other, catalogue)}
        known -= {plan_id}
        if len(known) >= most:
            numbers = ", ".join(map(str, sorted(known)[:10]))
            raise SignoffError(
                f"{len(known)} open plans touch {target} already ({numbers}), and {most} is the most at "
                "once. Please wait for one of them, or cancel one."
            )


def _targets(spec: PlanSpec, catalogue: Catalogue) -> set[str]:
    """What the plan would change."""
    made = ((step, catalogue.find(step)) for step in spec.steps)
    return {found.locks(step.parameters) for step, found in made if found and found.changes} - {""}


def _check_enough_approvers(asked: Terms, quorum: Quorum) -> None:
    """A plan that could never get its approvals is refused now. How many a group has, only Slack knows."""
    able = [id_ for id_ in quorum.of if asked.demands.authors or id_ not in asked.authors]
    if len(able) < quorum.needed and not any(map(is_group, able)):
        raise SignoffError(
            f"This needs {quorum.needed} approval(s) by somebody other than you, and signoff.toml names only "
            f"{len(able)} such approver(s) for it."
        )


def drafted(bot: Bot, view: PlanView) -> runbooks.Planned:
    """By the model, if there is one and its budget lasts; else, and whenever it fails, by the runbooks."""
    if bot.ask_model is None:
        return by_runbook(bot, view, "")
    if over := over_budget(bot, view):
        return by_runbook(bot, view, over)
    try:
        answer = bot.ask_model(clarify.words(view), lambda model, usage: book(bot, view, model, usage))
    except ModelFailed as error:
        return by_runbook(bot, view, str(error).partition("\n")[0])
    if isinstance(answer, Asked):
        raise NeedsAnswers(Form(why="Before I can plan, I must know this.", fields=answer.fields))
    if isinstance(answer, Declined):
        raise SignoffError(f"I do not plan this: {answer.reason}")
    return answer


def by_runbook(bot: Bot, view: PlanView, instead: str) -> runbooks.Planned:
    """The runbooks' plan; `instead` says why the model did not make it."""
    try:
        made = clarify.by_runbook(bot, view)
        return replace(made, note=f"{made.note}. {instead}") if instead else made
    except NeedsAnswers as error:
        raise NeedsAnswers(error.form.model_copy(update={"why": f"{instead} {error}".strip()})) from None
    except runbooks.NoPlan as error:
        raise SignoffError(f"{instead} {error}".strip()) from None


def give_up(bot: Bot, plan_id: int, why: str) -> None:
    """It does not become a plan: the person hears why, and their words are not lost."""
    view = bot.store.view(plan_id)
    if view.state != PlanState.planning:
        return  # somebody cancelled it meanwhile
    bot.store.cancel(plan_id, user="planner", reason=why)
    text = f"{why}\nYou said: `{view.text.replace('`', '')}`"
    bot.store.whisper(
        f"why:{plan_id}", channel=view.channel, user=view.requester, text=text, thread=view.thread
    )


def stall(bot: Bot, plan_id: int) -> None:
    bot.store.stall(plan_id, actor="planner", reason="planning broke on my side; the log has the details")
