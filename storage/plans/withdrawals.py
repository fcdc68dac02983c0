"""A proposal that nobody wants is the plan's end; or, where something was done, a question about that."""

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import Connection, and_, select, update
from sqlmodel import col

from storage.contract.documents import read_spec
from storage.contract.spec import PlanSpec
from storage.contract.states import PlanState, failures, undo_order
from storage.database.tables import Plan, Revision, Step
from storage.errors import Conflict, NotFound
from storage.plans.lifecycle import PlanVerbs, agreed
from storage.settling.carry_over import earlier
from storage.settling.settle import facts_of

ASK = "ask"


class Withdrawing(PlanVerbs):
    """reject, expire; of a plan that has done what can be undone, only the proposal is withdrawn."""

    def reject(self, plan_id: int, revision: int, *, user: str, reason: str) -> None:
        with self._write() as c:
            plan = self._touch(c, plan_id)
            self._decidable(c, plan, revision, None)
            self._dismiss(c, plan, "reject", actor=user, reason=reason)

    def expire(self) -> list[int]:
        """End the proposals that nobody decided in time. Without any, nothing is written, nobody woken."""
        found = self.waiting(self.clock())
        for plan_id in found:
            with self._write() as c:
                plan = self._touch(c, plan_id)
                if plan.state == PlanState.proposed and self._revision(c, plan).expires_at <= self.clock():
                    self._dismiss(c, plan, "expire", actor="clock", reason="nobody decided in time")
        return found

    def waiting(self, until: datetime) -> list[int]:
        """The proposals that expire by then."""
        current = and_(col(Revision.plan_id) == col(Plan.id), col(Revision.number) == col(Plan.revision))
        late = (col(Plan.state) == PlanState.proposed, col(Revision.expires_at) <= until)
        query = select(col(Plan.id)).join(Revision, current).where(*late).order_by(col(Plan.id))
        with self._read() as c:
            return [plan_id for plan_id in c.execute(query).scalars() if plan_id]

    def _dismiss(self, c: Connection, plan: Plan, verb: str, *, actor: str, reason: str) -> None:
        under_way = self._undoable(c, plan)
        if under_way is None:
            self._move(c, plan.id or 0, verb, actor=actor, data={"reason": reason}, reason=reason)
        else:
            self._withdraw(c, plan, under_way, {"by": verb, "reason": reason}, actor)

    def _undoable(self, c: Connection, plan: Plan) -> Revision | None:
        """The revision that was under way before this proposal, if it has done what can be undone."""
        steps = earlier(c, plan)
        if not steps or any(step.undo for step in steps):
            return None
        before = self._numbered(c, plan, steps[0].revision)
        facts = facts_of({step.key: step for step in steps}, {})
        return before if undo_order(read_spec(before.spec).spec, facts) else None

    def _withdraw(
        self, c: Connection, plan: Plan, before: Revision, said: Mapping[str, str], actor: str
    ) -> None:
        """What was approved stands again, as it had come; a person says how it goes on, or back."""
        spec, plan_id = read_spec(before.spec).spec, plan.id or 0
        asking = self._asking(c, plan, spec)
        self._note(c, plan, "withdraw", actor=actor, data=said)
        self._move(c, plan_id, "revise", actor=actor, data=said)
        parent = self._numbered(c, plan, before.parent or before.number)
        note = f"as revision {before.number}, which was approved"
        self._add_revision(
            c, plan, spec, agreed(parent), author=before.author, note=note, changes=[], parent=parent.number
        )
        self._stand(c, self._plan(c, plan_id), before, asking)
        self._move(c, plan_id, "stall", actor=actor, data=said, quiet=True, reason=said["reason"], look=0)
        question = {"verb": ASK, "step": next(iter(asking), ""), "reason": WHY, "source": "rules", "wait": 0}
        self._note(c, plan, "decide", actor="rules", data=question)
        self._redraw(c, plan_id, asking)

    def _asking(self, c: Connection, plan: Plan, spec: PlanSpec) -> list[str]:
        """The failed steps whose question was answered by the proposal, and is none any more."""
        facts = facts_of({step.key: step for step in earlier(c, plan)}, {})
        return [key for key, way in failures(spec, facts).items() if way == ASK]

    def _stand(self, c: Connection, plan: Plan, before: Revision, asking: list[str]) -> None:
        """Its steps as they were; those that had not begun are born anew."""
        try:
            with c.begin_nested():
                self._bring(c, plan, read_spec(before.spec).spec, permits=False)
        except (Conflict, NotFound):  # a worker promises something else by now: they stay left out
            old = (col(Step.plan_id) == plan.id, col(Step.revision) == before.number)
            c.execute(update(Step).where(*old).values(revision=plan.revision))
        mine = (col(Step.plan_id) == plan.id, col(Step.revision) == plan.revision)
        c.execute(update(Step).where(*mine, col(Step.key).in_(asking)).values(choice=ASK))


WHY = "the change is off the table, and what was done stands"
