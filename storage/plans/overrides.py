"""Break-glass: somebody overrides a window, a freeze or the approvals. Two steps, loud, and reviewed."""

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import insert, select, update
from sqlmodel import col

from storage.contract.demands import read as read_demands
from storage.contract.states import PlanState
from storage.database.tables import Message, Override, Plan
from storage.errors import Conflict, NotAllowed
from storage.memory import Memory
from storage.plans.approvals import accept, demand_all_shown
from storage.safeguards.second_factors import Proof, spend
from storage.transaction import Transaction

PATIENCE = timedelta(minutes=10)  # between the two steps
BREAKABLE = frozenset({PlanState.proposed, PlanState.approved})


def break_glass(
    memory: Memory, plan_id: int, digest: str, parts: Sequence[str], *, user: str, reason: str
) -> None:
    """The first step: on record, and nothing is overridden yet."""
    with memory.write() as t:
        plan = _breakable(t, plan_id, digest)
        row = {"plan_id": plan_id, "revision": plan.revision, "digest": digest, "user": user}
        told = {"parts": " ".join(parts), "reason": memory.redact.text(reason)}
        t.execute(insert(Override).values(**row, **told, asked_at=memory.clock()))
        data = {"digest": digest, "parts": [*parts], "reason": reason}
        t.journal(plan, "break_glass", actor=user, data=data)


def confirm_glass(
    memory: Memory, plan_id: int, digest: str, *, user: str, proof: Proof | None = None
) -> None:
    """The second step, by the same person, soon: it holds for this revision. The channel hears of it."""
    with memory.write() as t:
        plan = _breakable(t, plan_id, digest)
        asked = _asked(t, plan, digest, user)
        demanded = read_demands(t.revision(plan).demands).second_factor
        factor = spend(t, user, proof, demanded=demanded)
        at = {"confirmed_at": memory.clock()}
        t.execute(update(Override).where(col(Override.id) == asked.id).values(**at))
        parts = asked.parts.split()
        data: dict[str, object] = {"digest": digest, "parts": parts, "reason": asked.reason}
        data |= {"factor": factor} if factor else {}
        text = f"{plan_id}: {' and '.join(parts)}: {asked.reason}"
        said = Message(key=f"glass:{asked.id}", kind="glass", channel=plan.channel, user=user, text=text)
        said.urgent = True
        t.queue(said)
        t.note(plan, "override", actor=user, data=data)
        if plan.state == PlanState.proposed and "approvals" in parts:
            demand_all_shown(t, plan)
            accept(t, plan, by=user, data=data)


def reviewed(memory: Memory, plan_id: int, *, user: str, text: str) -> None:
    """Somebody else has looked at it afterwards, and says what they found."""
    with memory.write() as t:
        plan = t.touch(plan_id)
        open_ = (col(Override.plan_id) == plan_id, *UNREVIEWED)
        values = {"reviewed_by": user, "review": memory.redact.text(text)}
        if not t.execute(update(Override).where(*open_).values(**values)).rowcount:
            raise Conflict(f"Nothing about plan {plan_id} waits for a review.")
        t.note(plan, "reviewed", actor=user, data={"text": text})


def unreviewed(memory: Memory) -> list[int]:
    """The plans for which the glass was broken, and nobody has looked at it since."""
    with memory.read() as t:
        query = select(col(Override.plan_id)).distinct().where(*UNREVIEWED)
        return sorted(t.execute(query).scalars())


def _breakable(t: Transaction, plan_id: int, digest: str) -> Plan:
    plan = t.touch(plan_id)
    current = t.revision(plan) if plan.revision else None
    if plan.state not in BREAKABLE or current is None:
        raise Conflict(f"Plan {plan_id} is {plan.state}; there is nothing to override.")
    if current.digest != digest:
        raise Conflict("The plan is not the one that was shown; nothing was overridden.")
    if denied := read_demands(current.demands).denied:
        raise NotAllowed(f"Policy does not allow this plan: {'; '.join(denied)}.")
    if plan.state == PlanState.proposed and current.expires_at <= t.clock():
        raise Conflict(f"Plan {plan_id} has expired. Please ask for it again.")
    return plan


def _asked(t: Transaction, plan: Plan, digest: str, user: str) -> Override:
    mine = (col(Override.plan_id) == plan.id, col(Override.user) == user, col(Override.digest) == digest)
    fresh = (col(Override.confirmed_at).is_(None), col(Override.asked_at) > t.clock() - PATIENCE)
    found = t.rows(Override, *mine, *fresh, order=col(Override.id).desc(), limit=1)
    if not found:
        raise Conflict(f"Please say first why: `/plan break-glass {plan.id} <reason>`.")
    return found[0]


UNREVIEWED = (col(Override.confirmed_at).is_not(None), col(Override.reviewed_by) == "")
