"""The verbs of the review: what waits for thought, and what was decided. One event is answered once."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from sqlalchemy import select
from sqlmodel import col

from storage.contract.capability import Contract
from storage.contract.guards import dropped
from storage.contract.mandate import exceeds, stands
from storage.contract.report import asks
from storage.contract.spec import PlanSpec, holds, read_spec
from storage.contract.stand_in import answered
from storage.contract.states import PlanState, StepState, failures
from storage.database.tables import Event, Plan, Revision, Step
from storage.errors import Conflict, NotAllowed
from storage.memory import Memory
from storage.plans.answers import choose, see
from storage.plans.carry_over import bring, forget_previews
from storage.plans.lifecycle import Terms, add_revision, agreed, words
from storage.settling.frames import facts_of
from storage.settling.questions import ASK, unmet
from storage.settling.settle import promised, settle_plans, skip_pending
from storage.transaction import Transaction

GUIDE = "guide"


def to_review(memory: Memory) -> list[tuple[int, int]]:
    """Plans that need thought, each with the event that it is about."""
    waiting = (col(Plan.state) == PlanState.stalled, col(Plan.look) > 0)
    with memory.read() as t:
        query = select(col(Plan.id), col(Plan.look)).where(*waiting).order_by(col(Plan.id))
        return [*map(tuple, t.execute(query))]


def guide(memory: Memory, plan_id: int, text: str, *, user: str, key: str = "") -> None:
    """A person tells the planner, in their own words, how a plan that waits for an answer shall go on.

    The words stay in the journal (verb `answer`, choice `guide`), and the review looks at the plan again
    with them: what it then advises passes the same gate and the same approvals as anything else. `key` is
    the step whose failure they were said about, if it was one. Conflict when the plan does not wait.
    """
    with memory.write() as t:
        plan = t.touch(plan_id)
        if plan.state != PlanState.stalled:
            raise Conflict(t.why_not(plan_id, "answer"))
        t.change(plan, look=plan.events + 1)
        data = {"step": key, "choice": GUIDE, "text": text}
        t.note(plan, "answer", actor=user, data=data)
        t.redraw(plan_id, [key] if key else [])


def decide(
    memory: Memory,
    plan_id: int,
    look: int,
    said: Mapping[str, Any],
    *,
    spec: PlanSpec | None = None,
    terms: Terms | None = None,
    changes: Sequence[str] = (),
    quiet: bool = False,
) -> None:
    """Put on record what the review decided about event `look`, and do it, in one commit.

    `said` has verb, step, reason, source and wait. With a `spec`, it goes on as this revision, under
    the mandate of the approved one; with `terms` besides, people are asked first. Conflict when the event
    was answered already, NotAllowed when what was approved does not cover it: then nothing has happened.
    """
    with memory.write() as t:
        plan = t.touch(plan_id)
        if plan.state != PlanState.stalled or plan.look != look:
            raise Conflict(f"Plan {plan_id} was answered meanwhile.")
        t.change(plan, look=0)
        data, guided = dict(said) | {"answers": look}, _guided(t, plan, look)
        t.note(plan, "decide", actor=str(said["source"]), data=data, quiet=quiet)
        if said["verb"] == "ask":
            reason = memory.redact.text(str(said["reason"]))
            t.change(plan, reason=reason)
        elif spec is not None and terms is not None:
            put(t, plan, spec, terms, str(said["reason"]), changes)
        elif spec is not None:
            _extend(t, plan, spec, str(said["reason"]), changes, guided=guided)
        elif said["verb"] == "continue":
            see(t, plan, "planner")
        elif said["verb"] == "retry":
            _again(t, plan, str(said["step"]), float(said["wait"]))
        else:
            _close_plan(t, plan, str(said["verb"]), str(said["reason"]), guided=guided)
        t.redraw(plan_id, [str(said["step"])] if said["step"] else [])


def _again(t: Transaction, plan: Plan, key: str, wait: float) -> None:
    """Try a failed step once more, later. What a person is asked for is not the planner's to answer."""
    steps = t.steps(plan)
    step = next((s for s in steps if s.key == key and s.state == StepState.failed), None)
    if step is None or step.undo or step.choice or step.repeat != "safe" or asks(step.report):
        raise NotAllowed(f"Only a person may have {key} tried again.")
    later = max(t.clock() + timedelta(seconds=wait), step.not_before or t.clock())
    if step.start_by and step.start_by < later:
        raise NotAllowed(f"There is no time left to try {key} again.")
    choose(t, t.spec(plan), steps, step, "retry", "planner")
    t.change_step(step, not_before=later)
    _resume(t, plan, {"choice": "retry"})


