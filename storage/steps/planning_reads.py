"""Planning reads, for those who make them: what a planner asked to look at, and what was found."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select, update
from sqlmodel import col

from storage.contract.states import PlanState
from storage.database.statements import table
from storage.database.tables import Plan, PlanningRead, Stop
from storage.memory import Memory
from storage.settling.starting import EVERYTHING

LONGEST = 2000  # characters of a summary


@dataclass(frozen=True)
class Inquiry:
    """One read that a worker shall make."""

    plan_id: int
    number: int
    worker: str
    action: str
    parameters: Mapping[str, Any]


def inquiries(memory: Memory, offers: Collection[tuple[str, str]]) -> list[Inquiry]:
    """Those that one of these offers can answer, for open wishes; none while everything is stopped."""
    query = (
        select(*table(PlanningRead).c)
        .join(Plan, col(PlanningRead.plan_id) == col(Plan.id))
        .where(col(PlanningRead.state) == "wanted", col(Plan.state) == PlanState.planning)
    )
    with memory.read() as t:
        if t.rows(Stop, col(Stop.scope) == EVERYTHING):
            return []
        rows = [*t.execute(query)]
    return [
        Inquiry(row.plan_id, row.number, row.worker, row.action, row.parameters)
        for row in rows
        if (row.worker, row.action) in offers
    ]


def report_back(
    memory: Memory, asked: Inquiry, summary: str, data: Mapping[str, Any] | None, *, actor: str,
    failed: bool = False,
) -> None:  # fmt: skip
    """What was found. What was said first stands."""
    one = (
        col(PlanningRead.plan_id) == asked.plan_id,
        col(PlanningRead.number) == asked.number,
        col(PlanningRead.state) == "wanted",
    )
    said = memory.redact.text(summary[:LONGEST])
    values: dict[str, Any] = {"state": "failed" if failed else "made", "summary": said, "at": memory.clock()}
    values |= {"data": memory.redact.data(dict(data)) if data is not None else None}
    with memory.write() as t:
        plan = t.touch(asked.plan_id)
        if t.execute(update(PlanningRead).where(*one).values(**values)).rowcount:
            told = {"number": asked.number, "call": f"{asked.worker}.{asked.action}", "failed": failed}
            t.note(plan, "found", actor=actor, data=told | {"summary": said})
