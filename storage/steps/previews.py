"""Previews, for those who make them: what each step would do, before anybody approves. Never a Step."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue
from sqlalchemy import select, update
from sqlmodel import col

from storage.contract.capability import fingerprint
from storage.contract.spec import read_spec
from storage.contract.states import PlanState
from storage.database.statements import table
from storage.database.tables import Plan, Preview, Revision
from storage.memory import Memory


@dataclass(frozen=True)
class Wanted:
    """A preview that a worker shall make."""

    plan_id: int
    revision: int
    key: str
    worker: str
    action: str
    parameters: Mapping[str, Any]


def basis_hash(basis: JsonValue) -> str:
    """What an approval remembers of a preview; nothing for one that is only for information."""
    return "" if basis is None else fingerprint(basis)


def previews_wanted(memory: Memory, offers: Collection[tuple[str, str]]) -> list[Wanted]:
    """Those of open proposals that one of these offers can make."""
    with memory.read() as t:
        current = (col(Preview.plan_id) == col(Plan.id)) & (col(Preview.revision) == col(Plan.revision))
        query = (
            select(*table(Preview).c, col(Revision.spec))
            .join(Plan, current)
            .join(
                Revision,
                (col(Revision.plan_id) == col(Plan.id)) & (col(Revision.number) == col(Plan.revision)),
            )
            .where(col(Preview.state) == "wanted", col(Plan.state) == PlanState.proposed)
        )
        return [
            Wanted(row.plan_id, row.revision, row.key, row.worker, row.action,
                   read_spec(row.spec).spec.find(row.key).parameters)
            for row in t.execute(query) if (row.worker, row.action) in offers
        ]  # fmt: skip


def show(memory: Memory, wanted: Wanted, text: str, basis: str, *, actor: str, failed: bool = False) -> None:
    """A preview is in: what was said first stands, and the card shows it."""
    one = (
        col(Preview.plan_id) == wanted.plan_id,
        col(Preview.revision) == wanted.revision,
        col(Preview.key) == wanted.key,
        col(Preview.state) == "wanted",
    )
    text = memory.redact.text(text)
    values = {"state": "failed" if failed else "made", "text": text, "basis": basis, "at": memory.clock()}
    with memory.write() as t:
        plan = t.touch(wanted.plan_id)
        if t.execute(update(Preview).where(*one).values(**values)).rowcount:
            data = {"step": wanted.key, "revision": wanted.revision, "basis": basis}
            t.note(plan, "preview", actor=actor, data=data | {"text": text})
