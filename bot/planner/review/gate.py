"""What becomes of a decision: it takes effect, people must approve its difference, or it is refused. Pure.

Every rule holds whoever decided. A model's word has no more weight here than anybody else's, and none at all
on what has happened, on the mandate, or on whether the goal is reached.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from bot.planner.decision import REVISING, Decision, Progress
from bot.planner.edits.difference import asks
from bot.planner.validate import Catalogue, validate
from storage.contract.mandate import Allowance, allowance, narrower
from storage.contract.spec import Mandate, PlanSpec, StepSpec, holds
from storage.contract.stand_in import FOR, answered
from storage.contract.states import StepState
from storage.reading.plan_view import StepView

ATTEMPTS = 6  # of one step, whatever its retries say


@dataclass(frozen=True)
class Ruling:
    """The gate's word. `changes` are the lines that people must read; `spec` is the plan as it would be."""

    way: Literal["takes_effect", "needs_approval", "refused"]
    reason: str = ""
    spec: PlanSpec | None = None
    changes: tuple[str, ...] = ()


def judge(decision: Decision, now: Progress, catalogue: Catalogue) -> Ruling:
    """Rule on one decision about a plan as it stands."""
    if decision.verb in REVISING:
        return _revision(decision, now, catalogue)
    if decision.spec is not None:
        return _refused(f"to {decision.verb} brings no steps of its own")
    return _PLAIN[decision.verb](decision, now, catalogue)


def unmet(now: Progress) -> list[str]:
    """Why the goal is not reached yet; code finds it, whatever anybody says."""
    waiting = [s.id for s in now.spec.steps if now.state(s.id) != StepState.succeeded]
    reports = now.data()
    failing = [check for check in now.spec.done_when if not holds(check, reports)]
    said = [f"{key} has not succeeded" for key in waiting]
    return said + [
        f"“{check.name or check.field} {check.op} {check.value}” does not hold" for check in failing
    ]


def allows(mandate: Mandate) -> str:
    """What the mandate allows, as the card says it to those who approve."""
    parts = [f"add up to {mandate.max_added_steps} steps"] if mandate.max_added_steps else []
    kinds = ["that only read"] if mandate.reads else []
    kinds += [_allowed(allowance(text)) for text in mandate.extra]
    if not parts or not kinds:
        return "The planner adds nothing without asking again."
    money = f"thinking may cost {mandate.max_cost_usd:.2f} USD"
    money += f", the agents {mandate.max_worker_usd:.2f} USD" if mandate.max_worker_usd else ""
    words = ", ".join(f"“{word}”" for word in mandate.said)
    used = f" Reads may use these words of the request: {words}." if words else ""
    instead = "".join(f" When {lost} fails, {other} may stand in for it." for other, lost in _pairs(mandate))
    return (
        f"Without asking again, the planner may {parts[0]} {' or '.join(kinds)}; {money}. "
        f"Everything else it asks for.{used}{instead}"
    )


def _pairs(mandate: Mandate) -> Iterator[tuple[str, str]]:
    for text in mandate.alternatives:
        other, _, lost = text.partition(FOR)
        yield other, lost


def _allowed(found: Allowance) -> str:
    bounds = ", ".join(f"{name} {' or '.join(words)}" for name, words in found.bounds.items())
    times = "once" if found.uses == 1 else f"{found.uses} times"
    return f"that call {found.worker}.{found.action}{f' ({bounds})' if bounds else ''} at most {times}"


def _goes_on(decision: Decision, now: Progress, catalogue: Catalogue) -> Ruling:
    return Ruling("takes_effect", decision.reason)


def _finish(decision: Decision, now: Progress, catalogue: Catalogue) -> Ruling:
    missing = unmet(now)
    return _refused(f"it is not finished: {'; '.join(missing)}") if missing else Ruling("takes_effect")


def _abort(decision: Decision, now: Progress, catalogue: Catalogue) -> Ruling:
    """What has changed something is not left as it is on a machine's word."""
    started = [step.spec for step in now.steps.values() if step.attempt]
    changed = [step.id for step in started if (found := catalogue.find(step)) is None or found.changes]
    if not changed and (now.guidance or not (lost := questions(now))):
        return Ruling("takes_effect", decision.reason)
    if not changed:
        return Ruling("needs_approval", changes=(f"the plan ends here, and {lost[0].id} has failed",))
    return Ruling("needs_approval", changes=(f"the plan ends here, and {changed[0]} has started",))


