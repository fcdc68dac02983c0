"""A person's yes to exactly what was shown; at quorum its steps are born."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from pydantic import JsonValue
from sqlalchemy import insert
from sqlalchemy.exc import IntegrityError
from sqlmodel import col

from storage.contract.capability import fingerprint
from storage.contract.demands import read as read_demands
from storage.contract.spec import PlanSpec, reference
from storage.contract.states import PlanState
from storage.database.statements import table
from storage.database.tables import Approval, Capability, Plan, Preview, Revision
from storage.errors import Conflict, NotAllowed
from storage.memory import Memory
from storage.plans.carry_over import bring
from storage.plans.showing import demand_filed, filed
from storage.safeguards.looks import considered
from storage.safeguards.second_factors import Proof, spend
from storage.settling.frames import so_far
from storage.settling.settle import settle_plans
from storage.transaction import Transaction

POLICY = "policy"  # approves what asks for nobody
ALONE = "A change that a machine asks for needs a person, whatever policy says; so it was not approved."


def approve(
    memory: Memory,
    plan_id: int,
    revision: int,
    digest: str,
    *,
    team: str,
    user: str,
    policy: str,
    held: Sequence[str] = (),
    proof: Proof | None = None,
    told: Mapping[str, object] = MappingProxyType({}),
) -> bool:
    """Record one person's yes to exactly this digest; True when it was the last one needed.

    `held`: who this person is besides themselves, the groups that policy names; `told`: by whose word.
    """
    who = {"team": team, "user": user, "policy": policy}
    with memory.write() as t:
        return record_approval(t, plan_id, revision, digest, who, held, proof=proof, more=told)


def record_approval(
    t: Transaction, plan_id: int, revision: int, digest: str, who: Mapping[str, str],
    held: Sequence[str], *, proof: Proof | None = None,
    more: Mapping[str, object] = MappingProxyType({}),
) -> bool:  # fmt: skip
    """`who`: team, user, and the policy that was asked."""
    plan, user = t.touch(plan_id), who["user"]
    current = decidable(t, plan, revision, digest)
    demand_all_shown(t, plan)
    demand_filed(t, plan, current)
    demands = read_demands(current.demands)
    if demands.denied:
        raise NotAllowed(f"Policy does not allow this plan: {'; '.join(demands.denied)}.")
    facts = considered(t, plan, current, user, demanded=demands.read)
    factor = spend(t, user, proof, demanded=demands.second_factor)
    row = {**who, "held": " ".join(sorted({user, *held})), "factor": factor}
    row["shown"] = shown_hash(t, plan)
    _add_approval(t, plan, current, row)
    given = t.rows(Approval, col(Approval.plan_id) == plan_id, col(Approval.revision) == revision)
    data = {"revision": revision, "digest": digest, "given": len(given), "needed": current.needed, **more}
    data |= {"policy": who["policy"], "shown": row["shown"], **facts}
    data |= {"factor": factor} if factor else {}
    short = any(quorum.short(approval.held.split() for approval in given) for quorum in demands.quorums)
    if len(given) < current.needed or short:
        t.note(plan, "approve", actor=user, data=data)
        return False
    accept(t, plan, by=user, data=data)
    return True


def decidable(t: Transaction, plan: Plan, revision: int, digest: str | None) -> Revision:
    """The current revision, if this click is about it and it is still open."""
    if plan.state != PlanState.proposed:
        raise Conflict(_already(t, plan))
    if plan.revision != revision:
        raise Conflict(
            f"That button belongs to revision {revision}; meanwhile there is revision {plan.revision}. "
            "Nothing was decided; please read the card again."
        )
    current = t.revision(plan)
    if current.expires_at <= t.clock():
        raise Conflict(f"Revision {revision} has expired; nothing was decided. Please ask for it again.")
    if digest is not None and current.digest != digest:
        raise Conflict("The plan is not the one on that card; nothing was decided.")
    return current


def _already(t: Transaction, plan: Plan) -> str:
    given = t.rows(Approval, col(Approval.plan_id) == plan.id, order=col(Approval.id).desc())
    if given and plan.state not in {"rejected", "expired", "cancelled"}:
        return f"<@{given[0].user}> was first: plan {plan.id} is approved already. Nothing else was done."
    return f"Plan {plan.id} is already {plan.state}; there is nothing left to decide."


def _add_approval(t: Transaction, plan: Plan, current: Revision, yes: dict[str, str]) -> None:
    row = yes | {
        "plan_id": plan.id,
        "revision": current.number,
        "digest": current.digest,
        "at": t.clock(),
    }
    try:
        with t.connection.begin_nested():
            t.execute(insert(table(Approval)), row)
    except IntegrityError:
        raise Conflict("You have approved this revision already; it waits for somebody else.") from None


def accept(t: Transaction, plan: Plan, *, by: str, data: dict[str, object]) -> None:
    """Quorum: steps are born."""
    bring(t, plan, t.spec(plan))
    if by == POLICY and plan.machine and any(step.changes for step in t.steps(plan)):
        raise NotAllowed(ALONE)
    t.move(plan.id, "approve", actor=by, data=data)
    settle_plans(t, plan.id)


def want_previews(t: Transaction, plan_id: int, revision: int, spec: PlanSpec) -> None:
    """Ask for those that can be made: the action offers one, and no value is known only later."""
    known = so_far(t, plan_id)
    offering = {(row.worker, row.action) for row in t.rows(Capability) if row.contract.get("preview")}
    for step in spec.steps:
        later = any(found and found[0] not in known for found in map(reference, step.parameters.values()))
        if (step.worker, step.action) in offering and not later:
            row = Preview(
                plan_id=plan_id, revision=revision, key=step.id, worker=step.worker, action=step.action
            )
            row.at = t.clock()
            t.execute(insert(table(Preview)), row.model_dump())


def _previews(t: Transaction, plan: Plan) -> list[Preview]:
    return sorted(t.previews(plan), key=lambda one: one.key)


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
    file = filed(t, plan.id, plan.revision)
    shown |= {"file": file.content} if file else {}
    return fingerprint(shown) if shown else ""
