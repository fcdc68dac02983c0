"""What an attempt knows, for tests that run a worker without an engine."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from workers.base import Context


def context(scratch: Path, **changes: Any) -> Context:
    given: dict[str, Any] = {"plan": 1, "step": "step-1", "attempt": 1, "key": f"test{scratch}"}
    return Context(**{**given, "place": scratch, "now": lambda: datetime.now(UTC), **changes})


def at(home: Path, step: str = "step-2", **changes: Any) -> Context:
    """The context of a first attempt where the engine puts it: plan, step, attempt."""
    return context(home / "plan-1" / step / "1", step=step, **changes)