def _retry(decision: Decision, now: Progress, catalogue: Catalogue) -> Ruling:
    step = now.steps.get(decision.step)
    if step is None or step.state != StepState.failed:
        return _refused(f"“{decision.step}” is not a step that failed")
    if step.attempt >= ATTEMPTS:
        return _refused(f"{decision.step} was tried {step.attempt} times; that is enough")
    contract = catalogue.find(step.spec)
    if contract is None or contract.hash() != step.spec.contract:
        return _refused(f"no worker offers what was approved for {decision.step}")
    if contract.repeat == "safe":
        return Ruling("takes_effect", decision.reason)
    return Ruling("needs_approval", changes=(f"{decision.step} runs again; it is not safe to repeat",))


def _revision(decision: Decision, now: Progress, catalogue: Catalogue) -> Ruling:
    new = decision.spec
    if new is None:
        return _refused(f"to {decision.verb} needs a plan")
    if new.goal != now.approved.goal:
        return _refused("the goal is the one that people approved")
    if not narrower(now.spec.mandate, new.mandate):
        return _refused("a mandate can only become narrower")
    if why := _rewrites(now, new, catalogue):
        return _refused(why)
    if issues := validate(new, catalogue):
        return _refused("; ".join(map(str, issues)))
    if why := _unready(new, catalogue):
        return _refused(why)
    done = [key for key in now.steps if now.state(key) == StepState.succeeded]
    changes = asks(now.approved, new, catalogue, done)
    if not changes and not now.guidance and (why := _evades(now, new)):
        return _refused(why)
    return Ruling("needs_approval" if changes else "takes_effect", decision.reason, new, tuple(changes))


def questions(now: Progress) -> list[StepSpec]:
    """The failed steps after which a person was to be asked."""
    return [now.steps[step.id].spec for step in now.spec.steps if asking(now.steps.get(step.id))]


def asking(step: StepView | None) -> bool:
    """Whether it failed, and its question is open: nobody has answered it yet."""
    if step is None or step.state != StepState.failed:
        return False
    return (step.choice or step.spec.failure_action) == "ask"


def _evades(now: Progress, new: PlanSpec) -> str:
    """Which question the new plan would go past, with nobody asked and nothing that stands in; or ""."""
    lost, kept = questions(now), {step.id for step in new.steps}
    known = {step.id for step in now.spec.steps}
    open_ = [step.id for step in lost if not answered(now.approved.mandate, step, new, known)]
    # One at a time may be answered; those that stay ask again.
    gone = open_ if len(open_) == len(lost) else [key for key in open_ if key not in kept]
    return f"nothing in it stands in for {gone[0]}, so the question stands" if gone else ""


def _rewrites(now: Progress, new: PlanSpec, catalogue: Catalogue) -> str:
    """Why the new plan is not one that can follow from what has happened, or ""."""
    if any(step.undo for step in now.steps.values()):
        return "the plan is being rolled back"
    after = {step.id: step for step in new.steps}
    for key, step in now.steps.items():
        if not step.attempt:
            continue
        kept = after.get(key)
        if kept is None and not _may_go(step.spec, step.state, catalogue):
            return f"{key} has run; it stays on record"
        if kept is not None and kept.digest() != step.spec.digest():
            return f"{key} has run; it cannot become another step"
    return ""


def _may_go(step: StepSpec, state: StepState, catalogue: Catalogue) -> bool:
    """Only a read that came to nothing is left behind; what changed something keeps its rollback."""
    contract = catalogue.find(step)
    ended = state in {StepState.failed, StepState.skipped, StepState.cancelled}
    return ended and contract is not None and not contract.changes


def _unready(new: PlanSpec, catalogue: Catalogue) -> str:
    for step in (*new.steps, *new.rollback):
        contract = catalogue.find(step)
        if contract is None or contract.hash() != step.contract:
            return f"{step.id} is not what its worker promises today"
    return ""


def _refused(why: str) -> Ruling:
    return Ruling("refused", why)


_PLAIN: dict[str, Callable[[Decision, Progress, Catalogue], Ruling]] = {
    "continue": _goes_on,
    "ask": _goes_on,
    "finish": _finish,
    "abort": _abort,
    "retry": _retry,
}
