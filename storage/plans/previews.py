"""Previews, for those who approve: which are asked for, whether all are shown, and what was shown."""

from pydantic import JsonValue
from sqlalchemy import insert
from sqlmodel import col

from storage.contract.capability import fingerprint
from storage.contract.spec import PlanSpec, reference
from storage.database.tables import Capability, Plan, Preview
from storage.errors import Conflict
from storage.transaction import Transaction, of_revision


def want_previews(t: Transaction, plan_id: int, revision: int, spec: PlanSpec) -> None:
    """Ask for those that can be made: the action offers one, and no value is known only later."""
    offering = {(row.worker, row.action) for row in t.rows(Capability) if row.contract.get("preview")}
    for step in spec.steps:
        later = any(reference(value) for value in step.parameters.values())
        if (step.worker, step.action) in offering and not later:
            row = Preview(
                plan_id=plan_id, revision=revision, key=step.id, worker=step.worker, action=step.action
            )
            row.at = t.clock()
            t.execute(insert(Preview).values(**row.model_dump()))


def _previews(t: Transaction, plan: Plan) -> list[Preview]:
    return t.rows(Preview, *of_revision(Preview, plan), order=col(Preview.key))


def demand_all_shown(t: Transaction, plan: Plan) -> None:
    missing = [preview.key for preview in _previews(t, plan) if preview.state == "wanted"]
    if missing:
        raise Conflict(
            f"What {', '.join(missing)} would do is not on the card yet; please approve when it is. "
            "It is made by the workers, so one of them must be running."
        )


def shown_hash(t: Transaction, plan: Plan) -> str:
    """Hash of what stood on the card besides the plan itself."""
    shown: dict[str, JsonValue] = {p.key: [p.state, p.text, p.basis] for p in _previews(t, plan)}
    return fingerprint(shown) if shown else ""
