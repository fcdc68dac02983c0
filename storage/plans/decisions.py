"""The verbs of the review: what waits for thought, and what was decided. One event is answered once."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from sqlalchemy import Connection, update
from sqlmodel import col

from storage.contract.documents import read_spec
from storage.contract.mandate import exceeds, stands
from storage.contract.report import asks
from storage.contract.spec import PlanSpec, holds
from storage.contract.states import PlanState, StepState
from storage.database.tables import Plan, Revision, Step
from storage.errors import Conflict, NotAllowed
from storage.plans.lifecycle import PlanVerbs, Terms, agreed
from storage.transaction import rows

GUIDE = "guide"


class Reviews(PlanVerbs):
    """to_review, decide, guide, rework."""

    def to_review(self) -> list[tuple[int, int]]:
        """Plans that need thought, each with the event that it is about."""
        with self._read() as c:
            found = rows(
                c, Plan, col(Plan.state) == PlanState.stalled, col(Plan.look) > 0, order=col(Plan.id)
            )
            return [(plan.id or 0, plan.look) for plan in found]

    def guide(self, plan_id: int, text: str, *, user: str, key: str = "") -> None:
        """A person tells the planner, in their own words, how a plan that waits for an answer shall go on.

        The words stay in the journal (verb `answer`, choice `guide`), and the review looks at the plan again
        with them: what it then advises passes the same gate and the same approvals as anything else. `key` is
        the step whose failure they were said about, if it was one. Conflict when the plan does not wait.
        """
        with self._write() as c:
            plan = self._touch(c, plan_id)
            if plan.state != PlanState.stalled:
                raise Conflict(self._why_not(c, plan_id, "answer"))
            c.execute(update(Plan).where(col(Plan.id) == plan_id).values(look=plan.events + 1))
            data = {"step": key, "choice": GUIDE, "text": text}
            self._note(c, plan, "answer", actor=user, data=data)
            self._redraw(c, plan_id, [key] if key else [])

    def decide(
        self,
        plan_id: int,
        look: int,
        said: Mapping[str, Any],
        *,
        spec: PlanSpec | None = None,
        terms: Terms | None = None,
        changes: Sequence[str] = (),
        quiet: bool = False,
    ) -> None:
        """Put on record what the review decided about event `look`, and do it, in one commit.

        `said` has verb, step, reason, source and wait. With a `spec`, it goes on as this revision, under
        the mandate of the approved one; with `terms` besides, people are asked first. Conflict when the event
        was answered already, NotAllowed when what was approved does not cover it: then nothing has happened.
        """
        with self._write() as c:
            plan = self._touch(c, plan_id)
            if plan.state != PlanState.stalled or plan.look != look:
                raise Conflict(f"Plan {plan_id} was answered meanwhile.")
            c.execute(update(Plan).where(col(Plan.id) == plan_id).values(look=0))
            data = dict(said) | {"answers": look}
            self._note(c, plan, "decide", actor=str(said["source"]), data=data, quiet=quiet)
            if said["verb"] == "ask":
                reason = self.redact.text(str(said["reason"]))
                c.execute(update(Plan).where(col(Plan.id) == plan_id).values(reason=reason))
            elif spec is not None and terms is not None:
                self._put(c, plan, spec, terms, str(said["reason"]), changes)
            elif spec is not None:
                self._extend(c, plan, spec, str(said["reason"]), changes)
            elif said["verb"] == "continue":
                self._see(c, plan, "planner")
            elif said["verb"] == "retry":
                self._again(c, plan, str(said["step"]), float(said["wait"]))
            else:
                self._close_plan(c, plan, str(said["verb"]), str(said["reason"]))
            self._redraw(c, plan_id, [str(said["step"])] if said["step"] else [])

    def _again(self, c: Connection, plan: Plan, key: str, wait: float) -> None:
        """Try a failed step once more, later. What a person is asked for is not the planner's to answer."""
        steps = self._steps(c, plan)
        step = next((s for s in steps if s.key == key and s.state == StepState.failed), None)
        if step is None or step.undo or step.choice or step.repeat != "safe" or asks(step.report):
            raise NotAllowed(f"Only a person may have {key} tried again.")
        later = max(self.clock() + timedelta(seconds=wait), step.not_before or self.clock())
        if step.start_by and step.start_by < later:
            raise NotAllowed(f"There is no time left to try {key} again.")
        self._choose(c, self._spec(c, plan), steps, step, "retry", "planner")
        c.execute(update(Step).where(col(Step.id) == step.id).values(not_before=later))
        self._resume(c, plan, {"choice": "retry"})

    def _extend(self, c: Connection, plan: Plan, spec: PlanSpec, why: str, changes: Sequence[str]) -> None:
        """A revision under the mandate: it names the approved one, whose approval it must be covered by."""
        parent = self._approved(c, plan)
        if beyond := self._beyond(c, parent, spec):
            raise NotAllowed(f"What was approved does not cover this: {beyond}.")
        note = f"made under the mandate of revision {parent.number}: {why}"
        number = self._add_revision(
            c,
            plan,
            spec,
            agreed(parent),
            author="planner",
            note=note,
            changes=[*changes],
            parent=parent.number,
        )
        self._move(c, plan.id or 0, "answer", actor="planner", data={"revision": number}, reason="")
        self._bring(c, self._plan(c, plan.id or 0), spec, permits=False)
        self._settle(c, plan.id or 0)

    def rework(
        self, plan_id: int, spec: PlanSpec, terms: Terms, *, author: str, reason: str, changes: Sequence[str]
    ) -> None:
        """A person's way on from where the plan stands, put before people; what has run stands."""
        with self._write() as c:
            plan = self._touch(c, plan_id)
            if plan.state != PlanState.stalled:
                raise Conflict(self._why_not(c, plan_id, "answer"))
            c.execute(update(Plan).where(col(Plan.id) == plan_id).values(look=0))
            self._put(c, plan, spec, replace(terms, needed=max(terms.needed, 1)), reason, changes, author)

    def _put(
        self,
        c: Connection,
        plan: Plan,
        spec: PlanSpec,
        terms: Terms,
        why: str,
        changes: Sequence[str],
        author: str = "planner",
    ) -> None:
        """Before people, with the difference; what has not run waits for their word."""
        self._move(c, plan.id or 0, "revise", actor=author, data={"reason": why}, reason=why)
        self._skip_pending(c, plan)
        facts = {"digest": spec.digest(), "risk": terms.risk, "needed": terms.needed, "changes": [*changes]}
        moved = self._move(c, plan.id or 0, "propose", actor=author, data=facts)
        self._add_revision(c, moved, spec, terms, author=author, note=why, changes=[*changes])
        self._forget_previews(c, self._plan(c, plan.id or 0), spec)

    def _close_plan(self, c: Connection, plan: Plan, verb: str, why: str) -> None:
        """The end, if the rows agree: nobody's word makes a goal reached, or leaves a change half done."""
        steps = self._steps(c, plan)
        if verb == "finish" and not self._reached(c, plan, steps):
            raise NotAllowed("The goal is not reached: a step or one of its checks says so.")
        if verb == "abort" and any(step.changes and step.attempt for step in steps):
            raise NotAllowed("Something was changed already; only a person may leave it so.")
        self._skip_pending(c, plan)
        self._move(c, plan.id or 0, "answer", actor="planner", data={"choice": verb}, reason="")
        end = {"reason": why, "outcome": "succeeded" if verb == "finish" else "failed"}
        self._move(c, plan.id or 0, "finish", actor="planner", data=end, quiet=False, **end)

    def _reached(self, c: Connection, plan: Plan, steps: Sequence[Step]) -> bool:
        reports = {step.key: (step.report or {}).get("data") or {} for step in steps}
        whole = all(step.state == StepState.succeeded for step in steps)
        return whole and all(holds(check, reports) for check in self._spec(c, plan).done_when)

    def _resume(self, c: Connection, plan: Plan, data: Mapping[str, Any]) -> None:
        self._move(c, plan.id or 0, "answer", actor="planner", data=data, reason="")
        self._settle(c, plan.id or 0)

    def _approved(self, c: Connection, plan: Plan) -> Revision:
        """The revision that people, or policy, approved: this one, or the one whose mandate it is under."""
        current = self._revision(c, plan)
        return self._numbered(c, plan, current.parent or current.number)

    def _beyond(self, c: Connection, parent: Revision, spec: PlanSpec) -> str:
        approved = read_spec(parent.spec).spec
        contracts = {step.id: self._contract(c, step) for step in spec.steps if not stands(approved, step)}
        if not parent.needed and any(contract.changes for contract in contracts.values()):
            return "it changes something, and no person has approved this plan"
        made = rows(
            c, Revision, col(Revision.plan_id) == parent.plan_id, col(Revision.parent) == parent.number
        )
        steps = [step for one in made for step in read_spec(one.spec).spec.steps]
        earlier = {step.digest() for step in steps if not stands(approved, step)}
        return exceeds(approved, spec, contracts, earlier)
