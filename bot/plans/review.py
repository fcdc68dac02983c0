"""After a step: what the review decides about a plan that needs thought, carried out once.

The plan waits as `stalled`, and people may answer first. A decision and its effect are one commit that names
the event it answers, so a crash in between repeats at most the thinking.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from bot.context import Bot
from bot.planner.decision import Decision, Progress, Verb, progress
from bot.planner.edits.difference import ADDED
from bot.planner.review.gate import Ruling
from bot.planner.review.ladder import LADDER, Ladder, ask, next_move
from bot.plans.amend import bereft
from bot.plans.thought import aloud
from bot.plans.thought.grounding import around
from bot.plans.thought.spending import affordable
from bot.policy.authorize import terms
from storage.contract.spec import PlanSpec
from storage.contract.stand_in import answered
from storage.database.tables import Event
from storage.errors import Conflict, SignoffError
from storage.journal.stories import STANDING_IN
from storage.plans.decisions import GUIDE
from storage.plans.lifecycle import Terms
from storage.reading.plan_view import PlanView

BROKE = "thinking about it broke on my side; the log has the details"


@dataclass(frozen=True)
class Work:
    """One plan to think about, and what becomes of it when that leads to a sentence, or breaks."""

    plan_id: int
    do: Callable[[Bot, int], None]
    refused: Callable[[Bot, int, str], None]
    broke: Callable[[Bot, int], None]


def reviews(bot: Bot) -> list[Work]:
    """The plans that need thought."""
    return [
        Work(
            id_,
            partial(review, look=look),
            partial(hand_over, look=look),
            partial(_hand_over_after_bug, look=look),
        )
        for id_, look in bot.store.to_review()
    ]


def review(bot: Bot, plan_id: int, look: int) -> None:
    """Decide how one plan goes on, and do it."""
    view, events = bot.store.view(plan_id), bot.store.events(plan_id)
    said = guidance(events, look)
    now = progress(view, spent=bot.store.spent(plan_id)[0], guidance=said, failures=failures(events))
    now = replace(now, known=around(bot, view)) if bot.advise else now
    decision, ruling = next_move(now, history(events), bot.catalogue(), _adviser(bot, view), ladder(now))
    try:
        carry_out(bot, view, look, decision, as_policy_asks(bot, view, ruling))
    except SignoffError as error:  # the rows do not allow it; if somebody was faster, this says so, too
        hand_over(bot, plan_id, str(error), look=look)


def as_policy_asks(bot: Bot, view: PlanView, ruling: Ruling) -> Ruling:
    """An added read runs unasked only where policy would let the same read run as a request of its own."""
    known = {step.id for step in view.spec.steps} if view.spec else set()
    added = [s for s in ruling.spec.steps if s.id not in known] if ruling.spec else []
    if ruling.way != "takes_effect" or not added or ruling.spec is None:
        return ruling
    catalogue, now = bot.catalogue(), bot.store.clock()
    lines = []
    for step in added:
        alone = PlanSpec(goal="read", steps=(step.model_copy(update={"depends_on": ()}),))
        asked = terms(alone, catalogue, bot.config, authors=view.askers, now=now, machine=view.machine)
        contract = catalogue.find(step)
        if contract and contract.reads and (asked.needed or asked.demands.denied):
            lines.append(f"{step.id}: {ADDED}policy asks for a person here")
    return replace(ruling, way="needs_approval", changes=(*ruling.changes, *lines)) if lines else ruling


def carry_out(bot: Bot, view: PlanView, look: int, decision: Decision, ruling: Ruling) -> None:
    """What the gate ruled becomes rows."""
    if ruling.way == "needs_approval" and ruling.spec:
        said = record(view, decision) | {"changes": [*ruling.changes]}
        asked = _terms(bot, view, ruling.spec)
        bot.store.decide(view.id, look, said, spec=ruling.spec, terms=asked, changes=ruling.changes)
        return
    if ruling.way == "needs_approval":
        suggested = f"{decision.reason} The planner would {decision.verb}: {'; '.join(ruling.changes)}"
        decision = decision.model_copy(update={"verb": "ask", "reason": suggested})
    changes = [f"{decision.verb}: {decision.reason}"] if ruling.spec else []
    # Where nothing was tried by itself, the failed step's own message has said it all.
    alone = {*view.tried} <= {"ask", "continue"}
    calm = decision.verb == "ask" and decision.source == "rules" and decision.step and alone
    quiet = bool(calm) or decision.verb == "continue"
    bot.store.decide(view.id, look, record(view, decision), spec=ruling.spec, changes=changes, quiet=quiet)


def give_guidance(bot: Bot, user: str, view: PlanView, text: str, *, key: str = "") -> None:
    """Give guidance: a person's own words on how a plan that waits for an answer shall go on.

    Whoever may answer may do so (NotAllowed otherwise); Conflict when the plan does not wait any more. `key`
    is the step whose failure is answered, "" when none failed. The form's `text` stays in the journal as it
    was said; the next turn of the planner reads it.
    """
    actor = bot.demand(user, "answer", view)
    if not text.strip():
        raise SignoffError("Please say in a few words how it shall go on.")
    bot.store.guide(view.id, text.strip(), user=actor.user, key=key)


def hand_over(bot: Bot, plan_id: int, why: str, *, look: int) -> None:
    """A person's turn, with the reason."""
    view = bot.store.view(plan_id)
    decision = ask(progress(view), history(bot.store.events(plan_id)), bot.catalogue())
    decision = decision.model_copy(update={"reason": f"{decision.reason} ({why})"})
    bot.store.decide(plan_id, look, record(view, decision))