def _extend(
    t: Transaction, plan: Plan, spec: PlanSpec, why: str, changes: Sequence[str], *, guided: bool
) -> None:
    """A revision under the mandate: it names the approved one, whose approval it must be covered by."""
    parent = _approved(t, plan)
    if beyond := _beyond(t, parent, spec):
        raise NotAllowed(f"What was approved does not cover this: {beyond}.")
    open_ = _settled_by_guidance(t, plan) if guided else _unanswered(t, plan, parent, spec)
    note = f"made under the mandate of revision {parent.number}: {why}"
    number = add_revision(
        t,
        plan,
        spec,
        agreed(parent),
        author="planner",
        note=note,
        changes=[*changes],
        parent=parent.number,
    )
    said = {"revision": number, "words": words(t, spec, agreed(parent), note, changes)}
    t.move(plan.id, "answer", actor="planner", data=said, reason="")
    bring(t, t.plan(plan.id), spec, open_)
    settle_plans(t, plan.id)


def _unanswered(t: Transaction, plan: Plan, parent: Revision, spec: PlanSpec) -> set[str]:
    """The failed steps that stay, and ask on. NotAllowed when one is dropped, or none is answered."""
    now, mandate = t.spec(plan), read_spec(parent.spec).spec.mandate
    known, kept = {step.id for step in now.steps}, {step.id for step in spec.steps}
    asking = {step.key: now.find(step.key) for step in _asking(t, plan)}
    open_ = {key for key, lost in asking.items() if not answered(mandate, lost, spec, known)}
    gone = [step.key for step in unmet(t, plan.id, parent.number, mandate, spec)]
    if gone or (open_ and open_ == asking.keys()):
        raise NotAllowed(f"Nothing in it stands in for {[*gone, *sorted(open_)][0]}, so the question stands.")
    return open_ & kept


def _settled_by_guidance(t: Transaction, plan: Plan) -> set[str]:
    """A person was asked, and has said how to go on: no question is open any more."""
    for step in _asking(t, plan):
        t.change_step(step, choice="continue")
    return set()


def _asking(t: Transaction, plan: Plan) -> list[Step]:
    """The failed steps after which a person was to be asked, and nobody has answered."""
    steps = {step.key: step for step in t.steps(plan)}
    ways = failures(t.spec(plan), facts_of(steps, {}))
    return [steps[key] for key, way in ways.items() if way == ASK]


def rework(
    memory: Memory,
    plan_id: int,
    spec: PlanSpec,
    terms: Terms,
    *,
    author: str,
    reason: str,
    changes: Sequence[str],
    without: str = "",
) -> None:
    """A person's way on from where the plan stands, put before people; what has run stands.

    `without` is the failed step that it leaves out: that answers the question which the failure asked.
    """
    with memory.write() as t:
        plan = t.touch(plan_id)
        if plan.state != PlanState.stalled:
            raise Conflict(t.why_not(plan_id, "answer"))
        t.change(plan, look=0)
        if without:
            t.note(plan, "answer", actor=author, data={"step": without, "choice": "skip"})
            t.redraw(plan_id, [without])
        put(t, plan, spec, replace(terms, needed=max(terms.needed, 1)), reason, changes, author)


