"""What follows from the steps as they are: births, skips, rollbacks, ends. Runs inside a verb."""

from datetime import timedelta

from sqlalchemy import Connection, insert
from sqlmodel import col

from storage.contract import Contract
from storage.errors import Conflict, NotFound
from storage.ledger import facts, rows
from storage.spec import StepSpec
from storage.states import PlanState, StepState, settle, undo_order
from storage.stops import Stops
from storage.tables import Capability, Plan, Step

PERMIT = timedelta(seconds=60)


class Settling(Stops):
    """Steps are born by an approval or a rollback, and after each report the plan settles."""

    def _bear(self, c: Connection, plan: Plan, specs: list[StepSpec], *, undo: bool) -> None:
        """Make step rows from approved specs; what a worker promised must still be what was approved."""
        taken = len(self._steps(c, plan))
        contracts = [self._contract(c, spec) for spec in specs]
        for position, (spec, contract) in enumerate(zip(specs, contracts, strict=True), start=taken):
            step = Step(
                plan_id=plan.id or 0, revision=plan.revision, position=position, key=spec.id, undo=undo,
                digest=spec.digest(), worker=contract.worker, action=spec.action, changes=contract.changes,
                repeat=contract.repeat, timeout=contract.timeout, target=contract.locks(spec.parameters),
                environment=contract.environment(spec.parameters), state=StepState.pending,
                permit_until=self.clock() + PERMIT,
                not_before=None if undo else spec.schedule.not_before,
                not_after=None if undo else spec.schedule.not_after,
            )  # fmt: skip
            c.execute(insert(Step).values(**step.model_dump(exclude={"id"})))

    def _contract(self, c: Connection, spec: StepSpec) -> Contract:
        found = rows(
            c, Capability, col(Capability.worker) == spec.worker, col(Capability.action) == spec.action
        )
        if not found:
            raise NotFound(f"No worker offers {spec.worker}.{spec.action} any more.")
        if found[0].hash != spec.contract:
            raise Conflict(
                f"{spec.worker}.{spec.action} has changed since this was proposed; please plan again."
            )
        return Contract.model_validate(found[0].contract)

    def _settle(self, c: Connection, plan: Plan) -> None:
        """Do what follows from the steps as they are now. Only an approved plan settles."""
        while plan.state == PlanState.approved:
            spec = self._spec(c, plan)
            steps = self._steps(c, plan)
            next_ = settle(spec, facts(steps))
            if next_ is None:
                return
            data = {"reason": next_.reason, "outcome": next_.outcome}
            if next_.verb == "skip":
                self._skip(c, [s for s in steps if s.key in next_.keys])
            elif next_.verb == "rollback":
                plan = self._roll_back(c, plan, undo_order(spec, facts(steps)), data)
            else:
                if next_.verb != "stall":
                    self._skip_pending(c, plan)
                # The failed step's own message asks the question.
                quiet = next_.verb == "stall"
                self._redraw(c, plan.id or 0, next_.keys if quiet else ())
                plan = self._move(c, plan.id or 0, next_.verb, actor="rules", data=data, quiet=quiet, **data)

    def _roll_back(self, c: Connection, plan: Plan, undos: list[StepSpec], data: dict[str, str]) -> Plan:
        """Bear the undo steps; if a worker no longer promises what was approved, a person must decide."""
        self._skip_pending(c, plan)
        try:
            self._bear(c, plan, undos, undo=True)
        except (NotFound, Conflict) as error:
            reason = f"the rollback cannot start: {error}"
            return self._move(c, plan.id or 0, "stall", actor="rules", data={"reason": reason}, reason=reason)
        self._note(c, plan, "rollback", actor="rules", data=data)
        return plan

    def _skip_pending(self, c: Connection, plan: Plan) -> None:
        self._skip(c, [s for s in self._steps(c, plan) if s.state == StepState.pending])

    def _skip(self, c: Connection, steps: list[Step]) -> None:
        for step in steps:
            self._move_step(c, step, "skip", ended_at=self.clock())
