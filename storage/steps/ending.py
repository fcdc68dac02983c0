"""Ending attempts by their reports: what they were, what follows for their plans, in the caller's commit."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, update
from sqlmodel import col

from storage.contract.report import AnyReport
from storage.database.tables import Attempt
from storage.journal.events import Note
from storage.settling.frames import Frame
from storage.settling.settle import settle_frames
from storage.steps.claims import CLOSED, Ending, as_wanted, end_values, ended, still_held
from storage.transaction import Transaction, Write


class Touched(Exception):
    """Somebody has touched a plan since this process left it: what it knows of it is no longer true."""


def finish(t: Transaction, endings: Sequence[Ending], frames: dict[int, Frame], *, actor: str) -> list[Note]:
    """End attempts by their reports; a late report is kept as evidence and changes nothing."""
    endings = [_redacted(t, ending) for ending in endings]
    live = [as_wanted(frames, ending) for ending in endings if still_held(frames, ending.claim)]
    late = [ending for ending in endings if not still_held(frames, ending.claim)]
    notes = [_keep_late(t, ending, actor=actor) for ending in late]
    close = _close(t, live, frames)
    notes += _bill(t, endings)
    notes += [ended(ending, actor) for ending in live]
    settle_frames(t, frames, notes, close)
    return notes


def _redacted(t: Transaction, ending: Ending) -> Ending:
    clean = t.redact.data(ending.body)
    return ending if clean == ending.body else replace(ending, report=AnyReport.model_validate(clean))


def _close(t: Transaction, live: list[Ending], frames: Mapping[int, Frame]) -> Write:
    """Their frames as closed; and how to write that, together with what is due after it.

    It raises if a plan is not as its frame says.
    """
    now, steps = t.clock(), [frames[e.claim.plan_id].steps[e.claim.key] for e in live]
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


def _keep_late(t: Transaction, ending: Ending, *, actor: str) -> Note:
    claim, body = ending.claim, ending.body
    one = (col(Attempt.step_id) == claim.step_id, col(Attempt.number) == claim.attempt)
    t.execute(update(Attempt).where(*one).values(late=body))
    data = {"step": claim.key, "attempt": claim.attempt, "summary": body["summary"]}
    return Note(claim.plan_id, "late", actor, data)


def _bill(t: Transaction, endings: Sequence[Ending]) -> list[Note]:
    """What workers say that their models cost counts for the budgets of their plans."""
    costly = [(e.claim.plan_id, data) for e in endings if _usd(data := e.report.data or {}) > 0]
    return [t.book(id_, str(data.get("model", ""))[:100], _usd(data), {}) for id_, data in costly]


def _usd(data: Mapping[str, Any]) -> float:
    found = data.get("usd")
    return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else 0.0
