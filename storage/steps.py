"""The verbs of a step. The attempt number fences every write; START is committed before the effect."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, delete, func, insert, or_, select, update
from sqlalchemy.exc import IntegrityError
from sqlmodel import col

from storage.contract import Check, Contract
from storage.ledger import facts, read_spec, rows
from storage.plans import PlanVerbs
from storage.report import AnyReport
from storage.settling import PERMIT
from storage.spec import PlanSpec, Retries, StepSpec, UndoSpec, resolve
from storage.states import PlanState, StepFact, StepState, may_start
from storage.stops import covers
from storage.tables import Approval, Attempt, Plan, Step, Stop, Target

Offer = tuple[str, str]  # worker, action


@dataclass(frozen=True)
class Claim:
    """Leave to run one attempt. Whoever holds it must renew it, and report with its number."""

    step_id: int
    plan_id: int
    key: str
    attempt: int
    worker: str
    action: str
    parameters: Mapping[str, Any]
    previous: Mapping[str, Any]
    criteria: tuple[Check, ...]
    retries: Retries
    repeat: str
    timeout: float
    token: str  # idempotency key: the same for every attempt of the step


class StepVerbs(PlanVerbs):
    """due, claim, start, renew, succeed, retry, fail, permit, miss."""

    def due(self, offers: Collection[Offer], limit: int) -> list[tuple[int, Offer]]:
        """Steps that could start now, oldest first, and who does them. The claim decides."""
        now = self.clock()
        time_has_come = or_(col(Step.not_before).is_(None), col(Step.not_before) <= now)
        with self._read() as c:
            approved = select(col(Plan.id)).where(col(Plan.state) == PlanState.approved)
            waiting = rows(
                c, Step, col(Step.state) == StepState.pending, time_has_come, col(Step.plan_id).in_(approved),
                order=col(Step.id),
            )  # fmt: skip
            held = {target.name for target in rows(c, Target)}
            mine = [s for s in waiting if (s.worker, s.action) in offers and s.target not in held]
            ready = self._ready(c, mine, now)
        return [(step.id or 0, (step.worker, step.action)) for step in ready[:limit]]

    def next_due(self) -> datetime | None:
        """When the next waiting step's time comes: what the alarm clock is set to."""
        with self._read() as c:
            later = (col(Step.state) == StepState.pending, col(Step.not_before) > self.clock())
            return c.execute(select(func.min(col(Step.not_before))).where(*later)).scalar_one()

    def claim(self, step_id: int, contract: Contract, *, owner: str, lease: timedelta) -> Claim | None:
        """Take a step: every check once more, then START, in one commit. None when it must wait."""
        with self._write() as c:
            step = self._step(c, step_id)
            plan = self._touch(c, step.plan_id)
            step, now = self._step(c, step_id), self.clock()
            if plan.state != PlanState.approved or step.state != StepState.pending:
                return None
            if refusal := self._mismatch(c, plan, step, contract):
                self._fail_unstarted(c, plan, step, refusal)
                return None
            if not self._ready(c, [step], now) or not self._lock_target(c, step):
                return None
            values = {"attempt": step.attempt + 1, "owner": owner, "lease_until": now + lease}
            started = {"started_at": step.started_at or now}
            step = self._move_step(c, step, "claim", **values, **started)
            self._open_attempt(c, step)
            data = {"step": step.key, "attempt": step.attempt}
            self._note(c, plan, "claim", actor=owner, data=data)
            return self._as_claim(c, plan, step)

    def start(self, claim: Claim, previous: Mapping[str, Any]) -> None:
        """Record what an undo must return to, before the effect. A later attempt keeps the first record."""
        with self._write() as c:
            fence = (col(Step.id) == claim.step_id, col(Step.attempt) == claim.attempt)
            c.execute(update(Step).where(*fence).values(previous=dict(previous)))

    def renew(self, claim: Claim, lease: timedelta) -> bool:
        """Keep the lease; False when the step is no longer this attempt's."""
        fence = (col(Step.id) == claim.step_id, col(Step.attempt) == claim.attempt)
        with self._write() as c:
            alive = (*fence, col(Step.state).in_({StepState.running, StepState.unknown}))
            values = {"lease_until": self.clock() + lease}
            return bool(c.execute(update(Step).where(*alive).values(**values)).rowcount)

    def succeed(self, claim: Claim, report: AnyReport, *, actor: str) -> bool:
        return self._end(claim, "succeed", report, actor=actor)

    def fail(self, claim: Claim, report: AnyReport, *, actor: str) -> bool:
        return self._end(claim, "fail", report, actor=actor)

    def retry(self, claim: Claim, report: AnyReport, *, actor: str, wait: float) -> bool:
        """Try again later; the time lies in a column, not in a timer."""
        later = self.clock() + timedelta(seconds=wait)
        return self._end(claim, "retry", report, actor=actor, not_before=later)

    def permit(self, step_id: int, *, actor: str) -> None:
        """The bot's fresh leave to run one changing step."""
        with self._write() as c:
            step = self._step(c, step_id)
            plan, until = self._touch(c, step.plan_id), self.clock() + PERMIT
            values = {"permit_until": until, "withheld": ""}
            c.execute(update(Step).where(col(Step.id) == step_id).values(**values))
            self._journal(c, plan, "permit", actor=actor, data={"step": step.key})

    def withhold(self, step_id: int, reason: str, *, actor: str) -> None:
        """No permit now: the step waits, and card and thread say why. The same reason is said once."""
        with self._read() as c:
            if self._step(c, step_id).withheld == reason:
                return  # a commit would ring every bell, and ours would ask Slack again
        with self._write() as c:
            step = self._step(c, step_id)
            plan = self._touch(c, step.plan_id)
            c.execute(update(Step).where(col(Step.id) == step_id).values(withheld=reason))
            self._note(c, plan, "withhold", actor=actor, data={"step": step.key, "reason": reason})

    def unpermitted(self) -> list[Step]:
        """Changing steps that could start but for a permit."""
        now = self.clock()
        with self._read() as c:
            approved = select(col(Plan.id)).where(col(Plan.state) == PlanState.approved)
            stale = (
                col(Step.state) == StepState.pending, col(Step.changes).is_(True), col(Step.undo).is_(False),
                col(Step.permit_until) <= now, col(Step.plan_id).in_(approved),
            )  # fmt: skip
            return self._ready(c, rows(c, Step, *stale), now, permit=False)

    def miss(self) -> None:
        """A step whose approved time has passed never runs late: it fails, and a person is asked."""
        now = self.clock()
        with self._read() as c:
            approved = select(col(Plan.id)).where(col(Plan.state) == PlanState.approved)
            late = rows(c, Step, col(Step.state) == StepState.pending, col(Step.not_after) < now,
                        col(Step.plan_id).in_(approved))  # fmt: skip
        for step in late:
            with self._write() as c:
                plan, found = self._touch(c, step.plan_id), self._step(c, step.id or 0)
                if plan.state == PlanState.approved and found.state == StepState.pending:
                    self._fail_unstarted(c, plan, found, "its approved time has passed")

    def _ready(self, c: Connection, steps: list[Step], now: datetime, *, permit: bool = True) -> list[Step]:
        """Those that stops, time, permit and dependencies let start. Targets are asked by the claim."""
        stops = rows(c, Stop)
        timely = [s for s in steps if _timely(s, now, permit) and not any(covers(t.scope, s) for t in stops)]
        plans = {plan_id: self._frame(c, plan_id) for plan_id in {step.plan_id for step in timely}}
        return [step for step in timely if may_start(*plans[step.plan_id], step.key)]

    def _frame(self, c: Connection, plan_id: int) -> tuple[PlanSpec, Mapping[str, StepFact]]:
        plan = self._plan(c, plan_id)
        return self._spec(c, plan), facts(self._steps(c, plan))

    def _mismatch(self, c: Connection, plan: Plan, step: Step, contract: Contract) -> str:
        """Why this step is not what people approved, or ""."""
        revision = self._revision(c, plan)
        spec, digest = read_spec(revision.spec)
        given = rows(
            c, Approval, col(Approval.plan_id) == plan.id, col(Approval.revision) == plan.revision,
            col(Approval.digest) == digest,
        )  # fmt: skip
        if digest != revision.digest or len(given) < revision.needed:
            return "the stored plan is not the one that was approved"
        wanted = spec.find(step.key)
        if wanted.digest() != step.digest:
            return "the stored step is not the one that was approved"
        if contract.hash() != wanted.contract:
            return f"{step.worker}.{step.action} has changed since it was approved"
        if not _as_approved(step, wanted, contract):
            return "the stored step has other facts than those that were approved"
        if contract.binding(wanted.parameters) != wanted.binding:
            return "what its names stand for in signoff.toml has changed since it was approved"
        return ""

    def _fail_unstarted(self, c: Connection, plan: Plan, step: Step, reason: str) -> None:
        report = AnyReport.failed(f"not started: {reason}")
        values = {"choice": "ask", "report": report.model_dump(mode="json"), "ended_at": self.clock()}
        self._move_step(c, step, "fail", **values)
        self._note(c, plan, "fail", actor="rules", data={"step": step.key, "reason": reason})
        self._settle(c, self._plan(c, plan.id or 0))

    def _lock_target(self, c: Connection, step: Step) -> bool:
        if not step.target:
            return True
        row = {"name": step.target, "step_id": step.id, "plan_id": step.plan_id, "since": self.clock()}
        try:
            with c.begin_nested():
                c.execute(insert(Target).values(**row))
        except IntegrityError:
            return False
        return True

    def _free_target(self, c: Connection, step: Step) -> None:
        c.execute(delete(Target).where(col(Target.step_id) == step.id))

    def _open_attempt(self, c: Connection, step: Step) -> None:
        row = {"step_id": step.id, "number": step.attempt, "owner": step.owner, "started_at": self.clock()}
        c.execute(insert(Attempt).values(**row))

    def _close_attempt(self, c: Connection, step: Step, outcome: str, report: dict[str, Any] | None) -> None:
        one = (col(Attempt.step_id) == step.id, col(Attempt.number) == step.attempt)
        values = {"outcome": outcome, "report": report, "ended_at": self.clock()}
        c.execute(update(Attempt).where(*one).values(**values))

    def _as_claim(self, c: Connection, plan: Plan, step: Step) -> Claim:
        steps = self._steps(c, plan)
        wanted = self._spec(c, plan).find(step.key)
        reports = {key: fact.data or {} for key, fact in facts(steps).items()}
        source = wanted.undoes if isinstance(wanted, UndoSpec) else step.key
        undone = next(other.previous for other in steps if other.key == source)
        return Claim(
            step_id=step.id or 0, plan_id=step.plan_id, key=step.key, attempt=step.attempt,
            worker=step.worker, action=step.action, parameters=resolve(wanted.parameters, reports),
            previous=undone, criteria=tuple(c for c in wanted.success_criteria if isinstance(c, Check)),
            retries=wanted.retries, repeat=step.repeat, timeout=step.timeout,
            token=f"plan-{step.plan_id}-{step.key}-{step.digest[:12]}",
        )  # fmt: skip

    def _end(self, claim: Claim, verb: str, report: AnyReport, *, actor: str, **values: Any) -> bool:
        """End an attempt by its report; a late report is kept as evidence and changes nothing."""
        body = report.model_dump(mode="json")
        with self._write() as c:
            plan, step = self._touch(c, claim.plan_id), self._step(c, claim.step_id)
            if step.attempt != claim.attempt or step.state not in {StepState.running, StepState.unknown}:
                self._keep_late(c, plan, claim, body, actor=actor)
                return False
            ended = None if verb == "retry" else self.clock()
            values |= {"report": body, "ended_at": ended, "owner": "", "lease_until": None, "probing": False}
            self._move_step(c, step, verb, **values)
            self._close_attempt(c, step, verb, body)
            self._free_target(c, step)
            data = {"step": step.key, "attempt": step.attempt, "summary": report.summary}
            self._note(c, plan, verb, actor=actor, data=data)
            self._settle(c, self._plan(c, claim.plan_id))
            return True

    def _keep_late(
        self, c: Connection, plan: Plan, claim: Claim, body: dict[str, Any], *, actor: str
    ) -> None:
        one = (col(Attempt.step_id) == claim.step_id, col(Attempt.number) == claim.attempt)
        c.execute(update(Attempt).where(*one).values(late=body))
        data = {"step": claim.key, "attempt": claim.attempt, "summary": body["summary"]}
        self._note(c, plan, "late", actor=actor, data=data)


def _timely(step: Step, now: datetime, permit: bool) -> bool:
    """Whether its time has come, would last, and (if asked) its permit holds."""
    if step.not_before and step.not_before > now:
        return False
    if step.not_after and now + timedelta(seconds=step.timeout) > step.not_after:
        return False
    needs = permit and step.changes and not step.undo
    return not needs or bool(step.permit_until and step.permit_until > now)


def _as_approved(step: Step, wanted: StepSpec, contract: Contract) -> bool:
    """Whether the row's own facts are those of the approved step; a delay may only have grown."""
    undo, when = isinstance(wanted, UndoSpec), wanted.schedule
    early = not undo and when.not_before and (step.not_before is None or step.not_before < when.not_before)
    row = (step.undo, step.changes, step.repeat, step.timeout, step.target, step.environment, step.not_after)
    where = (contract.locks(wanted.parameters), contract.environment(wanted.parameters))
    promised = (undo, contract.changes, contract.repeat, contract.timeout, *where)
    return not early and row == (*promised, None if undo else when.not_after)
