"""How a plan that waits for somebody goes on, as a person chose."""

from sqlalchemy import update
from sqlmodel import col

from storage.contract.report import AnyReport, asks
from storage.contract.spec import PlanSpec
from storage.contract.states import DECLINED, SEEN, PlanState, StepState, can_skip, undo_order
from storage.database.tables import Plan, Step
from storage.errors import Conflict, NotAllowed
from storage.journal.words import report_hash
from storage.memory import Memory
from storage.settling.frames import facts_of
from storage.settling.questions import unanswered
from storage.settling.settle import roll_back, settle_plans, skip_pending
from storage.transaction import Transaction

ENDING = {"abort": "abort", "rollback": "rollback"}
CONFIRMED = AnyReport.ok("confirmed", {}).model_dump(mode="json")


def answer(memory: Memory, plan_id: int, key: str, choice: str, *, user: str) -> None:
    """Go on as a person chose after a failure: retry, skip, abort or rollback. The review is too late."""
    with memory.write() as t:
        plan = t.touch(plan_id)
        if plan.state != PlanState.stalled:
            raise Conflict(t.why_not(plan_id, "answer"))
        whole = {"confirm": see, "abort": _end_here, "rollback": _go_back}
        if not key and choice in whole:
            whole[choice](t, plan, user)
            return
        steps = t.steps(plan)
        step = next((s for s in unanswered(steps) if s.key == key), None)
        if step is None:
            raise Conflict(f"Step {key} is not waiting for an answer.")
        choose(t, t.spec(plan), steps, step, choice, user)
        data = {"step": key, "choice": choice}
        data |= {"report": report_hash(CONFIRMED)} if choice == "confirm" else {}
        t.move(plan_id, "answer", actor=user, data=data, reason="", look=0)
        t.redraw(plan_id, [key])
        settle_plans(t, plan_id)


def see(t: Transaction, plan: Plan, actor: str) -> None:
    """Somebody has looked at what was reported, and the plan goes on as it stands."""
    if t.spec(plan).review != "always":
        raise NotAllowed("Nothing of this plan waits for a look.")
    done = (col(Step.plan_id) == plan.id, col(Step.revision) == plan.revision)
    seen = update(Step).where(*done, col(Step.state) == StepState.succeeded).values(choice=SEEN)
    t.execute(seen)
    t.move(plan.id, "answer", actor=actor, data={"choice": "continue"}, reason="", look=0)
    settle_plans(t, plan.id)


def _end_here(t: Transaction, plan: Plan, user: str) -> None:
    """Nothing failed, but the planner knows no further, and a person says that it is enough."""
    if any(s.state == StepState.failed and not s.choice for s in t.steps(plan)):
        raise Conflict("A step failed; please answer that.")
    skip_pending(t, plan)
    t.move(plan.id, "answer", actor=user, data={"choice": "abort"}, reason="", look=0)
    end = {"reason": f"ended by <@{user}>", "outcome": "incomplete"}
    t.move(plan.id, "finish", actor=user, data=end, quiet=False, **end)


def _go_back(t: Transaction, plan: Plan, user: str) -> None:
    """Nothing failed, and a person says that what was done shall be undone."""
    steps = {step.key: step for step in t.steps(plan)}
    undos = undo_order(t.spec(plan), facts_of(steps, {}))
    if not undos or any(step.undo for step in steps.values()):
        raise Conflict("There is nothing to roll back.")
    t.move(plan.id, "answer", actor=user, data={"choice": "rollback"}, reason="", look=0)
    roll_back(t, plan, undos, {"reason": f"<@{user}> said so", "outcome": ""})
    settle_plans(t, plan.id)


def choose(t: Transaction, spec: PlanSpec, steps: list[Step], step: Step, choice: str, user: str) -> None:
    changing = {s.key for s in steps if s.changes}
    if step.undo and choice in {"skip", "rollback"}:
        raise Conflict("A rollback step can be tried again or given up, not left out.")
    if choice == "skip" and not can_skip(spec, changing, step.key):
        raise Conflict(
            f"A later step that changes things relies on {step.key}; without it, it is another plan."
        )
    if choice == "retry":
        if step.start_by and step.start_by <= t.clock():
            raise Conflict(f"The time approved for {step.key} has passed; another time is another plan.")
        # Where a preview had moved, this answer is the approval of what is shown now.
        basis = ((step.report or {}).get("data") or {}).get("basis", step.basis)
        anew = {"choice": "", "report": None, "started_at": None, "ended_at": None, "basis": basis}
        t.move_step(step, "retry", **anew)
    elif choice == "skip":
        t.move_step(step, "skip", choice="skip")
    elif choice == "confirm" and asks(step.report):
        t.move_step(step, "confirm", choice="", report=CONFIRMED, ended_at=t.clock())
    elif choice in ENDING or (choice == "decline" and asks(step.report)):
        t.change_step(step, choice=ENDING.get(choice, DECLINED))
    else:
        raise Conflict(f"'{choice}' is not an answer to a failed step.")
