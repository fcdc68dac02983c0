"""Which moves plans and steps may make, and when a plan settles. Data and pure functions; verbs obey them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum, auto
from typing import Any, Literal

from storage.contract.spec import PlanSpec, StepSpec, holds


class PlanState(StrEnum):
    planning = auto()  # the planner is at work, or asks for missing facts
    proposed = auto()  # a revision stands in the channel; people decide
    approved = auto()  # its steps may run when due
    stalled = auto()  # nothing runs; a person or the planner must say how to go on
    done = auto()  # the end; `outcome` says how
    rejected = auto()  # the end: a person said no
    expired = auto()  # the end: nobody decided in time
    cancelled = auto()  # the end: a person stopped it


class StepState(StrEnum):
    pending = auto()  # waits: for others, its time, its target, a permit or a retry
    running = auto()  # an attempt holds the lease
    succeeded = auto()  # the end: reported, and every criterion holds
    failed = auto()  # the end, unless a person answers "retry" or "skip"
    unknown = auto()  # it may or may not have happened; a probe or a person resolves it
    skipped = auto()  # the end: will not run
    cancelled = auto()  # the end: stopped while running


P, S = PlanState, StepState
OPEN = frozenset({P.planning, P.proposed, P.approved, P.stalled})

PLAN_MOVES: dict[str, tuple[frozenset[PlanState], PlanState]] = {
    "propose": (frozenset({P.planning}), P.proposed),
    "amend": (frozenset({P.proposed}), P.proposed),
    "approve": (frozenset({P.proposed}), P.approved),
    "reject": (frozenset({P.proposed}), P.rejected),
    "expire": (frozenset({P.proposed}), P.expired),
    "revise": (frozenset({P.proposed, P.approved, P.stalled}), P.planning),
    "stall": (frozenset({P.planning, P.approved}), P.stalled),
    "answer": (frozenset({P.stalled}), P.approved),
    "cancel": (OPEN, P.cancelled),
    "postpone": (frozenset({P.approved}), P.approved),
    "finish": (frozenset({P.approved}), P.done),
}

STEP_MOVES: dict[str, tuple[frozenset[StepState], StepState]] = {
    "claim": (frozenset({S.pending}), S.running),
    "succeed": (frozenset({S.running, S.unknown}), S.succeeded),
    # A pending step fails when its window has passed: a missed window asks, it never runs late.
    "fail": (frozenset({S.running, S.unknown, S.pending}), S.failed),
    "lose": (frozenset({S.running}), S.unknown),
    "retry": (frozenset({S.running, S.unknown, S.failed}), S.pending),
    "skip": (frozenset({S.pending, S.failed}), S.skipped),
    "confirm": (frozenset({S.failed}), S.succeeded),  # it asked a person, who said: go on
    "cancel": (frozenset({S.running}), S.cancelled),
}

SEEN = "seen"  # the choice of a succeeded step that the review has looked at
DECLINED = "continue"  # the choice of a step that asked a person, who said no: what waits for it is left out
# What recurs has only these three states; removed ends it.
RECURRING_MOVES: dict[str, tuple[frozenset[str], str]] = {
    "pause": (frozenset({"active"}), "paused"),
    "unpause": (frozenset({"paused"}), "active"),
    "retire": (frozenset({"active", "paused"}), "removed"),
}

ENDED = frozenset({S.succeeded, S.failed, S.skipped, S.cancelled})
BUSY = frozenset({S.running, S.unknown})
LOST = frozenset({S.failed, S.cancelled, S.skipped})


@dataclass(frozen=True)
class StepFact:
    """As much of a step row as deciding needs. `choice` is what a person said after a failure."""

    key: str
    state: StepState
    choice: str = ""
    started: bool = False
    undo: bool = False
    data: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Settlement:
    """What must happen to the plan now."""

    verb: Literal["finish", "stall", "rollback", "skip", "cancel"]
    reason: str
    outcome: str = ""
    keys: tuple[str, ...] = ()
    looks: bool = False  # the review may find a way; until then, and besides, a person may


Facts = Mapping[str, StepFact]


def settle(spec: PlanSpec, facts: Facts) -> Settlement | None:
    """What follows from the steps as they are; None while something runs, is unknown or may still start."""
    states = {fact.state for fact in facts.values()}
    if states & BUSY:
        return None
    if any(fact.undo for fact in facts.values()):
        return _settle_rollback(facts)
    ways = failures(spec, facts) if S.failed in states else {}
    for way, answer in (("rollback", _roll_back), ("abort", _abort), ("ask", _ask)):
        if way in ways.values():
            return answer(spec, facts, [key for key, chosen in ways.items() if chosen == way])
    if unseen(spec, facts):
        return Settlement("stall", "the planner looks at what was reported", looks=True)
    if states & LOST and (doomed := _doomed(spec, facts)):
        return Settlement("skip", "a step it depends on did not succeed", keys=doomed)
    if S.pending in states:
        return None
    return _settle_end(spec, facts)


def failures(spec: PlanSpec, facts: Facts) -> dict[str, str]:
    """Each failed step and what shall follow: the person's choice, else what was approved."""
    return {
        key: fact.choice or spec.find(key).failure_action
        for key, fact in facts.items()
        if fact.state == S.failed and not fact.undo
    }