def _hand_over_after_bug(bot: Bot, plan_id: int, *, look: int) -> None:
    """Without any thought, since thinking is what broke."""
    said = {"verb": "ask", "step": "", "reason": BROKE, "source": "rules", "wait": 0.0}
    with suppress(Conflict):  # somebody answered meanwhile
        bot.store.decide(plan_id, look, said)


def ladder(now: Progress) -> Ladder:
    return replace(LADDER, always=now.spec.review == "always")


def record(view: PlanView, decision: Decision) -> dict[str, Any]:
    """The decision as the journal keeps it: which one of how many it is on its rung."""
    kept = decision.model_dump(mode="json", exclude={"spec", "options"})
    limit = {"retry": LADDER.retry, "alternative": LADDER.alternative, "simplify": LADDER.simplify}
    if decision.verb in limit:
        kept |= {"number": view.tried.count(decision.verb) + 1, "of": limit[decision.verb]}
    if decision.verb in STANDING_IN and decision.spec and decision.step:
        kept |= {"meets": stands_in(view, decision.step, decision.spec)}
    return kept | ({"options": [*decision.options]} if decision.options else {})


def stands_in(view: PlanView, lost: str, spec: PlanSpec) -> bool:
    """Whether something new in the plan does what the lost step was to do, with its checks."""
    now = view.spec or spec
    known, mandate = {step.id for step in now.steps}, (view.parent or now).mandate
    return lost in known and answered(mandate, now.find(lost), spec, known)


def history(events: Sequence[Event]) -> list[Decision]:
    """What was decided since a person last told the planner how to go on: then the ladder stands anew."""
    last = max((event.seq for event in events if _guides(event)), default=0)
    decided = [event.data for event in events if event.verb == "decide" and event.seq > last]
    return [Decision.model_validate({name: data[name] for name in KEPT if name in data}) for data in decided]


KEPT = ("verb", "reason", "step", "wait", "source")


def guidance(events: Sequence[Event], look: int) -> str:
    """What a person said, if that is the event to answer."""
    return next((str(e.data["text"]) for e in events if e.seq == look and _guides(e)), "")


def failures(events: Sequence[Event]) -> tuple[str, ...]:
    """Every failed attempt, also of steps that were left behind."""
    failed = (event.data for event in events if event.verb in {"fail", "retry"})
    return tuple(f"{data.get('step')}: {data.get('summary') or data.get('reason', '')}" for data in failed)


def _guides(event: Event) -> bool:
    return event.verb == "answer" and event.data.get("choice") == GUIDE


def _adviser(bot: Bot, view: PlanView) -> Callable[..., Decision] | None:
    """The model, as long as its budgets last."""
    if bot.advise is None:
        return None
    advise = bot.advise

    def asked(now: Progress, before: Sequence[Decision], rungs: Sequence[Verb]) -> Decision:
        with (
            affordable(bot, view) as spend,
            aloud.thinking(bot, view, "Thinking how to go on …", spend) as listener,
        ):
            return advise(now, before, rungs, listener)

    return asked


def _terms(bot: Bot, view: PlanView, spec: PlanSpec) -> Terms:
    """What policy asks; at least one person reads what a planner wants to do beyond its mandate."""
    catalogue = bot.catalogue()
    found = terms(
        spec, catalogue, bot.config, authors=view.askers, now=bot.store.clock(), machine=view.machine
    )
    found = bereft(found, view, view.parent or view.spec or spec, spec, catalogue)
    return replace(found, needed=max(found.needed, 1))
