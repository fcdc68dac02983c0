"""From a wish to revision 1: by the model, if there is one, else by a runbook; or a sentence says why not."""

from collections.abc import Sequence
from dataclasses import replace

from bot.context import Bot
from bot.planner.model.usage import ModelFailed
from bot.planner.model.wire import Asked, Declined, Inquiry
from bot.planner.prepare import prepare
from bot.planner.runbooks import book as runbooks
from bot.planner.runbooks.questions import Form, NeedsAnswers
from bot.planner.validate import Catalogue
from bot.plans import clarify, follow_up
from bot.plans.follow_up import Looking
from bot.plans.own_words import not_said
from bot.plans.problems import problem
from bot.plans.thought import aloud, looking
from bot.plans.thought.grounding import ground
from bot.plans.thought.spending import affordable
from bot.policy.authorize import terms
from storage.config import is_group
from storage.contract.demands import Quorum
from storage.contract.mandate import spoken
from storage.contract.spec import PlanSpec
from storage.contract.states import PlanState
from storage.errors import InvalidPlan, SignoffError
from storage.plans.lifecycle import Terms
from storage.reading.plan_view import PlanView


def propose(bot: Bot, plan_id: int) -> None:
    """From wish to revision 1."""
    view = bot.store.view(plan_id)
    try:
        _propose(bot, view)
    except Looking:
        return  # it is thought about again when the answers are there
    except BaseException:
        aloud.say(bot, view, "")
        raise
    aloud.say(bot, view, "")


def _propose(bot: Bot, view: PlanView) -> None:
    plan_id, catalogue, now = view.id, bot.catalogue(), bot.store.clock()
    try:
        made = drafted(bot, view)
    except NeedsAnswers as question:
        clarify.clarify(bot, view, question.form)
        return
    try:
        draft = made.spec.model_copy(update={"review": bot.config.model.review})
        draft = with_words(draft, view)
        spec = prepare(draft, catalogue, bot.config, now)
    except InvalidPlan as error:
        told = " ".join(problem(issue, draft, catalogue.find) for issue in error.issues)
        raise SignoffError(f"This cannot be planned. {told}") from None
    if view.machine and (ask := bot.store.ask_behind(plan_id)):
        demand_in_scope(made.runbook, spec, catalogue, ask.runbooks, ask.environments)
    asked = terms(spec, catalogue, bot.config, authors=view.askers, now=now, machine=view.machine)
    beyond = made.unsaid if not asked.needed else ()
    asked = replace(asked, needed=1) if beyond else asked
    demand_room(bot, spec, catalogue, asked, plan_id)
    why = (f"Not in your words, so a person looks first: {', '.join(beyond)}",) if beyond else ()
    said = (*looking.notes(bot, view), *made.told(), *why)
    bot.store.propose(plan_id, spec, asked, author="planner", note=made.note, notes=said)


def with_words(spec: PlanSpec, view: PlanView) -> PlanSpec:
    """A plan that continues may use, in reads that are added, what the person said themselves."""
    if not spec.continues or view.machine:
        return spec
    said = spoken("\n".join([view.text, *clarify.given(view).said]))
    return spec.model_copy(update={"mandate": spec.mandate.model_copy(update={"said": said})})


def demand_room(bot: Bot, spec: PlanSpec, catalogue: Catalogue, asked: Terms, plan_id: int = 0) -> None:
    """A plan that too many others stand in the way of, or that nobody could approve, is refused now."""
    _refuse_crowded(bot, plan_id, spec, catalogue)
    for quorum in asked.demands.quorums:
        _check_enough_approvers(asked, quorum)


def demand_in_scope(
    runbook: str, spec: PlanSpec, catalogue: Catalogue, runbooks: Sequence[str], environments: Sequence[str]
) -> None:
    """A machine asks only for what its token names."""
    if runbooks and runbook not in runbooks:
        raise SignoffError(f"This token may ask only for these runbooks: {', '.join(runbooks)}.")
    for step in (*spec.steps, *spec.rollback) if environments else ():
        found = catalogue.find(step)
        place = found.environment(step.parameters) if found else ""
        harmless = found is not None and not found.changes and not place
        if place not in environments and not harmless:
            there = f"in {place}" if place else "in no named environment"
            raise SignoffError(
                f"This token may ask only for {', '.join(environments)}; {step.id} is {there}."
            )


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
    """By the model, if there is one and its budget lasts; else, and whenever it fails, by the runbooks.

    Where a machine has named the runbook, no model is asked: what machines send is nobody's words.
    """
    if bot.ask_model is None or (view.machine and clarify.given(view).runbook):
        return by_runbook(bot, view, "")
    words = clarify.words(view)
    try:
        with affordable(bot, view) as spend:
            around = ground(bot, view, words)
            bot.store.grounded(view.id, told=around)
            answer = bot.ask_model(words, aloud.listener(bot, view, "Thinking …", spend), around)
    except ModelFailed as error:
        return by_runbook(bot, view, str(error).partition("\n")[0])
    if isinstance(answer, Inquiry):
        if looking.look(bot, view, answer.looks):
            raise Looking
        return by_runbook(bot, view, "The model wanted to look at more than it may.")
    if isinstance(answer, Asked):
        raise NeedsAnswers(Form(why="Before I can plan, I must know this.", fields=answer.fields))
    if isinstance(answer, Declined):
        raise SignoffError(f"I do not plan this: {answer.reason}")
    mandate = bot.config.model.mandate  # not the model's to say
    made = replace(answer, spec=answer.spec.model_copy(update={"mandate": mandate}))
    beyond = tuple(not_said(bot.catalogue(), made.spec, words)) if any(around.values()) else ()
    return replace(made, unsaid=beyond)


def by_runbook(bot: Bot, view: PlanView, instead: str) -> runbooks.Planned:
    """The runbooks' plan; `instead` says why the model did not make it."""
    try:
        made = follow_up.planned(bot, view) or clarify.by_runbook(bot, view)
        return replace(made, note=f"{made.note}. {instead}", instead=instead) if instead else made
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
    if view.machine:
        return  # it reads why
    text = f"{why}\nYou said: `{view.text.replace('`', '')}`"
    bot.store.whisper(
        f"why:{plan_id}", channel=view.channel, user=view.requester, text=text, thread=view.thread
    )
    bot.store.unreact(plan_id)


def stall(bot: Bot, plan_id: int) -> None:
    bot.store.stall(plan_id, actor="planner", reason="planning broke on my side; the log has the details")
