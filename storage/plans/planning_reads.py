"""What a planner asks to look at before it plans, for the bot: rows that workers answer. Never Steps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import func, insert, select, update
from sqlmodel import col

from storage.contract.states import OPEN, PlanState
from storage.database.tables import Plan, PlanningRead
from storage.errors import Conflict
from storage.memory import Memory

PATIENCE = timedelta(seconds=20)  # how long a wish waits for what is looked at
UNANSWERED = "no worker has answered in time"


@dataclass(frozen=True)
class Found:
    """One planning read, and what came of it."""

    number: int
    worker: str
    action: str
    parameters: Mapping[str, Any]
    state: str
    summary: str
    data: Mapping[str, Any] | None
    at: datetime | None


def inquire(
    memory: Memory,
    plan_id: int,
    calls: Sequence[tuple[str, str, Mapping[str, Any]]],
    *,
    actor: str,
    refused: Sequence[tuple[str, str, Mapping[str, Any], str]] = (),
) -> None:
    """Have workers look at something for a wish that has no plan yet; what may not be is kept with why."""
    with memory.write() as t:
        plan = t.touch(plan_id)
        if plan.state != PlanState.planning:
            raise Conflict(t.why_not(plan_id, "looking"))
        taken = select(func.coalesce(func.max(col(PlanningRead.number)), 0))
        last = t.execute(taken.where(col(PlanningRead.plan_id) == plan_id)).scalar_one()
        asked = [*((*call, "") for call in calls), *refused]
        for number, (worker, action, given, why) in enumerate(asked, last + 1):
            row = {"plan_id": plan_id, "number": number, "worker": worker, "action": action}
            facts = {"parameters": t.redact.data(dict(given)), "asked_at": t.clock()}
            state = {"state": "failed", "summary": why, "at": t.clock()} if why else {"state": "wanted"}
            t.execute(insert(PlanningRead).values(**row, **facts, **state))
            told = {"number": number, "call": f"{worker}.{action}", "parameters": facts["parameters"]}
            t.note(plan, "inquire", actor=actor, data=told | ({"refused": why} if why else {}))


def looked(memory: Memory, plan_id: int) -> list[Found]:
    """What was looked at for this plan, in order."""
    with memory.read() as t:
        mine = col(PlanningRead.plan_id) == plan_id
        rows = t.rows(PlanningRead, mine, order=col(PlanningRead.number))
        return [Found(row.number, row.worker, row.action, row.parameters, row.state, row.summary, row.data,
                      row.at) for row in rows]  # fmt: skip


def looked_lately(memory: Memory, since: datetime, limit: int = 200) -> list[tuple[int, Found]]:
    """The newest answers, with the plan that each was for: newest first."""
    with memory.read() as t:
        made = (col(PlanningRead.state) == "made", col(PlanningRead.at) > since)
        rows = t.rows(PlanningRead, *made, order=col(PlanningRead.at).desc(), limit=limit)
        return [(row.plan_id, Found(row.number, row.worker, row.action, row.parameters, row.state,
                                    row.summary, row.data, row.at)) for row in rows]  # fmt: skip


def inquired(memory: Memory, user: str, since: datetime) -> int:
    """How many planning reads were asked for in somebody's name."""
    query = select(func.count()).select_from(PlanningRead).join(Plan, col(Plan.id) == PlanningRead.plan_id)
    with memory.read() as t:
        mine = (col(Plan.requester) == user, col(PlanningRead.asked_at) > since)
        return int(t.execute(query.where(*mine)).scalar_one())


def give_up_looking(memory: Memory) -> None:
    """What no worker has answered in time is answered so."""
    late = (col(PlanningRead.state) == "wanted", col(PlanningRead.asked_at) <= memory.clock() - PATIENCE)
    with memory.read() as t:
        waiting = t.rows(PlanningRead, *late, limit=1)
    if waiting:
        with memory.write() as t:
            gone = {"state": "failed", "summary": UNANSWERED, "at": t.clock()}
            t.execute(update(PlanningRead).where(*late).values(**gone))


def grounded(memory: Memory, plan_id: int, *, told: Mapping[str, Any]) -> None:
    """Put on record what a model is handed besides the request."""
    with memory.write() as t:
        plan = t.touch(plan_id)
        if plan.state not in OPEN:
            raise Conflict(t.why_not(plan_id, "planning"))
        t.journal(plan, "ground", actor="planner", data={name: part for name, part in told.items() if part})
