"""How a plan goes on after a step: rules first, then advice, on a ladder whose rungs are counted. Pure.

retry with backoff → another worker or method → smaller steps → a person.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from bot.planner.decision import Decision, Progress, Verb
from bot.planner.edits.reroute import elsewhere, rerouted
from bot.planner.model.usage import ModelFailed
from bot.planner.review.epic import next_wave
from bot.planner.review.gate import Ruling, asking, judge, unmet
from bot.planner.validate import Catalogue
from storage.contract.states import StepState, can_skip
from storage.errors import InvalidPlan
from storage.reading.plan_view import StepView

# (the plan as it stands, what was decided before, the rungs that are left) → what a model advises
Advise = Callable[[Progress, Sequence[Decision], Sequence[Verb]], Decision]
UNDER_WAY = frozenset({StepState.running, StepState.unknown})


@dataclass(frozen=True)
class Ladder:
    """How often each rung is taken: retries of one step, the others in one plan."""

    retry: int = 2
    alternative: int = 3
    simplify: int = 2
    amend: int = 20
    advice: int = 30
    always: bool = False  # whether a model looks at every step, not only at what went wrong
    longest_wait: float = 600.0


LADDER = Ladder()


def next_move(
    now: Progress,
    history: Sequence[Decision],
    catalogue: Catalogue,
    advise: Advise | None = None,
    ladder: Ladder = LADDER,
) -> tuple[Decision, Ruling]:
    """The first decision that the gate does not refuse; to ask a person is never refused."""
    for decision in _candidates(now, history, catalogue, advise, ladder):
        ruling = judge(decision, now, catalogue)
        if ruling.way != "refused":
            return decision, ruling
    asked = ask(now, history, catalogue)
    if now.guidance:
        unread = f"{asked.reason.rstrip('.')}. No model could follow what was said; please choose."
        asked = asked.model_copy(update={"reason": unread})
    return asked, judge(asked, now, catalogue)


def decide(
    now: Progress,
    history: Sequence[Decision],
    catalogue: Catalogue,
    advise: Advise | None = None,
    ladder: Ladder = LADDER,
) -> Decision:
    """What comes next."""
    return next_move(now, history, catalogue, advise, ladder)[0]


def decide_by_rules(
    now: Progress, history: Sequence[Decision], catalogue: Catalogue, ladder: Ladder = LADDER
) -> Decision | None:
    """What needs no thought; None is an anomaly."""
    if _under_way(now):
        return Decision(verb="continue", reason="a step is under way")
    if failed := failure(now):
        return _after(failed, history, catalogue, ladder)
    if wave := next_wave(now, catalogue):
        return wave
    if not unmet(now) and (now.spec.done_when or not now.spec.continues):
        return Decision(verb="finish", reason="every step succeeded, and the goal's checks hold")
    if any(now.state(step.id) == StepState.pending for step in now.spec.steps):
        return Decision(verb="continue", reason="all criteria are met so far")
    return None


def failure(now: Progress) -> StepView | None:
    """The failed step that waits for a decision, if any."""
    ours = [now.steps[step.id] for step in now.spec.steps if step.id in now.steps]
    return next((step for step in ours if asking(step)), None)


def rungs(
    now: Progress, history: Sequence[Decision], catalogue: Catalogue, ladder: Ladder = LADDER
) -> tuple[Verb, ...]:
    """What of the ladder is left, lowest first; a person is always there."""
    failed = failure(now)
    if failed is None:
        return ("amend", "ask") if _count(history, "amend") < ladder.amend else ("ask",)
    left: list[Verb] = []
    if _repeatable(failed, catalogue) and _count(history, "retry", failed.spec.id) < ladder.retry:
        left.append("retry")
    left += ["alternative"] if _count(history, "alternative") < ladder.alternative else []
    left += ["simplify"] if _count(history, "simplify") < ladder.simplify else []
    left += ["amend"] if now.guidance and _count(history, "amend") < ladder.amend else []
    return (*left, "ask")


def ask(now: Progress, history: Sequence[Decision], catalogue: Catalogue) -> Decision:
    """A person's turn: the cause first, what was tried, and what they may choose."""
    failed = failure(now)
    tried = "; ".join(_tried(history))
    if failed is None:
        why = "; ".join(unmet(now)) or "the planner does not know how to go on"
        return Decision(verb="ask", reason=_sentence(why, tried), options=("guide", "abort"))
    cause = failed.report.summary if failed.report else "it failed without a report"
    options = tuple(_options(failed, now, catalogue))
    return Decision(verb="ask", reason=_sentence(cause, tried), step=failed.spec.id, options=options)


