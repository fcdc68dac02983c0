"""What steps that draft may cost together: reserved when one is claimed, booked when it has reported."""

from collections.abc import Sequence

from sqlalchemy import JSON, func, select, type_coerce
from sqlmodel import col

from storage.contract.spec import Mandate
from storage.database.tables import Attempt, Step
from storage.steps.due import DueStep
from storage.transaction import Transaction

SPENT = "what the plan's drafting steps may cost is spent"
WAITS = "what is left of the money is reserved by steps that run"
SOME = 1e-9  # sums of cents are not exact


def over_budget(t: Transaction, mandate: Mandate, step: DueStep, taken: Sequence[DueStep]) -> str:
    """Why this step may not spend its most now, or "": it waits for what others reserve, or never starts."""
    if not step.drafts:
        return ""
    spent, held = accounts(t, step.plan_id)
    held += sum(other.most_usd for other in taken if other.plan_id == step.plan_id)
    if spent + step.most_usd > mandate.max_worker_usd + SOME:
        return SPENT
    return WAITS if spent + held + step.most_usd > mandate.max_worker_usd + SOME else ""


def accounts(t: Transaction, plan_id: int) -> tuple[float, float]:
    """USD that ended attempts of drafting steps have cost, and the most that the open ones may.

    An attempt of which no report came counts with its most: nobody knows what it spent.
    """
    drafting = (col(Step.plan_id) == plan_id, col(Step.drafts).is_(True))
    ended = col(Attempt.outcome) != ""
    said = [
        type_coerce(col(body), JSON)[("data", "usd")].as_float() for body in (Attempt.report, Attempt.late)
    ]
    paid = func.sum(func.coalesce(*said, col(Step.most_usd))).filter(ended)
    query = select(paid, func.sum(col(Step.most_usd)).filter(~ended))
    joined = query.join_from(Attempt, Step, col(Attempt.step_id) == col(Step.id))
    spent, held = t.execute(joined.where(*drafting)).one()
    return float(spent or 0.0), float(held or 0.0)
