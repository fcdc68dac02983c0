"""How a plan comes to be and ends before it is done: request, clarify, propose, amend, stall, cancel."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from types import MappingProxyType

from sqlalchemy import insert, select
from sqlmodel import col

from storage.contract.demands import NOTHING, Demands
from storage.contract.demands import read as read_demands
from storage.contract.spec import PlanSpec
from storage.contract.states import PlanState, StepState
from storage.database.tables import Plan, Revision
from storage.errors import Conflict, InvalidPlan, Issue
from storage.memory import Memory
from storage.plans.approvals import accept, want_previews
from storage.settling.settle import halt, skip_pending
from storage.transaction import Transaction


def request(memory: Memory, text: str, *, team: str, user: str, channel: str, thread: str = "") -> int:
    """Remember a wish; the planner takes it from here."""
    with memory.write() as t:
        return add_request(t, text, team=team, user=user, channel=channel, thread=thread)


def add_request(
    t: Transaction, text: str, *, team: str, user: str, channel: str, thread: str,
    more: Mapping[str, object] = MappingProxyType({}),
) -> int:  # fmt: skip
    plan = Plan(
        state=PlanState.planning, text=t.redact.text(text), team=team, requester=user,
        channel=channel, thread=thread, created_at=t.clock(),
    )  # fmt: skip
    values = plan.model_dump(exclude={"id"})
    plan.id = t.execute(insert(Plan).values(**values).returning(col(Plan.id))).scalar_one()
    t.first_card(plan)
    t.note(plan, "request", actor=user, data={"text": text, "channel": channel, **more})
    return plan.id


def refuse(memory: Memory, plan_id: int, verb: str, *, user: str, reason: str) -> None:
    """Put a refusal on record; that of a delivery together with the answer to the person."""
    data = {"verb": verb, "reason": reason}

    def write(t: Transaction) -> None:
        if plan_id:
            t.journal(t.touch(plan_id), "refuse", actor=user, data=data)
        else:
            t.journal_system("refuse", actor=user, data=data)

    memory.record(write)


def stall(memory: Memory, plan_id: int, *, actor: str, reason: str) -> None:
    """Hand the plan to a person: the planner has no valid plan."""
    with memory.write() as t:
        t.move(plan_id, "stall", actor=actor, data={"reason": reason}, reason=reason)


def cancel(memory: Memory, plan_id: int, *, user: str, reason: str) -> bool:
    """End an open plan. False when something of it still runs: that is told to stop, and then it ends."""
    with memory.write() as t:
        plan = t.touch(plan_id)
        steps = {StepState(step.state): step.key for step in t.steps(plan)}
        if StepState.unknown in steps:
            raise Conflict(f"Nobody knows whether step {steps[StepState.unknown]} ran; please say so first.")
        if StepState.running in steps:
            return halt(t, plan, user, reason)
        plan = t.move(plan_id, "cancel", actor=user, data={"reason": reason}, reason=reason)
        skip_pending(t, plan)
        return True


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
    t.change(plan, revision=number)
    if terms.needed and not parent:
        want_previews(t, plan.id, number, spec)
    return number


def _proposal(spec: PlanSpec, terms: Terms) -> dict[str, object]:
    return {"digest": spec.digest(), "risk": terms.risk, "needed": terms.needed, "policy": terms.policy}


def to_plan(memory: Memory) -> list[int]:
    """Wishes that have no plan yet, and wait for nobody's answer."""
    ready = (col(Plan.state) == PlanState.planning, col(Plan.form) == "")
    with memory.read() as t:
        return [*t.execute(select(col(Plan.id)).where(*ready).order_by(col(Plan.id))).scalars()]


def clarify(memory: Memory, plan_id: int, form: str, *, questions: Sequence[str]) -> None:
    """Ask the requester for what is missing; the card has the button to the form."""
    with memory.write() as t:
        plan = _planned(t, plan_id)
        t.change(plan, form=memory.redact.document(form))
        t.note(plan, "clarify", actor="planner", data={"questions": [*questions]})


def inform(memory: Memory, plan_id: int, given: str, *, user: str, said: Sequence[str]) -> None:
    """What was missing is known now, and it is planned on."""
    with memory.write() as t:
        plan = _planned(t, plan_id)
        if not plan.form:
            raise Conflict("This question was answered already.")
        values = {"form": "", "given": memory.redact.document(given)}
        t.change(plan, **values)
        t.note(plan, "inform", actor=user, data={"said": [*said]})


def _planned(t: Transaction, plan_id: int) -> Plan:
    plan = t.touch(plan_id)
    if plan.state != PlanState.planning:
        raise Conflict(t.why_not(plan_id, "asking"))
    return plan