def _candidates(
    now: Progress,
    history: Sequence[Decision],
    catalogue: Catalogue,
    advise: Advise | None,
    ladder: Ladder,
) -> Iterable[Decision]:
    # Where a person has said how to go on, a rule does not know better.
    plain = None if now.guidance else decide_by_rules(now, history, catalogue, ladder)
    if plain and not (ladder.always and plain.verb == "continue" and not _under_way(now)):
        yield plain
        return
    going: tuple[Verb, ...] = ("continue",) if plain else ()
    left = (*going, *rungs(now, history, catalogue, ladder))
    if advised := _advised(now, history, left, advise if _affordable(now, history, ladder) else None):
        noted = advised.verb == "ask"
        yield _with_note(ask(now, history, catalogue), advised) if noted else advised
    if plain:
        yield plain
    if "alternative" in left and (other := _elsewhere(now, catalogue)):
        yield other


def _advised(
    now: Progress, history: Sequence[Decision], left: Sequence[Verb], advise: Advise | None
) -> Decision | None:
    """What a model says, if it is asked, answers, and says what it may."""
    if advise is None or [*left] == ["ask"]:
        return None
    try:
        found = advise(now, history, left)
    except (ModelFailed, InvalidPlan):
        return None  # a model that fails is no reason to stand still
    if found.verb not in {*left, "finish", "abort"}:
        return None
    failed = now.steps.get(found.step)
    return found.model_copy(update={"wait": _wait(failed, history)}) if failed else found


def _under_way(now: Progress) -> bool:
    return any(step.state in UNDER_WAY for step in now.steps.values())


def _with_note(asked: Decision, advised: Decision) -> Decision:
    """The cause and the options are code's to say; what the model thinks of it is a note."""
    if advised.reason not in {"", asked.reason}:
        reason = f"{asked.reason.rstrip('.')}. The planner's note: {advised.reason}"
        asked = asked.model_copy(update={"reason": reason})
    return asked.model_copy(update={"source": advised.source})


def _after(
    failed: StepView, history: Sequence[Decision], catalogue: Catalogue, ladder: Ladder
) -> Decision | None:
    error = failed.report.error if failed.report else None
    before = _count(history, "retry", failed.spec.id)
    if error is None or error.kind != "transient" or before >= ladder.retry:
        return None
    if not _repeatable(failed, catalogue):
        return None
    wait = _wait(failed, history)
    if wait > ladder.longest_wait:
        return None
    return Decision(verb="retry", step=failed.spec.id, reason=error.message, wait=wait)


def _wait(failed: StepView, history: Sequence[Decision]) -> float:
    """Longer each time, and never shorter than the worker asks."""
    error = failed.report.error if failed.report else None
    tries = max(failed.attempt + _count(history, "retry", failed.spec.id) - 1, 0)
    return max(failed.spec.retries.wait * 2.0**tries, error.after or 0.0 if error else 0.0)


def _elsewhere(now: Progress, catalogue: Catalogue) -> Decision | None:
    failed = failure(now)
    taken = {*now.steps, *(step.id for step in now.spec.steps)}
    other = elsewhere(failed.spec, catalogue, taken) if failed else None
    if failed is None or other is None:
        return None
    spec = rerouted(now.spec, failed.spec.id, [other], catalogue, taken)
    why = f"{failed.spec.worker} failed, and {other.worker} offers the same"
    return Decision(verb="alternative", step=failed.spec.id, reason=why, spec=spec)


def _repeatable(step: StepView, catalogue: Catalogue) -> bool:
    contract = catalogue.find(step.spec)
    return contract is not None and contract.repeat == "safe"


def _affordable(now: Progress, history: Sequence[Decision], ladder: Ladder) -> bool:
    asked = sum(decision.source != "rules" for decision in history)
    return asked < ladder.advice and now.spent < now.approved.mandate.max_cost_usd


def _count(history: Sequence[Decision], verb: Verb, step: str = "") -> int:
    return sum(decision.verb == verb and step in {"", decision.step} for decision in history)


def _tried(history: Sequence[Decision]) -> Iterable[str]:
    words: dict[Verb, str] = {
        "retry": "tried again",
        "alternative": "tried another way",
        "simplify": "made it smaller",
    }
    for verb, said in words.items():
        if number := _count(history, verb):
            yield f"{said} {'once' if number == 1 else f'{number} times'}"


def _options(failed: StepView, now: Progress, catalogue: Catalogue) -> Iterable[str]:
    found = {step.id: catalogue.find(step) for step in now.spec.steps}
    changing = {key for key, contract in found.items() if contract is None or contract.changes}
    started = {key for key, step in now.steps.items() if step.attempt}
    yield "retry"
    if not failed.undo and can_skip(now.spec, changing, failed.spec.id):
        yield "skip"
    if any(undo.undoes in started for undo in now.spec.rollback):
        yield "rollback"
    yield from ("guide", "abort")


def _sentence(why: str, tried: str) -> str:
    return f"{why.rstrip('.')}. {tried[:1].upper()}{tried[1:]}." if tried else why
