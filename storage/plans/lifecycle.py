"""The verbs of a plan. Each is one transaction that touches the plan's row first."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from types import MappingProxyType

from sqlalchemy import Connection, insert, update
from sqlalchemy.exc import IntegrityError
from sqlmodel import col

from storage.contract.demands import NOTHING, Demands
from storage.contract.demands import read as read_demands
from storage.contract.report import AnyReport, asks
from storage.contract.spec import PlanSpec
from storage.contract.states import SEEN, PlanState, StepState, can_skip, undo_order
from storage.database.tables import Approval, Plan, Revision, Step
from storage.errors import Conflict, InvalidPlan, Issue, NotAllowed
from storage.safeguards.second_factors import Factors, Proof
from storage.safeguards.spending import Billing
from storage.settling.carry_over import Carrying
from storage.settling.settle import facts_of
from storage.transaction import rows

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


class PlanVerbs(Carrying, Factors, Billing):
    """request, propose, amend, approve, stall, answer, revise, cancel; finish follows."""

    def request(self, text: str, *, team: str, user: str, channel: str, thread: str = "") -> int:
        """Remember a wish; the planner takes it from here."""
        with self._write() as c:
            return self._request(c, text, team=team, user=user, channel=channel, thread=thread)

    def propose(self, plan_id: int, spec: PlanSpec, terms: Terms, *, author: str, note: str = "") -> int:
        """Put a revision before people; approved at once when policy asks for nobody."""
        with self._write() as c:
            plan = self._move(c, plan_id, "propose", actor=author, data=_proposal(spec, terms))
            number = self._add_revision(c, plan, spec, terms, author=author, note=note, changes=[])
            if terms.needed == 0 and not terms.demands.denied:
                self._accept(c, self._plan(c, plan_id), by="policy", data={"digest": spec.digest()})
            return number

    def amend(
        self, plan_id: int, spec: PlanSpec, terms: Terms, *, author: str, after: int, changes: Sequence[str]
    ) -> int:
        """Replace revision `after` by a new one. Approvals of earlier revisions no longer count."""
        with self._write() as c:
            plan = self._touch(c, plan_id)
            if plan.state == PlanState.proposed and plan.revision != after:
                raise Conflict(f"Revision {plan.revision} was made meanwhile; yours was based on {after}.")
            data = _proposal(spec, terms) | {"changes": list(changes), "revision": plan.revision + 1}
            plan = self._move(c, plan_id, "amend", actor=author, data=data)
            note = self._revision(c, plan).note
            return self._add_revision(c, plan, spec, terms, author=author, note=note, changes=list(changes))

    def approve(
        self,
        plan_id: int,
        revision: int,
        digest: str,
        *,
        team: str,
        user: str,
        policy: str,
        permits: bool = True,
        held: Sequence[str] = (),
        proof: Proof | None = None,
    ) -> bool:
        """Record one person's yes to exactly this digest; True when it was the last one needed.

        `permits`: whoever asked policy just now, so the first steps need not ask again.
        `held`: who this person is besides themselves, the groups that policy names.
        """
        who = {"team": team, "user": user, "policy": policy}
        with self._write() as c:
            return self._approve(c, plan_id, revision, digest, who, held, permits=permits, proof=proof)

    def refuse(self, plan_id: int, verb: str, *, user: str, reason: str) -> None:
        """Put a refusal on record. The delivery is handled only when the person was answered, too."""
        data = {"verb": verb, "reason": reason}
        with self._write(handles=False) as c:
            if plan_id:
                self._journal(c, self._touch(c, plan_id), "refuse", actor=user, data=data)
            else:
                self._journal_system(c, "refuse", actor=user, data=data)

    def stall(self, plan_id: int, *, actor: str, reason: str) -> None:
        """Hand the plan to a person: the planner has no valid plan."""
        with self._write() as c:
            self._move(c, plan_id, "stall", actor=actor, data={"reason": reason}, reason=reason)

    def answer(self, plan_id: int, key: str, choice: str, *, user: str) -> None:
        """Go on as a person chose after a failure: retry, skip, abort or rollback. The review is too late."""
        with self._write() as c:
            plan = self._touch(c, plan_id)
            if plan.state != PlanState.stalled:
                raise Conflict(self._why_not(c, plan_id, "answer"))
            whole = {"confirm": self._see, "abort": self._end_here, "rollback": self._go_back}
            if not key and choice in whole:
                whole[choice](c, plan, user)
                return
            steps = self._steps(c, plan)
            step = next((s for s in steps if s.key == key and s.state == StepState.failed), None)
            if step is None:
                raise Conflict(f"Step {key} is not waiting for an answer.")
            self._choose(c, self._spec(c, plan), steps, step, choice, user)
            data = {"step": key, "choice": choice}
            self._move(c, plan_id, "answer", actor=user, data=data, reason="", look=0)
            self._redraw(c, plan_id, [key])
            self._settle(c, plan_id)

    def _see(self, c: Connection, plan: Plan, actor: str) -> None:
        """Somebody has looked at what was reported, and the plan goes on as it stands."""
        if self._spec(c, plan).review != "always":
            raise NotAllowed("Nothing of this plan waits for a look.")
        done = (col(Step.plan_id) == plan.id, col(Step.revision) == plan.revision)
        seen = update(Step).where(*done, col(Step.state) == StepState.succeeded).values(choice=SEEN)
        c.execute(seen)
        self._move(c, plan.id or 0, "answer", actor=actor, data={"choice": "continue"}, reason="", look=0)
        self._settle(c, plan.id or 0)

    def _end_here(self, c: Connection, plan: Plan, user: str) -> None:
        """Nothing failed, but the planner knows no further, and a person says that it is enough."""
        if any(s.state == StepState.failed and not s.choice for s in self._steps(c, plan)):
            raise Conflict("A step failed; please answer that.")
        self._skip_pending(c, plan)
        self._move(c, plan.id or 0, "answer", actor=user, data={"choice": "abort"}, reason="", look=0)
        end = {"reason": f"ended by <@{user}>", "outcome": "incomplete"}
        self._move(c, plan.id or 0, "finish", actor=user, data=end, quiet=False, **end)

    def _go_back(self, c: Connection, plan: Plan, user: str) -> None:
        """Nothing failed, and a person says that what was done shall be undone."""
        steps = {step.key: step for step in self._steps(c, plan)}
        undos = undo_order(self._spec(c, plan), facts_of(steps, {}))
        if not undos or any(step.undo for step in steps.values()):
            raise Conflict("There is nothing to roll back.")
        self._move(c, plan.id or 0, "answer", actor=user, data={"choice": "rollback"}, reason="", look=0)
        self._roll_back(c, plan, undos, {"reason": f"<@{user}> said so", "outcome": ""})
        self._settle(c, plan.id or 0)

    def cancel(self, plan_id: int, *, user: str, reason: str) -> bool:
        """End an open plan. False when something of it still runs: that is told to stop, and then it ends."""
        with self._write() as c:
            plan = self._touch(c, plan_id)
            steps = {StepState(step.state): step.key for step in self._steps(c, plan)}
            if StepState.unknown in steps:
                raise Conflict(
                    f"Nobody knows whether step {steps[StepState.unknown]} ran; please say so first."
                )
            if StepState.running in steps:
                return self._halt(c, plan, user, reason)
            plan = self._move(c, plan_id, "cancel", actor=user, data={"reason": reason}, reason=reason)
            self._skip_pending(c, plan)
            return True

    def _request(
        self, c: Connection, text: str, *, team: str, user: str, channel: str, thread: str,
        more: Mapping[str, object] = MappingProxyType({}),
    ) -> int:  # fmt: skip
        plan = Plan(
            state=PlanState.planning, text=self.redact.text(text), team=team, requester=user,
            channel=channel, thread=thread, created_at=self.clock(),
        )  # fmt: skip
        values = plan.model_dump(exclude={"id"})
        plan.id = c.execute(insert(Plan).values(**values).returning(col(Plan.id))).scalar_one()
        self._first_card(c, plan)
        self._note(c, plan, "request", actor=user, data={"text": text, "channel": channel, **more})
        return plan.id or 0

    def _approve(
        self, c: Connection, plan_id: int, revision: int, digest: str, who: Mapping[str, str],
        held: Sequence[str], *, permits: bool = True, proof: Proof | None = None,
        more: Mapping[str, object] = MappingProxyType({}),
    ) -> bool:  # fmt: skip
        """`who`: team, user, and the policy that was asked."""
        plan, user = self._touch(c, plan_id), who["user"]
        current = self._decidable(c, plan, revision, digest)
        self._all_shown(c, plan)
        demands = read_demands(current.demands)
        if demands.denied:
            raise NotAllowed(f"Policy does not allow this plan: {'; '.join(demands.denied)}.")
        factor = self._spend(c, user, proof, demanded=demands.second_factor)
        row = {**who, "held": " ".join(sorted({user, *held})), "factor": factor}
        row["shown"] = self._shown(c, plan)
        self._add_approval(c, plan, current, row)
        given = rows(c, Approval, col(Approval.plan_id) == plan_id, col(Approval.revision) == revision)
        data = {"revision": revision, "digest": digest, "given": len(given), "needed": current.needed, **more}
        data |= {"policy": who["policy"], "shown": row["shown"], "permits": permits}
        data |= {"factor": factor} if factor else {}
        short = any(quorum.short(approval.held.split() for approval in given) for quorum in demands.quorums)
        if len(given) < current.needed or short:
            self._note(c, plan, "approve", actor=user, data=data)
            return False
        self._accept(c, plan, by=user, data=data, permits=permits)
        return True

    def _halt(self, c: Connection, plan: Plan, user: str, reason: str) -> bool:
        """Nothing of it starts any more; what runs is asked to stop."""
        if plan.cancelled_by:
            raise Conflict(f"<@{plan.cancelled_by}> is cancelling plan {plan.id} already.")
        halt = {"cancelled_by": user, "reason": self.redact.text(reason)}
        c.execute(update(Plan).where(col(Plan.id) == plan.id).values(**halt))
        self._note(c, plan, "halt", actor=user, data={"reason": reason})
        return False

    def _decidable(self, c: Connection, plan: Plan, revision: int, digest: str | None) -> Revision:
        """The current revision, if this click is about it and it is still open."""
        if plan.state != PlanState.proposed:
            raise Conflict(self._already(c, plan))
        if plan.revision != revision:
            raise Conflict(
                f"That button belongs to revision {revision}; meanwhile there is revision {plan.revision}. "
                "Nothing was decided; please read the card again."
            )
        current = self._revision(c, plan)
        if current.expires_at <= self.clock():
            raise Conflict(f"Revision {revision} has expired; nothing was decided. Please ask for it again.")
        if digest is not None and current.digest != digest:
            raise Conflict("The plan is not the one on that card; nothing was decided.")
        return current

    def _already(self, c: Connection, plan: Plan) -> str:
        given = rows(c, Approval, col(Approval.plan_id) == plan.id, order=col(Approval.id).desc())
        if given and plan.state not in {"rejected", "expired", "cancelled"}:
            return f"<@{given[0].user}> was first: plan {plan.id} is approved already. Nothing else was done."
        return f"Plan {plan.id} is already {plan.state}; there is nothing left to decide."

    def _add_revision(
        self,
        c: Connection,
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
        if self.redact.data(document) != document:
            raise InvalidPlan([Issue("secret", "", NOT_KEPT)])
        row = asdict(terms) | {
            "demands": terms.demands.model_dump_json(),
            "plan_id": plan.id, "number": number, "spec": spec.model_dump_json(), "digest": spec.digest(),
            "author": author, "note": self.redact.text(note), "changes": self.redact.data(changes),
            "made_at": self.clock(), "parent": parent,
        }  # fmt: skip
        c.execute(insert(Revision).values(**row))
        c.execute(update(Plan).where(col(Plan.id) == plan.id).values(revision=number))
        if terms.needed and not parent:
            self._want_previews(c, plan.id or 0, number, spec)
        return number

    def _add_approval(self, c: Connection, plan: Plan, current: Revision, yes: dict[str, str]) -> None:
        row = yes | {
            "plan_id": plan.id,
            "revision": current.number,
            "digest": current.digest,
            "at": self.clock(),
        }
        try:
            with c.begin_nested():
                c.execute(insert(Approval).values(**row))
        except IntegrityError:
            raise Conflict("You have approved this revision already; it waits for somebody else.") from None

    def _accept(
        self, c: Connection, plan: Plan, *, by: str, data: dict[str, object], permits: bool = True
    ) -> None:
        """Quorum: steps are born, with their first permits."""
        self._bring(c, plan, self._spec(c, plan), permits=permits)
        self._move(c, plan.id or 0, "approve", actor=by, data=data)
        self._settle(c, plan.id or 0)

    def _choose(
        self, c: Connection, spec: PlanSpec, steps: list[Step], step: Step, choice: str, user: str
    ) -> None:
        changing = {s.key for s in steps if s.changes}
        if step.undo and choice in {"skip", "rollback"}:
            raise Conflict("A rollback step can be tried again or given up, not left out.")
        if choice == "skip" and not can_skip(spec, changing, step.key):
            raise Conflict(
                f"A later step that changes things relies on {step.key}; without it, it is another plan."
            )
        if choice == "retry":
            if step.start_by and step.start_by <= self.clock():
                raise Conflict(f"The time approved for {step.key} has passed; another time is another plan.")
            # Where a preview had moved, this answer is the approval of what is shown now.
            basis = ((step.report or {}).get("data") or {}).get("basis", step.basis)
            anew = {"choice": "", "report": None, "started_at": None, "ended_at": None, "basis": basis}
            self._move_step(c, step, "retry", **anew)
        elif choice == "skip":
            self._move_step(c, step, "skip", choice="skip")
        elif choice == "confirm" and asks(step.report):
            told = AnyReport.ok("confirmed", {}).model_dump(mode="json")
            self._move_step(c, step, "confirm", choice="", report=told, ended_at=self.clock())
        elif choice in {"abort", "rollback"}:
            c.execute(update(Step).where(col(Step.id) == step.id).values(choice=choice))
        else:
            raise Conflict(f"'{choice}' is not an answer to a failed step.")


def _proposal(spec: PlanSpec, terms: Terms) -> dict[str, object]:
    return {"digest": spec.digest(), "risk": terms.risk, "needed": terms.needed, "policy": terms.policy}
