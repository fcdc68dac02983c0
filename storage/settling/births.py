"""How steps come to be: by an approval, or by a rollback that was approved with the plan."""

from datetime import timedelta

from sqlalchemy import insert
from sqlmodel import col

from storage.contract.capability import Contract
from storage.contract.spec import StepSpec
from storage.contract.states import StepState
from storage.database.tables import Capability, Plan, Preview, Step
from storage.errors import Conflict, NotFound
from storage.transaction import Transaction, of_revision

PERMIT = timedelta(seconds=60)


def bear(t: Transaction, plan: Plan, specs: list[StepSpec], *, undo: bool, permits: bool = True) -> None:
    """Make step rows from approved specs; what a worker promised must still be what was approved."""
    taken = len(t.steps(plan))
    contracts = [promised(t, spec) for spec in specs]
    bases = {preview.key: preview.basis for preview in t.rows(Preview, *of_revision(Preview, plan))}
    touched: set[str] = set()
    for position, (spec, contract) in enumerate(zip(specs, contracts, strict=True), start=taken):
        until, target = None if undo else spec.schedule.not_after, contract.locks(spec.parameters)
        step = Step(
            plan_id=plan.id, revision=plan.revision, position=position, key=spec.id, undo=undo,
            digest=spec.digest(), worker=contract.worker, action=spec.action, changes=contract.changes,
            repeat=contract.repeat, timeout=contract.timeout, target=target,
            environment=contract.environment(spec.parameters), state=StepState.pending,
            permit_until=t.clock() + (PERMIT if permits else timedelta(0)),
            basis="" if target in touched else bases.get(spec.id, ""),
            not_before=None if undo else spec.schedule.not_before,
            not_after=until, start_by=until and until - timedelta(seconds=contract.timeout),
        )  # fmt: skip
        t.execute(insert(Step).values(**step.model_dump(exclude={"id"})))
        touched |= {target} - {""}  # what an earlier step moves is no surprise to a later one


def promised(t: Transaction, spec: StepSpec) -> Contract:
    found = t.rows(Capability, col(Capability.worker) == spec.worker, col(Capability.action) == spec.action)
    if not found:
        raise NotFound(f"No worker offers {spec.worker}.{spec.action} any more.")
    if found[0].hash != spec.contract:
        raise Conflict(f"{spec.worker}.{spec.action} has changed since this was proposed; please plan again.")
    return Contract.model_validate(found[0].contract)
