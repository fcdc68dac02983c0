"""One turn of the workers over the rows: what ended, what follows from it, what is due; in one commit."""

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from operator import itemgetter
from typing import Any

from sqlalchemy import ColumnElement, select, update
from sqlmodel import col

from storage.contract.report import AnyReport
from storage.contract.states import BUSY, StepState
from storage.database.tables import Approval, Plan, Step
from storage.memory import Memory
from storage.settling.frames import CURRENT, Kept, read_frames, record
from storage.steps.claims import Claim, Ending, Taker, still_held
from storage.steps.due import DUE, PEEK, THIS
from storage.steps.ending import Touched, finish
from storage.steps.taking import take


class Turns:
    """Turns of one process: it remembers how it left its plans, and so need not read them again."""

    def __init__(self, memory: Memory) -> None:
        self._memory, self._kept = memory, Kept()

    def turn(self, endings: Sequence[Ending], taker: Taker, free: int) -> list[Claim]:
        """One commit: what ended goes on record, its plans settle, and due steps are claimed."""
        if not endings and not (free and due(self._memory, taker, 1)):
            return []  # a commit would wake every listener, ours too
        try:
            return self._turn(endings, taker, free, trusting=True)
        except Touched:
            return self._turn(endings, taker, free, trusting=False)

    def _turn(self, endings: Sequence[Ending], taker: Taker, free: int, *, trusting: bool) -> list[Claim]:
        """`trusting`: plans are taken as this process left them, and locked by the first write."""
        ids = {ending.claim.plan_id for ending in endings}
        with self._memory.write() as t:
            known = self._kept.all_of(ids) if trusting else None
            frames = known or read_frames(t, ids, self._kept)
            notes = finish(t, endings, frames, actor=taker.owner)
            found = DUE.all(t.connection, **_query(self._memory, taker, free))
            claims = take(t, found, taker, frames, notes)
        self._kept.keep(frames)
        return claims


def due(memory: Memory, taker: Taker, limit: int) -> list[int]:
    """Steps that could start now, oldest first. The claim decides."""
    with memory.read() as t:
        return [*map(itemgetter(0), PEEK.all(t.connection, **_query(memory, taker, limit)))]


def claim(memory: Memory, step_id: int, taker: Taker) -> Claim | None:
    """Take one step: every check once more, then START, in one commit. None when it must wait."""
    with memory.write() as t:
        found = THIS.all(t.connection, step=step_id, **_query(memory, taker, 1))
        return next(iter(take(t, found, taker, {}, [])), None)


def succeed(memory: Memory, claim: Claim, report: AnyReport, *, actor: str) -> bool:
    return _end(memory, Ending(claim, "succeed", report), actor)


def fail(memory: Memory, claim: Claim, report: AnyReport, *, actor: str) -> bool:
    return _end(memory, Ending(claim, "fail", report), actor)


def retry(memory: Memory, claim: Claim, report: AnyReport, *, actor: str, wait: float) -> bool:
    """Try again later; the time lies in a column, not in a timer."""
    return _end(memory, Ending(claim, "retry", report, wait), actor)


def _end(memory: Memory, ending: Ending, actor: str) -> bool:
    with memory.write() as t:
        frames = read_frames(t, [ending.claim.plan_id])
        live = still_held(frames, ending.claim)
        record(t, finish(t, [ending], frames, actor=actor), frames)
        return live


def _query(memory: Memory, taker: Taker, limit: int) -> dict[str, Any]:
    return {"now": memory.clock(), "offers": taker.offers, "limit": limit}


def start(memory: Memory, claim: Claim, previous: Mapping[str, Any]) -> None:
    """Record what an undo must return to, before the effect: what was shown had not moved until now."""
    with memory.write() as t:
        t.execute(update(Step).where(*_fence(claim)).values(previous=dict(previous), basis=""))


def holds(memory: Memory, claim: Claim) -> bool:
    """Whether this attempt still runs its step: asked once more, right before an effect."""
    running = (*_fence(claim), col(Step.state) == StepState.running)
    with memory.read() as t:
        return bool(t.execute(select(col(Step.id)).where(*running)).first())


def renew(memory: Memory, owner: str, lease: timedelta, steps: Collection[int]) -> set[tuple[int, int]]:
    """Hold on to these, which this owner runs: the steps and attempts that are still its own, and wanted.

    A step whose claim was committed while its answer got lost is run by nobody: that one lapses.
    """
    mine = (col(Step.owner) == owner, col(Step.state).in_(BUSY), col(Step.id).in_(steps))
    held = select(col(Step.id), col(Step.attempt))
    wanted = held.join(Plan, CURRENT).where(*mine, col(Plan.cancelled_by) == "")
    with memory.write() as t:
        t.execute(update(Step).where(*mine).values(lease_until=memory.clock() + lease))
        return {*map(tuple, t.execute(wanted))}


def advance(memory: Memory, claim: Claim, progress: str) -> None:
    """How far a running attempt is. Shown on the card; no journal event, for nothing has moved."""
    with memory.write() as t:
        plan = t.touch(claim.plan_id)
        t.execute(update(Step).where(*_fence(claim)).values(progress=memory.redact.text(progress)[:200]))
        t.want_cards({claim.plan_id: plan.version}, ())


def approvers(memory: Memory, plan_id: int) -> tuple[str, ...]:
    """Who said yes to the plan as it stands, in their order: for what a step writes down elsewhere."""
    with memory.read() as t:
        said = t.rows(Approval, col(Approval.plan_id) == plan_id, order=col(Approval.id))
        (plan,) = t.rows(Plan, col(Plan.id) == plan_id)
        return tuple(dict.fromkeys(one.user for one in said if one.revision == plan.revision))


def _fence(claim: Claim) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return col(Step.id) == claim.step_id, col(Step.attempt) == claim.attempt
