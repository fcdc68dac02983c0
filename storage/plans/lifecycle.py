"""How a plan comes to be and ends before it is done: request, clarify, propose, amend, stall, cancel."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from types import MappingProxyType

from sqlalchemy import case, exists, func, insert, select
from sqlmodel import col

from storage.contract.demands import NOTHING, Demands
from storage.contract.demands import read as read_demands
from storage.contract.spec import PlanSpec
from storage.contract.states import PlanState, StepState
from storage.database.statements import table
from storage.database.tables import Approval, Message, Plan, PlanningRead, Revision
from storage.errors import Conflict, InvalidPlan, Issue, NotAllowed
from storage.exchange.asks import Asker, keep_ask
from storage.journal.words import words_hash
from storage.memory import Memory
from storage.plans.approvals import POLICY, accept, want_previews
from storage.settling.settle import halt, promised, skip_pending
from storage.transaction import Transaction, of_revision


def request(
    memory: Memory, text: str, *, team: str, user: str, channel: str, thread: str = "",
    asker: Asker | None = None, given: str = "",
) -> int:  # fmt: skip
    """Remember a wish; the planner takes it from here. `given`: what is known besides the words."""
    with memory.write() as t:
        return add_request(
            t, text, team=team, user=user, channel=channel, thread=thread, asker=asker, given=given
        )


def add_request(
    t: Transaction, text: str, *, team: str, user: str, channel: str, thread: str,
    more: Mapping[str, object] = MappingProxyType({}), starts_at: datetime | None = None, zone: str = "",
    asker: Asker | None = None, given: str = "", private: bool = False,
) -> int:  # fmt: skip
    plan = Plan(
        state=PlanState.planning, text=t.redact.text(text), team=team, requester=user,
        channel=channel, thread=thread, created_at=t.clock(), starts_at=starts_at, starts_zone=zone,
        given=t.redact.document(given) if given else "", private=private,
    )  # fmt: skip
    if asker:
        plan.machine, plan.behind = asker.machine, [*asker.behind]
        more = {**more, "machine": asker.machine, "behind": plan.behind}
    values = plan.model_dump(exclude={"id"})
    plan.id = t.execute(insert(table(Plan)).returning(table(Plan).c.id), values).scalar_one()
    if private:
        more = {**more, "private": True}
    else:
        t.first_card(plan)
    t.note(plan, "request", actor=user, data={"text": text, "channel": channel, **more})
    if asker:
        keep_ask(t, asker, plan_id=plan.id)
    return plan.id


def refuse(memory: Memory, plan_id: int, verb: str, *, user: str, reason: str, stale: bool = False) -> None:
    """Put a refusal on record; that of a delivery together with the answer to the person.

    `stale`: they may, but what they pressed counts no more.
    """
    data = {"verb": verb, "reason": reason} | ({"stale": True} if stale else {})

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
    lost: tuple[str, ...] = ()  # what its changes relied on, and do without
    lengthy: bool = False  # a card has no room for what people must read of it


def agreed(revision: Revision) -> Terms:
    """What was asked for a revision that people, or policy, approved."""
    asked = {field.name: getattr(revision, field.name) for field in fields(Terms)}
    return Terms(**asked | {"demands": read_demands(revision.demands)})


def propose(
    memory: Memory,
    plan_id: int,
    spec: PlanSpec,
    terms: Terms,
    *,
    author: str,
    note: str = "",
    notes: Sequence[str] = (),
) -> int:
    """Put a revision before people; approved at once when policy asks for nobody.

    `notes` say how the wish was read, and what of it was not used: no effect, so no part of the digest.
    """
    with memory.write() as t:
        return _put(t, plan_id, spec, terms, author=author, note=note, notes=notes)


def _put(
    t: Transaction,
    plan_id: int,
    spec: PlanSpec,
    terms: Terms,
    *,
    author: str,
    note: str,
    notes: Sequence[str] = (),
) -> int:
    said = {"words": words(t, spec, terms, note, [])}
    told = {"notes": [*notes]} if notes else {}
    plan = t.move(plan_id, "propose", actor=author, data=_proposal(spec, terms) | said | told)
    number = add_revision(t, plan, spec, terms, author=author, note=note, changes=[], notes=notes)
    accept_unasked(t, plan_id, spec, terms)
    return number


def request_planned(
    memory: Memory,
    text: str,
    spec: PlanSpec,
    terms: Terms,
    *,
    team: str,
    user: str,
    channel: str,
    thread: str,
    notes: Sequence[str] = (),
    asker: Asker | None = None,
    private: bool = False,
) -> int:
    """A wish that comes with its plan: no planner is asked, and people are. What is private only reads."""
    with memory.write() as t:
        if private and any(promised(t, step).changes for step in (*spec.steps, *spec.rollback)):
            raise NotAllowed("What changes something is put before people.")
        plan_id = add_request(
            t, text, team=team, user=user, channel=channel, thread=thread, asker=asker, private=private
        )
        _put(t, plan_id, spec, terms, author=user, note="", notes=notes)
        return plan_id


def accept_unasked(t: Transaction, plan_id: int, spec: PlanSpec, terms: Terms) -> None:
    """Where policy asks for nobody, the proposal is approved at once."""
    if terms.needed == 0 and not terms.demands.denied:
        if drafting := [step.id for step in spec.steps if promised(t, step).drafts]:
            raise NotAllowed(f"{drafting[0]} drafts something: it needs a person's approval.")
        accept(t, t.plan(plan_id), by=POLICY, data={"digest": spec.digest()})


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
    """Replace revision `after` by a new one. Approvals of earlier revisions no longer count.

    Where policy asks for nobody any more, it starts: it waits for no click that would decide nothing.
    """
    with memory.write() as t:
        plan = t.touch(plan_id)
        if plan.state == PlanState.proposed and plan.revision != after:
            raise Conflict(f"Revision {plan.revision} was made meanwhile; yours was based on {after}.")
        data = _proposal(spec, terms) | {"changes": list(changes), "revision": plan.revision + 1}
        note = t.revision(plan).note if plan.revision else ""
        data["words"] = words(t, spec, terms, note, changes)
        if void := [row.user for row in t.rows(Approval, *of_revision(Approval, plan))]:
            data["void"] = void  # whose approval no longer counts
        plan = t.move(plan_id, "amend", actor=author, data=data)
        notes = t.revision(plan).notes if plan.revision else []
        number = add_revision(t, plan, spec, terms, author=author, note=note, changes=[*changes], notes=notes)
        accept_unasked(t, plan_id, spec, terms)
        return number


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
    postpones: int = 0,
    notes: Sequence[str] = (),
) -> int:
    number, document = plan.revision + 1, spec.model_dump(mode="json")
    if t.redact.data(document) != document:
        raise InvalidPlan([Issue("secret", "", NOT_KEPT)])
    row = asdict(terms) | _said(t, spec, terms, note, changes) | {
        "plan_id": plan.id, "number": number, "digest": spec.digest(), "author": author,
        "notes": t.redact.data([*notes]),
        "lost": t.redact.data([*terms.lost]), "made_at": t.clock(), "parent": parent, "postpones": postpones,
    }  # fmt: skip
    t.execute(insert(table(Revision)), row)
    t.change(plan, revision=number, outdated=[], ahead=[])
    if terms.needed and not (parent or postpones):
        want_previews(t, plan.id, number, spec)
    return number


def words(t: Transaction, spec: PlanSpec, terms: Terms, note: str, changes: Sequence[str]) -> str:
    """What the event that makes a revision says of its words, so that no others are shown later."""
    return words_hash(asdict(terms) | _said(t, spec, terms, note, changes))


def _said(
    t: Transaction, spec: PlanSpec, terms: Terms, note: str, changes: Sequence[str]
) -> dict[str, object]:
    return {
        "spec": spec.model_dump_json(), "demands": terms.demands.model_dump_json(),
        "note": t.redact.text(note), "changes": t.redact.data([*changes]),
    }  # fmt: skip


def _proposal(spec: PlanSpec, terms: Terms) -> dict[str, object]:
    return {"digest": spec.digest(), "risk": terms.risk, "needed": terms.needed, "policy": terms.policy}


def to_plan(memory: Memory) -> list[int]:
    """Wishes that have no plan yet, and wait for nobody's answer, nor for what is looked at for them."""
    return [plan_id for plan_id, _ in wishes(memory, {})]