def put(
    t: Transaction,
    plan: Plan,
    spec: PlanSpec,
    terms: Terms,
    why: str,
    changes: Sequence[str],
    author: str = "planner",
) -> None:
    """Before people, with the difference; what has not run waits for their word."""
    t.move(plan.id, "revise", actor=author, data={"reason": why}, reason=why)
    skip_pending(t, plan)
    facts = {"digest": spec.digest(), "risk": terms.risk, "needed": terms.needed, "changes": [*changes]}
    facts["words"] = words(t, spec, terms, why, changes)
    moved = t.move(plan.id, "propose", actor=author, data=facts)
    add_revision(t, moved, spec, terms, author=author, note=why, changes=[*changes])
    forget_previews(t, t.plan(plan.id), spec)


def _guided(t: Transaction, plan: Plan, look: int) -> bool:
    """Whether what is decided about is what a person said on how to go on."""
    found = t.rows(Event, col(Event.plan_id) == plan.id, col(Event.seq) == look)
    return any(event.verb == "answer" and event.data.get("choice") == GUIDE for event in found)


def _close_plan(t: Transaction, plan: Plan, verb: str, why: str, *, guided: bool) -> None:
    """The end, if the rows agree: nobody's word makes a goal reached, or leaves a change half done."""
    steps = t.steps(plan)
    if verb == "finish" and not _reached(t, plan, steps):
        raise NotAllowed("The goal is not reached: a step or one of its checks says so.")
    if verb == "abort" and any(step.changes and step.attempt for step in steps):
        raise NotAllowed("Something was changed already; only a person may leave it so.")
    if verb == "abort" and not guided and (asking := _asking(t, plan)):
        raise NotAllowed(f"A person was to be asked when {asking[0].key} fails; only a person may end it.")
    skip_pending(t, plan)
    t.move(plan.id, "answer", actor="planner", data={"choice": verb}, reason="")
    end = {"reason": why, "outcome": "succeeded" if verb == "finish" else "failed"}
    t.move(plan.id, "finish", actor="planner", data=end, quiet=False, **end)


def _reached(t: Transaction, plan: Plan, steps: Sequence[Step]) -> bool:
    reports = {step.key: (step.report or {}).get("data") or {} for step in steps}
    whole = all(step.state == StepState.succeeded for step in steps)
    return whole and all(holds(check, reports) for check in t.spec(plan).done_when)


def _resume(t: Transaction, plan: Plan, data: Mapping[str, Any]) -> None:
    t.move(plan.id, "answer", actor="planner", data=data, reason="")
    settle_plans(t, plan.id)


def _approved(t: Transaction, plan: Plan) -> Revision:
    """The revision that people, or policy, approved: this one, or the one whose mandate it is under."""
    current = t.revision(plan)
    return t.revision(plan, current.parent or current.number)


def _beyond(t: Transaction, parent: Revision, spec: PlanSpec) -> str:
    approved = read_spec(parent.spec).spec
    contracts = {step.id: promised(t, step) for step in spec.steps if not stands(approved, step)}
    if not parent.needed and any(not contract.reads for contract in contracts.values()):
        return "it changes something, and no person has approved this plan"
    made = t.rows(Revision, col(Revision.plan_id) == parent.plan_id, col(Revision.parent) == parent.number)
    steps = [step for one in made for step in read_spec(one.spec).spec.steps]
    earlier = {step.digest() for step in steps if not stands(approved, step)}
    return exceeds(approved, spec, contracts, earlier) or _unguarded(t, parent, spec, contracts)


def _unguarded(t: Transaction, parent: Revision, spec: PlanSpec, added: Mapping[str, Contract]) -> str:
    """Which change would come without what the approved one relied on, or ""."""
    rows, new = t.rows(Step, col(Step.plan_id) == parent.plan_id), {k for k in added if added[k].changes}
    done = {row.key for row in rows if row.state == StepState.succeeded}
    lost = dropped(read_spec(parent.spec).spec, spec, {row.key for row in rows if row.changes}, new, done)
    return next((f"{change} would come without {guard}" for guard, change in lost.items()), "")
