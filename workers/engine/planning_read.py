"""Planning reads: what a planner wants to know before it plans. Only what its worker marked for that."""

import json

from storage.contract.report import storable
from storage.steps.planning_reads import Inquiry
from workers.base import Asks, Context, Params, Permanent, Transient
from workers.engine.attempt import Attempts

LARGEST = 20_000  # characters of what is handed on; more is left out, and the summary stands


def look(attempts: Attempts, asked: Inquiry) -> None:
    """Make one read, and put what was found where the planner reads it. A failure is an answer, too."""
    try:
        report = storable(_run(attempts, asked))
        summary, failed = report.summary, report.status != "succeeded"
        data = report.data if len(json.dumps(report.data or {})) <= LARGEST else None
    except (Transient, Permanent, Asks, ValueError, OSError) as error:
        summary, data, failed = f"It could not be found out: {error}", None, True
    attempts.store.report_back(asked, summary, data, actor=attempts.owner, failed=failed)


def _run(attempts: Attempts, asked: Inquiry):  # type: ignore[no-untyped-def] # each worker has a report of its own
    worker, action, params_type = attempts.registry.action(asked.worker, asked.action)
    if not action.planning or action.changes or action.drafts:
        raise Permanent(f"{asked.worker}.{asked.action} is not for planning")
    params: Params = params_type.model_validate(asked.parameters)
    key = f"planning-{asked.plan_id}-{asked.number}"
    place = attempts.scratch / f"plan-{asked.plan_id}" / f"look-{asked.number}"
    context = Context(
        plan=asked.plan_id, step=f"look-{asked.number}", attempt=0, key=key, place=place,
        now=attempts.store.clock,
    )  # fmt: skip
    return action.run(worker, params, context)
