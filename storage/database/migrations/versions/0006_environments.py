"""Steps of the first schema learn where they act, so that plans in flight go on after an upgrade."""

import json
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

WAITING = """
SELECT step.id, step.key, revision.spec, capability.contract FROM step
JOIN revision ON revision.plan_id = step.plan_id AND revision.number = step.revision
JOIN capability ON capability.worker = step.worker AND capability.action = step.action
WHERE step.environment = '' AND step.state IN ('pending', 'running', 'unknown', 'failed')
"""


def upgrade() -> None:
    for row in op.get_bind().execute(sa.text(WAITING)).all():
        spec, contract = _read(row.spec), _read(row.contract)
        steps = {step["id"]: step for step in (*spec.get("steps", ()), *spec.get("rollback", ()))}
        place = _environment(contract, steps.get(row.key, {}).get("parameters", {}))
        filled = sa.text("UPDATE step SET environment = :place WHERE id = :id")
        op.get_bind().execute(filled, {"place": place, "id": row.id})


def _read(value: Any) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return {}  # it was changed behind our back; the claim says so
    return found


def _environment(contract: dict[str, Any], parameters: dict[str, Any]) -> str:
    """As `Contract.environment` had it when this was written."""
    if "environment" in parameters:
        return str(parameters["environment"])
    found = (known.get(str(parameters.get(name))) for name, known in contract.get("names", {}).items())
    return next((entry["environment"] for entry in found if entry and entry.get("environment")), "")
