"""`signoff audit report`: what was changed in a period, by target, and how it was decided. Reads only."""

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from statistics import median
from typing import Any

from sqlalchemy import Engine, select
from sqlmodel import col

from storage.audit.export import snapshot
from storage.database.tables import Event

TOLD = ("claim", "succeed", "fail", "approve")
COLUMNS = ("target", "plans", "started", "done", "failed", "approvals", "read", "median", "by")


@dataclass
class Line:
    """One target. `seconds` are what each approval took; `read` of them opened all there was to read."""

    target: str
    plans: set[int] = field(default_factory=set)
    started: int = 0
    done: int = 0
    failed: int = 0
    approvals: int = 0
    read: int = 0
    seconds: list[float] = field(default_factory=list)
    by: set[str] = field(default_factory=set)

    def as_json(self) -> dict[str, Any]:
        found = asdict(self)
        seconds = found.pop("seconds")
        return found | {
            "plans": sorted(self.plans),
            "by": sorted(self.by),
            "median": median(seconds) if seconds else None,
        }


def report(engine: Engine, since: datetime, until: datetime, target: str = "") -> list[Line]:
    """From the journal alone, which outlives the rows of plans."""
    found: dict[str, Line] = {}
    targets, of_plan = dict[tuple[int, str], str](), defaultdict[int, set[str]](set)
    events = [*_events(engine)]
    for plan, verb, data in ((e.plan_id, e.verb, e.data) for e in events):
        if verb == "claim" and data.get("target"):
            targets[plan, data["step"]] = data["target"]
            of_plan[plan].add(data["target"])
    for event in events:
        if since <= event.at.replace(tzinfo=UTC) < until:
            for name in _named(event, targets, of_plan):
                _count(found.setdefault(name, Line(name)), event)
    return sorted((one for one in found.values() if target in ("", one.target)), key=lambda one: one.target)


def _named(event: Any, targets: dict[tuple[int, str], str], of_plan: dict[int, set[str]]) -> set[str]:
    """Which targets an event speaks of: a step's own, or all that its plan touched."""
    if event.verb == "approve":
        return of_plan[event.plan_id]
    found = targets.get((event.plan_id, event.data.get("step", "")))
    return {found} if found else set()


def _count(line: Line, event: Any) -> None:
    line.plans.add(event.plan_id)
    if event.verb == "approve":
        line.approvals += 1
        line.by.add(event.actor)
        line.read += bool(event.data.get("opened"))
        line.seconds += [float(event.data["seconds"])] if "seconds" in event.data else []
    line.started += event.verb == "claim"
    line.done += event.verb == "succeed"
    line.failed += event.verb == "fail"


def _events(engine: Engine) -> Iterator[Any]:
    query = select(col(Event.plan_id), col(Event.at), col(Event.verb), col(Event.actor), col(Event.data))
    with snapshot(engine) as c:
        yield from c.execute(
            query.where(col(Event.verb).in_(TOLD), col(Event.plan_id) > 0).order_by(col(Event.id))
        )


def table(lines: list[Line], since: datetime, until: datetime) -> str:
    head = f"Changes from {since:%Y-%m-%d} up to {until:%Y-%m-%d} (UTC), by target:"
    if not lines:
        return f"{head} none."
    rows = [COLUMNS, *(_row(line) for line in lines)]
    wide = [max(len(row[n]) for row in rows) for n in range(len(COLUMNS))]
    shown = ["  ".join(cell.ljust(wide[n]) for n, cell in enumerate(row)).rstrip() for row in rows]
    note = "read: approvals whose giver had opened Details; median: seconds from the card to the approval."
    return "\n".join([head, "", *shown, "", note])


def _row(line: Line) -> tuple[str, ...]:
    facts = line.as_json()
    took = f"{facts['median']:.0f} s" if facts["median"] is not None else "–"
    numbers = (len(line.plans), line.started, line.done, line.failed, line.approvals)
    return (
        line.target,
        *map(str, numbers),
        f"{line.read} of {line.approvals}",
        took,
        ", ".join(sorted(line.by)) or "–",
    )


def as_json(lines: list[Line]) -> str:
    return json.dumps([line.as_json() for line in lines], indent=2)
