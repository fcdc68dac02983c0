"""Previews: what each step would do, made by its worker and shown before anybody approves. Never a Step."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue
from sqlalchemy import Connection, insert, select, update
from sqlmodel import col

from storage.contract.capability import fingerprint
from storage.contract.documents import read_spec
from storage.contract.spec import PlanSpec, reference
from storage.contract.states import PlanState
from storage.database.statements import table
from storage.database.tables import Capability, Plan, Preview, Revision
from storage.errors import Conflict
from storage.settling.settle import Settling
from storage.transaction import rows


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


class Previews(Settling):
    """previews_wanted, show."""

    def previews_wanted(self, offers: Collection[tuple[str, str]]) -> list[Wanted]:
        """Those of open proposals that one of these offers can make."""
        with self._read() as c:
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
            found = [row for row in c.execute(query) if (row.worker, row.action) in offers]
            return [
                Wanted(row.plan_id, row.revision, row.key, row.worker, row.action,
                       read_spec(row.spec).spec.find(row.key).parameters)
                for row in found
            ]  # fmt: skip

    def show(self, wanted: Wanted, text: str, basis: str, *, actor: str, failed: bool = False) -> None:
        """A preview is in: what was said first stands, and the card shows it."""
        one = (
            col(Preview.plan_id) == wanted.plan_id,
            col(Preview.revision) == wanted.revision,
            col(Preview.key) == wanted.key,
            col(Preview.state) == "wanted",
        )
        text = self.redact.text(text)
        values = {"state": "failed" if failed else "made", "text": text, "basis": basis, "at": self.clock()}
        with self._write() as c:
            plan = self._touch(c, wanted.plan_id)
            if c.execute(update(Preview).where(*one).values(**values)).rowcount:
                data = {"step": wanted.key, "revision": wanted.revision, "basis": basis}
                self._note(c, plan, "preview", actor=actor, data=data | {"text": text})

    def _want_previews(self, c: Connection, plan_id: int, revision: int, spec: PlanSpec) -> None:
        """Ask for those that can be made: the action offers one, and no value is known only later."""
        offering = {(row.worker, row.action) for row in rows(c, Capability) if row.contract.get("preview")}
        for step in spec.steps:
            later = any(reference(value) for value in step.parameters.values())
            if (step.worker, step.action) in offering and not later:
                row = Preview(
                    plan_id=plan_id, revision=revision, key=step.id, worker=step.worker, action=step.action
                )
                row.at = self.clock()
                c.execute(insert(Preview).values(**row.model_dump()))

    def _previews(self, c: Connection, plan: Plan) -> list[Preview]:
        mine = (col(Preview.plan_id) == plan.id, col(Preview.revision) == plan.revision)
        return rows(c, Preview, *mine, order=col(Preview.key))

    def _all_shown(self, c: Connection, plan: Plan) -> None:
        missing = [preview.key for preview in self._previews(c, plan) if preview.state == "wanted"]
        if missing:
            raise Conflict(
                f"What {', '.join(missing)} would do is not on the card yet; please approve when it is. "
                "It is made by the workers, so one of them must be running."
            )

    def _shown(self, c: Connection, plan: Plan) -> str:
        """Hash of what stood on the card besides the plan itself."""
        shown: dict[str, JsonValue] = {p.key: [p.state, p.text, p.basis] for p in self._previews(c, plan)}
        return fingerprint(shown) if shown else ""
