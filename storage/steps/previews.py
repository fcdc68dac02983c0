"""Previews, for those who make them: what each step would do, before anybody approves. Never a Step."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue
from sqlalchemy import select, update
from sqlmodel import col

from storage.contract.capability import fingerprint
from storage.contract.spec import read_spec, reference, resolve
from storage.contract.states import PlanState
from storage.database.statements import table
from storage.database.tables import Plan, Preview, Revision
from storage.journal.words import PREVIEWED
from storage.memory import Memory
from storage.settling.frames import so_far
from storage.transaction import Transaction


@dataclass(frozen=True)
class Wanted:
    """A preview that a worker shall make."""

    plan_id: int
    revision: int
    key: str
    worker: str
    action: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True)
class Brief:
    """What the card says of a preview: short verdicts, a bad one marked by “!”, and what is there now."""

    found: tuple[str, ...] = ()
    was: str = ""


NOTHING = Brief()


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
        return [_wanted(t, row) for row in t.execute(query) if (row.worker, row.action) in offers]


def _wanted(t: Transaction, row: Any) -> Wanted:
    """With what earlier steps of the plan have reported in place of each reference to it."""
    given = read_spec(row.spec).spec.find(row.key).parameters
    referring = any(map(reference, given.values()))
    known = resolve(given, so_far(t, row.plan_id)) if referring else given
    return Wanted(row.plan_id, row.revision, row.key, row.worker, row.action, known)


def show(
    memory: Memory, wanted: Wanted, text: str, basis: str, *, actor: str, failed: bool = False,
    brief: Brief = NOTHING,
) -> None:  # fmt: skip
    """A preview is in: what was said first stands, and the card shows it."""
    one = (
        col(Preview.plan_id) == wanted.plan_id,
        col(Preview.revision) == wanted.revision,
        col(Preview.key) == wanted.key,
        col(Preview.state) == "wanted",
    )
    text = memory.redact.text(text)
    values = {"state": "failed" if failed else "made", "text": text, "basis": basis, "at": memory.clock()}
    values |= {"found": memory.redact.data([*brief.found]), "was": memory.redact.text(brief.was)}
    with memory.write() as t:
        plan = t.touch(wanted.plan_id)
        if t.execute(update(Preview).where(*one).values(**values)).rowcount:
            told = {name: values[name] for name in PREVIEWED}
            named = {"step": wanted.key, "revision": wanted.revision}
            t.note(plan, "preview", actor=actor, data=named | told)
