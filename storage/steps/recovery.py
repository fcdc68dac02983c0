"""What becomes of an interrupted attempt. No timer re-runs an unsafe step: a probe or a person decides."""

from datetime import timedelta

from sqlalchemy import Connection, or_, update
from sqlmodel import col

from storage.contract.report import AnyReport
from storage.contract.states import StepState
from storage.database.tables import Plan, Step
from storage.errors import Conflict
from storage.steps.claims import OPEN_ATTEMPT, Claim, opened
from storage.steps.turn import StepVerbs
from storage.transaction import rows

ENOUGH = 5  # attempts of a repeat-safe step that ended with their process


class RecoveryVerbs(StepVerbs):
    """lose, look, resolve."""

    def lapsed(self, *, owner: str, alone: bool) -> list[Step]:
        """Running steps whose owner is gone: by lease, or at once when we are the only process."""
        gone = col(Step.lease_until) < self.clock()
        if alone:
            gone = or_(gone, col(Step.owner) != owner)
        with self._read() as c:
            return rows(c, Step, col(Step.state) == StepState.running, gone, order=col(Step.id))

    def lose(self, step: Step, *, actor: str, probe: bool) -> None:
        """An attempt's owner is gone: a repeat-safe step waits again, an unsafe one is unknown."""
        with self._write() as c:
            plan = self._touch(c, step.plan_id)
            self._close_attempt(c, step, "lost", None)
            data = {"step": step.key, "attempt": step.attempt}
            if step.repeat == "safe" and step.attempt >= ENOUGH:
                self._give_up(c, plan, step)
                return
            if step.repeat == "safe":
                self._move_step(c, step, "retry", owner="", lease_until=None)
                self._free_target(c, step)
                self._note(c, plan, "retry", actor=actor, data=data | {"reason": "its process ended"})
            else:
                # With a probe, people are asked only if the probe cannot tell.
                self._move_step(c, step, "lose", probing=probe, owner="", lease_until=None)
                self._note(c, plan, "lose", actor=actor, data=data, quiet=probe)
            self._settle(c, step.plan_id)

    def _give_up(self, c: Connection, plan: Plan, step: Step) -> None:
        """A step that takes its process down each time must not do so for ever."""
        report = AnyReport.failed(f"its process ended in the middle of it {step.attempt} times")
        values = {"report": report.model_dump(mode="json"), "ended_at": self.clock(), "owner": ""}
        self._move_step(c, step, "fail", lease_until=None, **values)
        self._free_target(c, step)
        data = {"step": step.key, "attempt": step.attempt, "summary": report.summary}
        self._note(c, plan, "fail", actor="rules", data=data)
        self._settle(c, step.plan_id)

    def doubt(self, claim: Claim, *, actor: str, reason: str) -> None:
        """The worker broke inside an unsafe step: it may or may not have happened."""
        with self._write() as c:
            plan, step = self._touch(c, claim.plan_id), self._step(c, claim.step_id)
            if (step.attempt, step.state) != (claim.attempt, StepState.running):
                return
            self._close_attempt(c, step, "lost", None)
            self._move_step(c, step, "lose", probing=False, owner="", lease_until=None)
            data = {"step": step.key, "attempt": step.attempt, "reason": reason}
            self._note(c, plan, "lose", actor=actor, data=data)
            self._settle(c, claim.plan_id)

    def to_look_at(self, *, owner: str, alone: bool) -> list[int]:
        """Unknown steps that a probe shall look at, and nobody does."""
        free = or_(col(Step.lease_until).is_(None), col(Step.lease_until) < self.clock())
        if alone:
            free = or_(free, col(Step.owner) != owner)
        with self._read() as c:
            unknown = rows(c, Step, col(Step.state) == StepState.unknown, col(Step.probing).is_(True), free)
        return [step.id or 0 for step in unknown]

    def look(self, step_id: int, *, owner: str, lease: timedelta) -> Claim | None:
        """Take an unknown step to probe it; the old attempt is fenced out."""
        with self._write() as c:
            step = self._step(c, step_id)
            plan = self._touch(c, step.plan_id)
            guard = (
                col(Step.id) == step_id, col(Step.state) == StepState.unknown, col(Step.probing).is_(True),
                col(Step.attempt) == step.attempt,
            )  # fmt: skip
            values = {"attempt": step.attempt + 1, "owner": owner, "lease_until": self.clock() + lease}
            if not c.execute(update(Step).where(*guard).values(**values)).rowcount:
                return None
            OPEN_ATTEMPT.many(c, opened([step], owner, self.clock()))
            self._note(c, plan, "look", actor=owner, data={"step": step.key, "attempt": step.attempt + 1})
            frames = self._frames(c, [step.plan_id])
            return next(iter(self._claims(c, [step] if frames else [], frames)), None)

    def cannot_tell(self, claim: Claim, *, actor: str, reason: str) -> None:
        """The probe has no answer: ask a person."""
        with self._write() as c:
            plan, step = self._touch(c, claim.plan_id), self._step(c, claim.step_id)
            fence = (col(Step.id) == claim.step_id, col(Step.attempt) == claim.attempt)
            if not c.execute(update(Step).where(*fence).values(probing=False, lease_until=None)).rowcount:
                return
            self._close_attempt(c, step, "unknown", None)
            data = {"step": step.key, "attempt": step.attempt, "reason": reason}
            self._note(c, plan, "lose", actor=actor, data=data)

    def resolve(self, plan_id: int, key: str, answer: str, *, user: str) -> None:
        """A person says what became of an unknown step: ran, did_not, or look (again)."""
        with self._write() as c:
            plan = self._touch(c, plan_id)
            step = next((s for s in self._steps(c, plan) if s.key == key), None)
            if step is None or step.state != StepState.unknown:
                raise Conflict(f"Step {key} is not unknown (any more); there is nothing to resolve.")
            data = {"step": key, "answer": answer}
            if answer == "look":
                c.execute(update(Step).where(col(Step.id) == step.id).values(probing=True, lease_until=None))
                self._note(c, plan, "resolve", actor=user, data=data)
            else:
                self._resolve(c, plan, step, answer, user=user)
            self._redraw(c, plan_id, [key])
            self._settle(c, plan_id)

    def _resolve(self, c: Connection, plan: Plan, step: Step, answer: str, *, user: str) -> None:
        moves = {"ran": "succeed", "did_not": "retry"}
        if answer not in moves:
            raise Conflict(f"'{answer}' is not an answer to an unknown step.")
        report = AnyReport.ok(f"<@{user}> says that it ran", {}) if answer == "ran" else None
        body = report.model_dump(mode="json") if report else None
        values = {"report": body, "owner": "", "lease_until": None, "probing": False}
        self._move_step(c, step, moves[answer], **values, ended_at=self.clock() if report else None)
        self._free_target(c, step)
        self._note(c, plan, "resolve", actor=user, data={"step": step.key, "answer": answer})
