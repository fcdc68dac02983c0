"""What an attempt knows, for tests that run a worker without an engine."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from storage.contract.capability import Check
from storage.contract.spec import Retries
from storage.steps.claims import Claim
from workers.base import Context

CLAIM = Claim(
    step_id=1, plan_id=1, key="s1", attempt=1, worker="ops", action="check", parameters={}, previous={},
    criteria=(Check(field="failed", op="eq", value=0, name="all_pass"),), retries=Retries(attempts=3, wait=5),
    repeat="safe", timeout=60.0, token="t",
)  # fmt: skip


def context(scratch: Path, **changes: Any) -> Context:
    given: dict[str, Any] = {"plan": 1, "step": "step-1", "attempt": 1, "key": f"test{scratch}"}
    return Context(**{**given, "place": scratch, "now": lambda: datetime.now(UTC), **changes})


def at(home: Path, step: str = "step-2", **changes: Any) -> Context:
    """The context of a first attempt where the engine puts it: plan, step, attempt."""
    return context(home / "plan-1" / step / "1", step=step, **changes)
