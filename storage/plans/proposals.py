"""Revisions put before people, each with what policy asks for it."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime

from sqlalchemy import insert, update
from sqlmodel import col

from storage.contract.demands import NOTHING, Demands
from storage.contract.demands import read as read_demands
from storage.contract.spec import PlanSpec
from storage.contract.states import PlanState
from storage.database.tables import Plan, Revision
from storage.errors import Conflict, InvalidPlan, Issue
from storage.memory import Memory
from storage.plans.approvals import accept
from storage.plans.previews import want_previews
from storage.transaction import Transaction

NOT_KEPT = (
    "This plan holds what looks like a secret, so it is not kept. Please name an entry of the inventory or a "
    "variable of the workers' environment instead."
)


@dataclass(frozen=True)
class Terms:
    """What policy asks for one revision."""

    risk: str
    reasons: tuple[str, ...]
    needed: int
    approvers: tuple[str, ...]
    authors: tuple[str, ...]
    policy: str
    seconds: float
    expires_at: datetime
    demands: Demands = NOTHING


def agreed(revision: Revision) -> Terms:
    """What was asked for a revision that people, or policy, approved."""
    asked = {field.name: getattr(revision, field.name) for field in fields(Terms)}
    return Terms(**asked | {"demands": read_demands(revision.demands)})


def propose(
    memory: Memory, plan_id: int, spec: PlanSpec, terms: Terms, *, author: str, note: str = ""
) -> int:
    """Put a revision before people; approved at once when policy asks for nobody."""
    with memory.write() as t:
        plan = t.move(plan_id, "propose", actor=author, data=_proposal(spec, terms))
        number = add_revision(t, plan, spec, terms, author=author, note=note, changes=[])
        if terms.needed == 0 and not terms.demands.denied:
            accept(t, t.plan(plan_id), by="policy", data={"digest": spec.digest()})
        return number


def amend(
    memory: Memory,
    plan_id: int,
    spec: PlanSpec,
    terms: Terms,
    *,
    author: str,
    after: int,
    changes: Sequence[str],
) -> int:
    """Replace revision `after` by a new one. Approvals of earlier revisions no longer count."""
    with memory.write() as t:
        plan = t.touch(plan_id)
        if plan.state == PlanState.proposed and plan.revision != after:
            raise Conflict(f"Revision {plan.revision} was made meanwhile; yours was based on {after}.")
        data = _proposal(spec, terms) | {"changes": list(changes), "revision": plan.revision + 1}
        plan = t.move(plan_id, "amend", actor=author, data=data)
        note = t.revision(plan).note
        return add_revision(t, plan, spec, terms, author=author, note=note, changes=list(changes))


def add_revision(
    t: Transaction,
    plan: Plan,
    spec: PlanSpec,
    terms: Terms,
    *,
    author: str,
    note: str,
    changes: list[str],
    parent: int = 0,
) -> int:
    number, document = plan.revision + 1, spec.model_dump(mode="json")
    if t.redact.data(document) != document:
        raise InvalidPlan([Issue("secret", "", NOT_KEPT)])
    row = asdict(terms) | {
        "demands": terms.demands.model_dump_json(),
        "plan_id": plan.id, "number": number, "spec": spec.model_dump_json(), "digest": spec.digest(),
        "author": author, "note": t.redact.text(note), "changes": t.redact.data(changes),
        "made_at": t.clock(), "parent": parent,
    }  # fmt: skip
    t.execute(insert(Revision).values(**row))
    t.execute(update(Plan).where(col(Plan.id) == plan.id).values(revision=number))
    if terms.needed and not parent:
        want_previews(t, plan.id, number, spec)
    return number


def _proposal(spec: PlanSpec, terms: Terms) -> dict[str, object]:
    return {"digest": spec.digest(), "risk": terms.risk, "needed": terms.needed, "policy": terms.policy}