def startable(spec: PlanSpec, facts: Facts) -> set[str]:
    """Pending steps that dependencies and siblings let start; time, target, permit are asked apart."""
    states = {fact.state for fact in facts.values()}
    if S.unknown in states:
        return set()
    if undos := [fact for fact in facts.values() if fact.undo]:
        first = next((fact for fact in undos if fact.state != S.succeeded), undos[0])
        return {first.key} if first.state == S.pending else set()
    ways = failures(spec, facts) if S.failed in states else {}
    if any(way != "continue" for way in ways.values()) or unseen(spec, facts):
        return set()
    pending, met = S.pending, _met(facts)
    waiting = (step for step in spec.steps if step.id in facts and facts[step.id].state == pending)
    return {step.id for step in waiting if met.issuperset(step.depends_on)}


def unseen(spec: PlanSpec, facts: Facts) -> bool:
    """Whether a step has reported that the planner shall look at before anything else starts."""
    done = (fact for fact in facts.values() if fact.state == S.succeeded and not fact.undo)
    return spec.review == "always" and any(fact.choice != SEEN for fact in done)


def waits(state: StepState, choice: str) -> bool:
    """Whether a failed step may still be answered."""
    return state == S.failed and choice != DECLINED


def can_decline(spec: PlanSpec, key: str, open_: Iterable[str]) -> bool:
    """Whether something is left of the plan when a question is answered with no."""
    return spec.continues or bool({*open_} - dependents(spec, {key}) - {key})


def can_skip(spec: PlanSpec, changing: Iterable[str], key: str) -> bool:
    """Whether leaving this step out needs no new approval: no later changing step relies on it."""
    return not set(changing) & dependents(spec, {key})


def dependents(spec: PlanSpec, keys: set[str]) -> set[str]:
    """Every step that depends on one of these, directly or not."""
    next_to: defaultdict[str, set[str]] = defaultdict(set)
    for step in spec.steps:
        for before in step.depends_on:
            next_to[before].add(step.id)
    found: set[str] = set()
    reached = [*keys]
    while reached:
        more = next_to[reached.pop()] - found
        found |= more
        reached += more
    return found


def undo_order(spec: PlanSpec, facts: Facts) -> list[StepSpec]:
    """The undo entries of steps that started, last started first (reverse of the plan's order)."""
    position = {step.id: index for index, step in enumerate(spec.steps)}
    due = [undo for undo in spec.rollback if facts[undo.undoes].started]
    return [*sorted(due, key=lambda undo: -position[undo.undoes])]


def _met(facts: Facts) -> set[str]:
    """The steps that those who depend on them need not wait for. Asked at every turn, of every step."""
    succeeded, skipped = S.succeeded, S.skipped
    return {
        key
        for key, fact in facts.items()
        if fact.state == succeeded or (fact.state == skipped and fact.choice == "skip")
    }


def _settle_rollback(facts: Facts) -> Settlement | None:
    undos = [fact for fact in facts.values() if fact.undo]
    failed = [fact.key for fact in undos if fact.state == S.failed and fact.choice != "abort"]
    if failed:
        return Settlement("stall", f"the rollback step {failed[0]} failed", keys=tuple(failed))
    if any(fact.state == S.failed for fact in undos):
        return Settlement("finish", "given up during the rollback", outcome="failed")
    if all(fact.state == S.succeeded for fact in undos):
        return Settlement("finish", "rolled back", outcome="rolled_back")
    return None


def _roll_back(spec: PlanSpec, facts: Facts, failed: list[str]) -> Settlement:
    if undo_order(spec, facts):
        return Settlement("rollback", f"step {failed[0]} failed", keys=tuple(failed))
    return Settlement("finish", f"step {failed[0]} failed; nothing had to be undone", outcome="failed")


def _abort(spec: PlanSpec, facts: Facts, failed: list[str]) -> Settlement:
    return Settlement("finish", f"step {failed[0]} failed", outcome="failed", keys=tuple(failed))


def _ask(spec: PlanSpec, facts: Facts, failed: list[str]) -> Settlement:
    # Where somebody's word is asked for, a planner has none.
    looks = all(not facts[key].choice for key in failed)
    return Settlement("stall", f"step {failed[0]} failed", keys=tuple(failed), looks=looks)


def _doomed(spec: PlanSpec, facts: Facts) -> tuple[str, ...]:
    lost = {
        key
        for key, fact in facts.items()
        if fact.state in {S.failed, S.cancelled} or (fact.state == S.skipped and fact.choice != "skip")
    }
    waiting = dependents(spec, lost) if lost else set()
    return tuple(key for key, fact in facts.items() if key in waiting and fact.state == S.pending)


def _settle_end(spec: PlanSpec, facts: Facts) -> Settlement:
    if spec.continues:
        return Settlement("stall", "the planner looks at what these steps have reported", looks=True)
    reports = {key: fact.data or {} for key, fact in facts.items()}
    whole = all(fact.state == S.succeeded for fact in facts.values())
    met = all(holds(check, reports) for check in spec.done_when)
    if whole and met:
        return Settlement("finish", "every step succeeded", outcome="succeeded")
    reason = "not every step succeeded" if not whole else "the goal's own checks do not hold"
    return Settlement("finish", reason, outcome="incomplete")
