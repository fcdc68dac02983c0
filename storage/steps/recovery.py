"""What becomes of an interrupted attempt. No timer re-runs an unsafe step: a probe or a person decides."""

from datetime import timedelta

from sqlalchemy import or_, select, update
from sqlmodel import col

from storage.contract.report import AnyReport
from storage.contract.states import StepState
from storage.database.tables import Plan, Step
from storage.journal.words import report_hash
from storage.memory import Memory
from storage.settling.frames import read_frames
from storage.settling.settle import settle_plans
from storage.settling.targets import free_target
from storage.steps.claims import OPEN_ATTEMPT, Claim, close_attempt, opened
from storage.steps.taking import claims_of
from storage.transaction import Transaction

ENOUGH = 5  # attempts of a repeat-safe step that ended with their process


def lapsed(memory: Memory, *, owner: str, alone: bool) -> list[Step]:
    """Running steps whose owner is gone: by lease, or at once when we are the only process."""
    gone = col(Step.lease_until) < memory.clock()
    if alone:
        gone = or_(gone, col(Step.owner) != owner)
    with memory.read() as t:
        return t.rows(Step, col(Step.state) == StepState.running, gone, order=col(Step.id))


def lose(memory: Memory, step: Step, *, actor: str, probe: bool) -> None:
    """An attempt's owner is gone: a repeat-safe step waits again, an unsafe one is unknown."""
    with memory.write() as t:
        plan = t.touch(step.plan_id)
        close_attempt(t, step, "lost", None)
        data = {"step": step.key, "attempt": step.attempt}
        if step.repeat == "safe" and step.attempt >= ENOUGH:
            _give_up(t, plan, step)
            return
        if step.repeat == "safe":
            t.move_step(step, "retry", owner="", lease_until=None)
            free_target(t, step)
            t.note(plan, "retry", actor=actor, data=data | {"reason": "its process ended"})
        else:
            # With a probe, people are asked only if the probe cannot tell.
            t.move_step(step, "lose", probing=probe, owner="", lease_until=None)
            t.note(plan, "lose", actor=actor, data=data, quiet=probe)
        settle_plans(t, step.plan_id)


def _give_up(t: Transaction, plan: Plan, step: Step) -> None:
    """A step that takes its process down each time must not do so for ever."""
    report = AnyReport.failed(f"its process ended in the middle of it {step.attempt} times")
    body = report.model_dump(mode="json")
    t.move_step(step, "fail", lease_until=None, report=body, ended_at=t.clock(), owner="")
    free_target(t, step)
    data = {"step": step.key, "attempt": step.attempt, "summary": report.summary}
    data["report"] = report_hash(body)
    t.note(plan, "fail", actor="rules", data=data)
    settle_plans(t, step.plan_id)


def doubt(memory: Memory, claim: Claim, *, actor: str, reason: str) -> None:
    """The worker broke inside an unsafe step: it may or may not have happened."""
    with memory.write() as t:
        plan, step = t.touch(claim.plan_id), t.step(claim.step_id)
        if (step.attempt, step.state) != (claim.attempt, StepState.running):
            return
        close_attempt(t, step, "lost", None)
        t.move_step(step, "lose", probing=False, owner="", lease_until=None)
        data = {"step": step.key, "attempt": step.attempt, "reason": reason}
        t.note(plan, "lose", actor=actor, data=data)
        settle_plans(t, claim.plan_id)


def to_look_at(memory: Memory, *, owner: str, alone: bool) -> list[int]:
    """Unknown steps that a probe shall look at, and nobody does."""
    free = or_(col(Step.lease_until).is_(None), col(Step.lease_until) < memory.clock())
    if alone:
        free = or_(free, col(Step.owner) != owner)
    unknown = (col(Step.state) == StepState.unknown, col(Step.probing).is_(True))
    with memory.read() as t:
        return [*t.execute(select(col(Step.id)).where(*unknown, free)).scalars()]


def look(memory: Memory, step_id: int, *, owner: str, lease: timedelta) -> Claim | None:
    """Take an unknown step to probe it; the old attempt is fenced out."""
    with memory.write() as t:
        step = t.step(step_id)
        plan = t.touch(step.plan_id)
        guard = (
            col(Step.id) == step_id, col(Step.state) == StepState.unknown, col(Step.probing).is_(True),
            col(Step.attempt) == step.attempt,
        )  # fmt: skip
        values = {"attempt": step.attempt + 1, "owner": owner, "lease_until": memory.clock() + lease}
        if not t.execute(update(Step).where(*guard).values(**values)).rowcount:
            return None
        OPEN_ATTEMPT.many(t.connection, opened([step], owner, memory.clock()))
        t.note(plan, "look", actor=owner, data={"step": step.key, "attempt": step.attempt + 1})
        frames = read_frames(t, [step.plan_id])
        return next(iter(claims_of(t, [step] if frames else [], frames)), None)


def cannot_tell(memory: Memory, claim: Claim, *, actor: str, reason: str) -> None:
    """The probe has no answer: ask a person."""
    with memory.write() as t:
        plan, step = t.touch(claim.plan_id), t.step(claim.step_id)
        fence = (col(Step.id) == claim.step_id, col(Step.attempt) == claim.attempt)
        if not t.execute(update(Step).where(*fence).values(probing=False, lease_until=None)).rowcount:
            return
        close_attempt(t, step, "unknown", None)
        data = {"step": step.key, "attempt": step.attempt, "reason": reason}
        t.note(plan, "lose", actor=actor, data=data)
