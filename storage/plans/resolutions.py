"""What a person says became of a step of which nobody knew whether it ran."""

from storage.contract.report import AnyReport
from storage.contract.states import StepState
from storage.database.tables import Plan, Step
from storage.errors import Conflict
from storage.journal.words import report_hash
from storage.memory import Memory
from storage.settling.settle import settle_plans
from storage.settling.targets import free_target
from storage.transaction import Transaction


def resolve(memory: Memory, plan_id: int, key: str, answer: str, *, user: str) -> None:
    """A person says what became of an unknown step: ran, did_not, or look (again)."""
    with memory.write() as t:
        plan = t.touch(plan_id)
        step = next((s for s in t.steps(plan) if s.key == key), None)
        if step is None or step.state != StepState.unknown:
            raise Conflict(f"Step {key} is not unknown (any more); there is nothing to resolve.")
        data = {"step": key, "answer": answer}
        if answer == "look":
            t.change_step(step, probing=True, lease_until=None)
            t.note(plan, "resolve", actor=user, data=data)
        else:
            _resolve(t, plan, step, answer, user=user)
        t.redraw(plan_id, [key])
        settle_plans(t, plan_id)


def _resolve(t: Transaction, plan: Plan, step: Step, answer: str, *, user: str) -> None:
    moves = {"ran": "succeed", "did_not": "retry"}
    if answer not in moves:
        raise Conflict(f"'{answer}' is not an answer to an unknown step.")
    report = AnyReport.ok("somebody looked, and says that it ran", {}) if answer == "ran" else None
    body = report.model_dump(mode="json") if report else None
    values = {"report": body, "owner": "", "lease_until": None, "probing": False}
    t.move_step(step, moves[answer], **values, ended_at=t.clock() if report else None)
    free_target(t, step)
    data = {"step": step.key, "answer": answer} | ({"report": report_hash(body)} if body else {})
    t.note(plan, "resolve", actor=user, data=data)
