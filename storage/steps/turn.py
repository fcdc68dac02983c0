"""The verbs of a step. The attempt number fences every write; START is committed before the effect."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from types import MappingProxyType
from typing import Any

from sqlalchemy import ColumnElement, Connection, func, select, update
from sqlmodel import col

from storage.contract.capability import Check
from storage.contract.report import AnyReport
from storage.contract.spec import StepSpec, UndoSpec, resolve
from storage.contract.states import BUSY, StepState
from storage.database.tables import Attempt, Plan, Step
from storage.journal.events import Note
from storage.plans.lifecycle import PlanVerbs
from storage.settling.settle import CURRENT, PERMIT, Frame
from storage.steps.claims import (
    CLOSE_ATTEMPT,
    CLOSED,
    FREE_TARGET,
    LOCK_TARGET,
    STARTED,
    Claim,
    Ending,
    Taker,
    Touched,
    as_wanted,
    end_values,
    ended,
    may_start,
    mismatch,
    opened,
    refers,
    started,
    still_held,
)
from storage.steps.due import DUE, PEEK, THIS, UNPERMITTED
from storage.transaction import Write, rows

logger = logging.getLogger(__name__)


class StepVerbs(PlanVerbs):
    """turn, claim, start, renew, succeed, retry, fail, permit, withhold."""

    def turn(self, endings: Sequence[Ending], taker: Taker, free: int) -> list[Claim]:
        """One commit: what ended goes on record, its plans settle, and due steps are claimed."""
        if not endings and not (free and self.due(taker, 1)):
            return []  # a commit would ring every bell, ours too
        try:
            return self._turn(endings, taker, free, trusting=True)
        except Touched:
            return self._turn(endings, taker, free, trusting=False)

    def _turn(self, endings: Sequence[Ending], taker: Taker, free: int, *, trusting: bool) -> list[Claim]:
        """The same. `trusting`: plans are taken as this process left them, and locked by the first write."""
        ids = {ending.claim.plan_id for ending in endings}
        with self._write() as c:
            frames = (self._known(ids) if trusting else None) or self._frames(c, ids)
            notes = self._finish(c, endings, frames, actor=taker.owner)
            claims = self._take(c, DUE.all(c, **self._query(taker, free)), taker, frames, notes)
        self._hold(frames)
        return claims

    def due(self, taker: Taker, limit: int) -> list[int]:
        """Steps that could start now, oldest first. The claim decides."""
        with self._read() as c:
            return [row.id for row in PEEK.all(c, **self._query(taker, limit))]

    def next_due(self) -> datetime | None:
        """When the next waiting step's time comes: what the alarm clock is set to."""
        with self._read() as c:
            later = col(Step.due_at) > self.clock()
            return c.execute(select(func.min(col(Step.due_at))).where(later)).scalar_one()

    def claim(self, step_id: int, taker: Taker) -> Claim | None:
        """Take one step: every check once more, then START, in one commit. None when it must wait."""
        with self._write() as c:
            found = THIS.all(c, step=step_id, **self._query(taker, 1))
            return next(iter(self._take(c, found, taker, {}, [])), None)

    def start(self, claim: Claim, previous: Mapping[str, Any]) -> None:
        """Record what an undo must return to, before the effect: what was shown had not moved until now."""
        with self._write() as c:
            c.execute(update(Step).where(*_fence(claim)).values(previous=dict(previous), basis=""))

    def holds(self, claim: Claim) -> bool:
        """Whether this attempt still runs its step: asked once more, right before an effect."""
        running = (*_fence(claim), col(Step.state) == StepState.running)
        with self._read() as c:
            return bool(c.execute(select(col(Step.id)).where(*running)).first())

    def renew(self, owner: str, lease: timedelta) -> set[tuple[int, int]]:
        """Hold on to what this owner runs: the steps and attempts that are still its own, and wanted."""
        mine = (col(Step.owner) == owner, col(Step.state).in_(BUSY))
        held = select(col(Step.id), col(Step.attempt))
        wanted = held.join(Plan, CURRENT).where(*mine, col(Plan.cancelled_by) == "")
        with self._write() as c:
            c.execute(update(Step).where(*mine).values(lease_until=self.clock() + lease))
            return {(row.id, row.attempt) for row in c.execute(wanted)}

    def advance(self, claim: Claim, progress: str) -> None:
        """How far a running attempt is. Shown on the card; no journal event, for nothing has moved."""
        with self._write() as c:
            plan = self._touch(c, claim.plan_id)
            c.execute(update(Step).where(*_fence(claim)).values(progress=self.redact.text(progress)[:200]))
            self._want_cards(c, {claim.plan_id: plan.version}, ())

    def succeed(self, claim: Claim, report: AnyReport, *, actor: str) -> bool:
        return self._end(Ending(claim, "succeed", report), actor)

    def fail(self, claim: Claim, report: AnyReport, *, actor: str) -> bool:
        return self._end(Ending(claim, "fail", report), actor)

    def retry(self, claim: Claim, report: AnyReport, *, actor: str, wait: float) -> bool:
        """Try again later; the time lies in a column, not in a timer."""
        return self._end(Ending(claim, "retry", report, wait), actor)

    def permit(self, step_id: int, *, actor: str, checked: Mapping[str, Any] = MappingProxyType({})) -> None:
        """The bot's fresh leave to run one changing step; what was looked at goes on record."""
        with self._write() as c:
            step = self._step(c, step_id)
            plan, until = self._touch(c, step.plan_id), self.clock() + PERMIT
            values = {"permit_until": until, "withheld": ""}
            c.execute(update(Step).where(col(Step.id) == step_id).values(**values))
            self._journal(c, plan, "permit", actor=actor, data={"step": step.key, **checked})

    def withhold(self, step_id: int, reason: str, *, actor: str) -> None:
        """No permit now: the step waits, and card and thread say why. The same reason is said once."""
        with self._read() as c:
            if self._step(c, step_id).withheld == reason:
                return  # a commit would ring every bell, and ours would ask Slack again
        with self._write() as c:
            step = self._step(c, step_id)
            plan = self._touch(c, step.plan_id)
            c.execute(update(Step).where(col(Step.id) == step_id).values(withheld=self.redact.text(reason)))
            self._note(c, plan, "withhold", actor=actor, data={"step": step.key, "reason": reason})

    def unpermitted(self) -> list[Step]:
        """Changing steps that could start but for a permit."""
        with self._read() as c:
            return UNPERMITTED.all(c, now=self.clock())

    def _end(self, ending: Ending, actor: str) -> bool:
        with self._write() as c:
            frames = self._frames(c, [ending.claim.plan_id])
            live = still_held(frames, ending.claim)
            self._record(c, self._finish(c, [ending], frames, actor=actor), frames)
            return live

    def _query(self, taker: Taker, limit: int) -> dict[str, Any]:
        return {"now": self.clock(), "offers": taker.offers, "limit": limit}

    def _finish(
        self, c: Connection, endings: Sequence[Ending], frames: dict[int, Frame], *, actor: str
    ) -> list[Note]:
        """End attempts by their reports; a late report is kept as evidence and changes nothing."""
        endings = [self._redacted(ending) for ending in endings]
        live = [as_wanted(frames, ending) for ending in endings if still_held(frames, ending.claim)]
        late = [ending for ending in endings if not still_held(frames, ending.claim)]
        notes = [self._keep_late(c, ending, actor=actor) for ending in late]
        close = self._close(live, frames)
        notes += self._bill(c, ((e.claim.plan_id, e.report.data) for e in endings if e.report.data))
        notes += [ended(ending, actor) for ending in live]
        self._settle_frames(c, frames, notes, close)
        return notes

    def _redacted(self, ending: Ending) -> Ending:
        clean = self.redact.data(ending.body)
        return ending if clean == ending.body else replace(ending, report=AnyReport.model_validate(clean))

    def _close(self, live: list[Ending], frames: Mapping[int, Frame]) -> Write:
        """Their frames as closed; and how to write that, together with what is due after it.

        It raises if a plan is not as its frame says.
        """
        now, steps = self.clock(), [frames[e.claim.plan_id].steps[e.claim.key] for e in live]
        ends = [end_values(e, step.not_before, now) for e, step in zip(live, steps, strict=True)]
        for ending, end in zip(live, ends, strict=True):
            frame, moved = frames[ending.claim.plan_id], {"state": end["after"], "not_before": end["later"]}
            frame.put(ending.claim.key, ending.report.data, **moved, choice=ending.choice, due_at=None)
        closed = {end["step"]: end for end in ends}
        versions = {plan_id: frame.plan.version for plan_id, frame in frames.items()}

        def write(c: Connection, due: Sequence[Mapping[str, Any]] = ()) -> None:
            for change in due:
                closed.get(change["step"], {})["due"] = change["due"]
            rest = [change for change in due if change["step"] not in closed]
            targets = [{"step": step.id} for step in steps if step.target]
            asked = {"ids": sorted(versions)}
            plans = CLOSED.run(c, asked, ends=ends, attempts=ends, targets=targets, due=rest)
            if any(plan.version != versions[plan.id] for plan in plans):
                raise Touched

        return write

    def _take(
        self,
        c: Connection,
        waiting: Sequence[Any],
        taker: Taker,
        frames: dict[int, Frame],
        notes: list[Note],
    ) -> list[Claim]:
        """Claim due steps: what was approved must be what is stored, and others must let it start."""
        ids = {row.plan_id for row in waiting}
        frames |= self._frames(c, ids - set(frames))
        documents = {row.plan_id: row for row in waiting if row.spec is not None}
        taken, refused = [], []
        for row in (row for row in waiting if may_start(frames, row)):
            if refusal := mismatch(documents[row.plan_id], row, taker):
                refused.append((row, refusal))
            elif self._lock_target(c, row):
                taken.append(row)
        claims = self._claims(c, taken, frames)
        notes += [Note(row.plan_id, "claim", taker.owner, started(row)) for row in taken]
        self._record(c, notes, frames, self._begin(taken, taker, frames))
        for row, refusal in refused:
            logger.error("ALARM plan=%s step=%s is refused at dispatch: %s", row.plan_id, row.key, refusal)
            self._fail_unstarted(c, row.plan_id, row, refusal)
            frames.pop(row.plan_id, None)
        return claims

    def _begin(self, taken: list[Any], taker: Taker, frames: Mapping[int, Frame]) -> Write:
        """Their frames as begun; and how to write that, together with the notes of it."""
        now = self.clock()
        common = {"by": taker.owner, "until": now + taker.lease, "now": now}
        begun = [{"step": row.id, "fence": row.attempt, **common} for row in taken]
        for row in taken:
            now_ = {"state": StepState.running, "attempt": row.attempt + 1, "owner": taker.owner}
            frames[row.plan_id].put(row.key, **now_, due_at=None)
        return partial(STARTED.run, begun=begun, attempts=opened(taken, taker.owner, now))

    def _fail_unstarted(self, c: Connection, plan_id: int, step: Any, reason: str) -> None:
        report = AnyReport.failed(f"not started: {reason}")
        values = {"choice": "ask", "report": report.model_dump(mode="json"), "ended_at": self.clock()}
        self._move_step(c, step, "fail", due_at=None, **values)
        data = {"step": step.key, "reason": reason}
        self._notes(c, [Note(plan_id, "fail", "rules", data)])
        self._settle(c, plan_id)

    def _lock_target(self, c: Connection, step: Any) -> bool:
        row = {"name": step.target, "step_id": step.id, "plan_id": step.plan_id, "since": self.clock()}
        return not step.target or bool(LOCK_TARGET.all(c, **row))

    def _free_target(self, c: Connection, step: Step) -> None:
        FREE_TARGET.run(c, step=step.id)

    def _close_attempt(self, c: Connection, step: Step, outcome: str, report: dict[str, Any] | None) -> None:
        how = {"how": outcome, "body": report, "at": self.clock()}
        CLOSE_ATTEMPT.run(c, step=step.id, fence=step.attempt, **how)

    def _claims(self, c: Connection, taken: Sequence[Any], frames: Mapping[int, Frame]) -> list[Claim]:
        """What the taker needs to run these; references are resolved by what was reported."""
        wanted = [frames[row.plan_id].spec.find(row.key) for row in taken]
        referring = {r.plan_id for r, spec in zip(taken, wanted, strict=True) if refers(spec)}
        data = self._data(c, referring)
        return [
            Claim(
                step_id=row.id,
                plan_id=row.plan_id,
                key=row.key,
                attempt=row.attempt + 1,
                worker=row.worker,
                action=row.action,
                parameters=resolve(spec.parameters, data.get(row.plan_id, {})),
                previous=self._previous(c, row, spec),
                criteria=tuple(check for check in spec.success_criteria if isinstance(check, Check)),
                retries=spec.retries,
                repeat=row.repeat,
                timeout=row.timeout,
                token=f"plan-{row.plan_id}-{row.key}-{row.digest[:12]}",
                basis=row.basis,
            )
            for row, spec in zip(taken, wanted, strict=True)
        ]

    def _previous(self, c: Connection, row: Any, spec: StepSpec) -> Mapping[str, Any]:
        """What was recorded at START: of this step, or of the one that it undoes."""
        if not isinstance(spec, UndoSpec):
            return dict(row.previous)
        same = (col(Step.plan_id) == row.plan_id, col(Step.revision) == row.revision)
        (undone,) = rows(c, Step, *same, col(Step.key) == spec.undoes)
        return undone.previous

    def _keep_late(self, c: Connection, ending: Ending, *, actor: str) -> Note:
        claim, body = ending.claim, ending.body
        one = (col(Attempt.step_id) == claim.step_id, col(Attempt.number) == claim.attempt)
        c.execute(update(Attempt).where(*one).values(late=body))
        data = {"step": claim.key, "attempt": claim.attempt, "summary": body["summary"]}
        return Note(claim.plan_id, "late", actor, data)


def _fence(claim: Claim) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return col(Step.id) == claim.step_id, col(Step.attempt) == claim.attempt