def wishes(memory: Memory, served: Mapping[str, float]) -> list[tuple[int, str]]:
    """The same, each with whose it is. First the first of each; who was served longest ago goes first."""
    looks = exists().where(col(PlanningRead.plan_id) == col(Plan.id), col(PlanningRead.state) == "wanted")
    ready = (col(Plan.state) == PlanState.planning, col(Plan.form) == "", ~looks)
    whose = case((col(Plan.machine) != "", col(Plan.machine)), else_=col(Plan.requester)).label("whose")
    turn = func.row_number().over(partition_by=whose, order_by=col(Plan.id)).label("turn")
    with memory.read() as t:
        found = [*t.execute(select(col(Plan.id), whose, turn).where(*ready))]
    found.sort(key=lambda one: (one.turn, served.get(one.whose, 0.0), one.id))
    return [(one.id, one.whose) for one in found]


def clarify(memory: Memory, plan_id: int, form: str, *, questions: Sequence[str]) -> None:
    """Ask the requester for what is missing, and nobody else: there is no plan to be seen yet."""
    with memory.write() as t:
        plan = _planned(t, plan_id)
        t.change(plan, form=memory.redact.document(form))
        t.note(plan, "clarify", actor="planner", data={"questions": [*questions]})
        if plan.machine:
            return  # it reads what is missing, and answers under the same key
        t.queue(
            Message(
                key=f"clarify:{plan_id}:{plan.events}", kind="whisper", plan_id=plan_id, urgent=True,
                channel=plan.channel, user=plan.requester, ts=plan.thread, text=" ".join(questions),
            )
        )  # fmt: skip


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
