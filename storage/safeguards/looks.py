"""Whether somebody had all of a revision before them when they decided, and how long that took."""

from sqlmodel import col

from storage.database.tables import Opened, Plan, Revision
from storage.errors import NotAllowed
from storage.transaction import Transaction


def has_read(t: Transaction, plan: Plan, user: str) -> bool:
    """They opened the details, or the plan's page."""
    here = (col(Opened.plan_id) == plan.id, col(Opened.revision) == plan.revision)
    return bool(t.rows(Opened, *here, col(Opened.user) == user))


def considered(
    t: Transaction, plan: Plan, current: Revision, user: str, *, demanded: bool
) -> dict[str, object]:
    """What tells a considered yes from a quick one; refused where policy asks that it was read."""
    opened = has_read(t, plan, user)
    if demanded and not opened:
        raise NotAllowed(
            "Policy asks that you read this plan before you approve it: please open Details first. Nothing "
            "was decided."
        )
    return {"seconds": round((t.clock() - current.made_at).total_seconds(), 1), "opened": opened}
