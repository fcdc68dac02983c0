"""A proposal that nobody wants is the plan's end; or, where something was done, a question about that."""

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import and_, select, update
from sqlmodel import col

from storage.contract.spec import PlanSpec, read_spec
from storage.contract.states import PlanState, failures, undo_order
from storage.database.tables import Plan, Revision, Step
from storage.errors import Conflict, NotFound
from storage.memory import Memory
from storage.plans.approvals import decidable
from storage.plans.carry_over import bring, earlier
from storage.plans.lifecycle import add_revision, agreed, words
from storage.settling.frames import facts_of
from storage.transaction import Transaction

ASK = "ask"


def reject(memory: Memory, plan_id: int, revision: int, *, user: str, reason: str) -> None:
    with memory.write() as t:
        plan = t.touch(plan_id)
        decidable(t, plan, revision, None)
        _dismiss(t, plan, "reject", actor=user, reason=reason)


def expire(memory: Memory) -> list[int]:
    """End the proposals that nobody decided in time. Without any, nothing is written, nobody woken."""
    found = waiting(memory, memory.clock())
    for plan_id in found:
        with memory.write() as t:
            plan = t.touch(plan_id)
            if plan.state == PlanState.proposed and t.revision(plan).expires_at <= memory.clock():
                _dismiss(t, plan, "expire", actor="clock", reason="nobody decided in time")
    return found


def waiting(memory: Memory, until: datetime) -> list[int]:
    """The proposals that expire by then."""
    current = and_(col(Revision.plan_id) == col(Plan.id), col(Revision.number) == col(Plan.revision))
    late = (col(Plan.state) == PlanState.proposed, col(Revision.expires_at) <= until)
    query = select(col(Plan.id)).join(Revision, current).where(*late).order_by(col(Plan.id))
    with memory.read() as t:
        return [*t.execute(query).scalars()]


def _dismiss(t: Transaction, plan: Plan, verb: str, *, actor: str, reason: str) -> None:
    under_way = _undoable(t, plan)
    if under_way is None:
        t.move(plan.id, verb, actor=actor, data={"reason": reason}, reason=reason)
    else:
        _withdraw(t, plan, under_way, {"by": verb, "reason": reason}, actor)


def _undoable(t: Transaction, plan: Plan) -> Revision | None:
    """The revision that was under way before this proposal, if it has done what can be undone."""
    steps = earlier(t, plan)
    if not steps or any(step.undo for step in steps):
        return None
    before = t.revision(plan, steps[0].revision)
    facts = facts_of({step.key: step for step in steps}, {})
    return before if undo_order(read_spec(before.spec).spec, facts) else None


def _withdraw(t: Transaction, plan: Plan, before: Revision, said: Mapping[str, str], actor: str) -> None:
    """What was approved stands again, as it had come; a person says how it goes on, or back."""
    spec, plan_id = read_spec(before.spec).spec, plan.id
    asking = _asking(t, plan, spec)
    t.note(plan, "withdraw", actor=actor, data=said)
    t.move(plan_id, "revise", actor=actor, data=said)
    parent = t.revision(plan, before.parent or before.number)
    note = f"as revision {before.number}, which was approved"
    said = {**said, "words": words(t, spec, agreed(parent), note, [])}
    add_revision(
        t, plan, spec, agreed(parent), author=before.author, note=note, changes=[], parent=parent.number
    )
    _stand(t, t.plan(plan_id), before, asking)
    t.move(plan_id, "stall", actor=actor, data=said, quiet=True, reason=said["reason"], look=0)
    question = {"verb": ASK, "step": next(iter(asking), ""), "reason": WHY, "source": "rules", "wait": 0}
    t.note(plan, "decide", actor="rules", data=question)
    t.redraw(plan_id, asking)


def _asking(t: Transaction, plan: Plan, spec: PlanSpec) -> list[str]:
    """The failed steps whose question was answered by the proposal, and is none any more."""
    facts = facts_of({step.key: step for step in earlier(t, plan)}, {})
    return [key for key, way in failures(spec, facts).items() if way == ASK]


def _stand(t: Transaction, plan: Plan, before: Revision, asking: list[str]) -> None:
    """Its steps as they were; those that had not begun are born anew."""
    try:
        with t.connection.begin_nested():
            bring(t, plan, read_spec(before.spec).spec)
    except (Conflict, NotFound):  # a worker promises something else by now: they stay left out
        old = (col(Step.plan_id) == plan.id, col(Step.revision) == before.number)
        t.execute(update(Step).where(*old).values(revision=plan.revision))
    mine = (col(Step.plan_id) == plan.id, col(Step.revision) == plan.revision)
    t.execute(update(Step).where(*mine, col(Step.key).in_(asking)).values(choice=ASK))


WHY = "the change is off the table, and what was done stands"
